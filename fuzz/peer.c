/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include "asked.h"
#include "expected.h"
#include "wire.h"

/* ---- what is heard ---- */

static void check_set(struct peer *p, unsigned token)
{
	must(token < p->token_count && !p->tokens[token].set_on_wire); /* sent once, by no retry */
	must(!p->tokens[token].release_on_wire);                       /* nothing overtakes it */
	p->tokens[token].set_on_wire = true;
}

static unsigned token_in(struct rl_slice token)
{
	unsigned number = 0;
	must(token.size >= 2 && token.bytes[0] == 't');
	for (size_t at = 1; at < token.size; at++)
		number = number * 10 + (unsigned)(token.bytes[at] - '0');
	return number;
}

/* Connections that may still have a SET in the server's buffer were ended before the first operation, if this
 * is the same server. */
static void check_ghosts(const struct peer *p)
{
	if (p->node->ledger.ghost_stays)
		return; /* not all could be ended, and it is known: "not there" proves nothing for a while */
	for (unsigned i = 0; i < p->ghost_count; i++)
		must(p->ghosts[i].killed || !p->node->link.facts.run_id_known ||
		     strcmp(p->ghosts[i].run_id, p->node->link.facts.run_id) != 0);
}

static void note_release(struct peer *p, unsigned token)
{
	if (token < p->token_count)
		p->tokens[token].release_on_wire = true;
}

/* A transaction names no token: it is read from what the node has in hand. */
static enum peer_command heard_watch(struct peer *p, const struct words *w)
{
	const struct rl_transaction *t = &p->node->talk.transaction;
	must(!p->in_multi && t->step == RL_STEP_READ && w->count == t->count + 1);
	for (unsigned i = 0; i < t->count; i++)
		if (t->parts[i].op->gives_back)
			note_release(p, token_in(t->parts[i].token));
	p->valued = 0;
	return PEER_OK;
}

/* Nothing that changes a key is ever sent outside of MULTI, and nothing else inside. */
static enum peer_command heard_in_multi(struct peer *p, const struct words *w)
{
	static const char *const may[] = {"DEL", "PEXPIRE", "PTTL", "TYPE", "STRLEN", "GETRANGE"};
	bool known = false;
	if (resp_is(w, 0, "EXEC")) {
		p->in_multi = false;
		p->queue[p->queued].detail = p->multi;
		return p->looks ? PEER_LOOK : PEER_EXEC;
	}
	for (unsigned i = 0; i < COUNT(may); i++)
		known |= resp_is(w, 0, may[i]);
	must(known);
	must(resp_is(w, 0, "TYPE") == (p->multi == 0 && p->node->talk.transaction.step == RL_STEP_LOOK) ||
	     p->multi > 0);
	p->looks |= resp_is(w, 0, "TYPE");
	p->multi++;
	return PEER_QUEUED;
}

static enum peer_command heard_transaction(struct peer *p, const struct words *w)
{
	if (resp_is(w, 0, "WATCH"))
		return heard_watch(p, w);
	if (resp_is(w, 0, "MULTI")) {
		p->in_multi = true;
		p->multi = p->looks = 0;
		return PEER_OK;
	}
	if (resp_is(w, 0, "PTTL"))
		return PEER_LEFT;
	must(resp_is(w, 0, "GETRANGE") && p->valued < p->node->talk.transaction.count);
	p->queue[p->queued].detail = token_in(p->node->talk.transaction.parts[p->valued++].token);
	return PEER_VALUE;
}

static enum peer_command heard_operation(struct peer *p, const struct words *w)
{
	struct asked asked;
	must(p->commands >= p->opening + 3);             /* after CLIENT ID, INFO and COMMAND INFO */
	must(p->opening == 0 || wire_last()->read >= 4); /* after the answers to AUTH and SELECT */
	must(p->node->link.gate == 0);
	check_ghosts(p);
	if (p->in_multi)
		return heard_in_multi(p, w);
	if (!asked_read(w, &asked))
		return heard_transaction(p, w);
	/* The meaning of an operation is known by its number, and not read from its row. */
	struct bytes token = asked.parts[RL_WORD_TOKEN];
	struct peer_heard *heard = &p->queue[p->queued];
	heard->operation = asked_operation(&asked);
	heard->form = asked.form;
	heard->detail = token.size > 0 ? token_in((struct rl_slice){token.at, token.size}) : 0;
	if (heard->operation == REDLOCK_OP_ACQUIRE)
		check_set(p, heard->detail);
	if (heard->operation == REDLOCK_OP_RELEASE)
		note_release(p, heard->detail);
	return PEER_ASKED;
}

static enum peer_command heard_kill(struct peer *p, const struct words *w)
{
	char id[24];
	must(resp_is(w, 2, "ID"));
	for (unsigned i = 0; i < p->ghost_count; i++) {
		snprintf(id, sizeof id, "%lld", (long long)p->ghosts[i].client_id);
		if (resp_is(w, 3, id))
			p->ghosts[i].killed = true;
	}
	return PEER_KILL;
}

/* Some servers leave out the answer to an AUTH that they refuse after other answers. As far as the node can
 * know, nothing is unanswered then, and nothing comes before its answer. */
static void check_login(struct peer *p, bool login)
{
	must(p->odd || p->answered >= p->login);
	must(p->odd || !login || p->answered == p->queued);
	if (login)
		p->login = p->queued + 1;
}

static enum peer_command heard(struct peer *p, const struct words *w)
{
	unsigned number = p->commands++;
	trace("  heard: %.*s %.40s\n", (int)w->at[0].size, w->at[0].at, w->count > 1 ? w->at[1].at : "");
	check_login(p, resp_is(w, 0, "AUTH") && number > 0);
	if (resp_is(w, 0, "AUTH")) {
		must(p->opening > 0);
		return PEER_AUTH;
	}
	if (resp_is(w, 0, "SELECT")) {
		must(number + 1 == p->opening);
		return PEER_SELECT;
	}
	if (number == p->opening) {
		must(resp_is(w, 0, "CLIENT") && resp_is(w, 1, "ID"));
		return PEER_ID;
	}
	if (number == p->opening + 1) {
		must(resp_is(w, 0, "INFO") && resp_is(w, 1, "server"));
		return PEER_INFO;
	}
	if (number == p->opening + 2) {
		must(resp_is(w, 0, "COMMAND") && resp_is(w, 1, "INFO"));
		return PEER_PROBE;
	}
	return resp_is(w, 0, "CLIENT") ? heard_kill(p, w) : heard_operation(p, w);
}

void peer_listen(struct peer *p)
{
	struct words words;
	struct buffer *said = &wire_last()->up;
	size_t size;
	if (p->connection != wires.count) {
		p->connection = wires.count;
		p->commands = p->queued = p->answered = p->login = 0;
		p->in_multi = p->odd = false;
	}
	while (p->queued < PEER_QUEUE && (size = resp_command(buffer_front(said), said->length, &words)) > 0) {
		must(size != RESP_WRONG);
		enum peer_command command = heard(p, &words);
		p->queue[p->queued++].command = command;
		buffer_drop(said, size);
	}
	bool opened = p->node->link.state == RL_LINK_OPEN && p->node->link.setup.count == 0;
	bool was_open = p->node->link.state == RL_LINK_DOWN && p->node->ledger.ghost_count == 0;
	if (opened || (was_open && p->ghost_connection != wires.count))
		p->ghost_count = 0; /* the handshake is over: they are dead, or known to stay */
}

/* ---- what is said ---- */

#define RUN_ID_A "run_id:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
#define RUN_ID_B "run_id:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n"

/* For each command: the answer that is most likely, then others. */
static const char *const answers[][4] = {
    [PEER_AUTH] = {"+OK\r\n", "+OK\r\n", "-WRONGPASS invalid\r\n", "-ERR AUTH <password> called\r\n"},
    [PEER_SELECT] = {"+OK\r\n", "+OK\r\n", "-ERR DB index is out of range\r\n", "-NOAUTH\r\n"},
    [PEER_ID] = {NULL, ":77\r\n", "-NOPERM no\r\n", "-DENIED Redis is running in protected mode\r\n"},
    [PEER_INFO] = {"$49\r\n" RUN_ID_A "\r\n", "$49\r\n" RUN_ID_B "\r\n", "-NOPERM no\r\n", "$-1\r\n"},
    [PEER_PROBE] = {"*2\r\n*-1\r\n*-1\r\n", "*2\r\n*2\r\n$5\r\ndelex\r\n*1\r\n:4\r\n*-1\r\n",
                    "*2\r\n$-1\r\n*1\r\n+delifeq\r\n", "-NOPERM no\r\n"},
    [PEER_KILL] = {":1\r\n", ":0\r\n", "-ERR No such client\r\n", "+OK\r\n"},
    [PEER_OK] = {"+OK\r\n", "+OK\r\n", "+OK\r\n", "-NOPERM no permission to run the 'multi'\r\n"},
    [PEER_QUEUED] = {"+QUEUED\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "-READONLY x\r\n"},
    [PEER_VALUE] = {NULL, NULL, "$0\r\n\r\n", "-WRONGTYPE x\r\n"},
    [PEER_LEFT] = {":100\r\n", ":40000\r\n", ":-1\r\n", ":-2\r\n"},
    [PEER_EXEC] = {NULL, NULL, "*-1\r\n", "-EXECABORT Transaction discarded because of previous errors.\r\n"},
    [PEER_LOOK] = {"*4\r\n+string\r\n:9\r\n:2\r\n$2\r\nt0\r\n",
                   "*4\r\n+hash\r\n:-1\r\n-WRONGTYPE\r\n-WRONGTYPE\r\n", "*-1\r\n", "-EXECABORT x\r\n"},
};

/* Refusals of a request in each form, sent after the answers that its operation expects. */
static const char *const refusals[RL_FORM_WATCH][2] = {
    [RL_FORM_PLAIN] = {"-OOM command not allowed\r\n", "-LOADING\r\n"},
    [RL_FORM_QUEUE_SHA] = {"-NOSCRIPT No matching script.\r\n", "-NOPERM No permissions to access a key\r\n"},
    [RL_FORM_QUEUE_TEXT] = {"-NOPERM no permission to run the 'eval'\r\n",
                            "-NOPERM may not access a key\r\n"},
    [RL_FORM_DELEX] = {"-ERR unknown command 'X', with\r\n", "-MISCONF x, y\r\n"},
    [RL_FORM_DELIFEQ] = {"-ERR unknown command 'X', with\r\n", "-MISCONF x, y\r\n"},
    [RL_FORM_SHA] = {"-NOSCRIPT No matching script.\r\n",
                     "-NOPERM you may not like to run the 'evalsha'\r\n"},
    [RL_FORM_TEXT] = {"-NOPERM no permission to run the 'eval'\r\n", "-MISCONF x, y\r\n"},
};

static const char *answer_of(const struct peer_heard *heard, unsigned which)
{
	const struct expected *row = &expected[heard->operation];
	if (heard->command != PEER_ASKED)
		return answers[heard->command][which];
	return which == 0 ? row->yes : which == 1 ? row->other : refusals[heard->form][which - 2];
}

/* The answers that depend on what was asked. */
static void say_detail(const struct peer *p, enum peer_command command, unsigned detail)
{
	char text[256];
	char token[16];
	size_t used = 0;
	if (command == PEER_ID) {
		snprintf(text, sizeof text, ":%u\r\n", 999 + p->connection);
	} else if (command == PEER_VALUE) {
		int size = snprintf(token, sizeof token, "t%u", detail);
		snprintf(text, sizeof text, "$%d\r\n%s\r\n", size, token);
	} else {
		used = (size_t)snprintf(text, sizeof text, "*%u\r\n", detail);
		for (unsigned i = 0; i < detail; i++)
			used += (size_t)snprintf(text + used, sizeof text - used, ":1\r\n");
	}
	wire_say(wire_last(), text);
}

void peer_answer(struct peer *p, struct feed *f)
{
	unsigned which = feed_below(f, 4);
	if (p->answered >= p->queued)
		return;
	const struct peer_heard *heard = &p->queue[p->answered++];
	const char *text = answer_of(heard, which);
	if (heard->command == PEER_ASKED && heard->operation == REDLOCK_OP_ACQUIRE)
		p->tokens[heard->detail].said_yes = which == 0;
	if (text == NULL)
		say_detail(p, heard->command, heard->detail);
	else
		wire_say(wire_last(), text);
}

void peer_leave_out(struct peer *p)
{
	p->odd = true;
	p->answered += p->answered < p->queued;
}

void peer_say(struct peer *p, struct feed *f)
{
	static const char *const lines[] = {
	    "+OK\r\n",
	    ":1\r\n",
	    ":0\r\n",
	    "$-1\r\n",
	    "*-1\r\n",
	    "$0\r\n\r\n",
	    ":-1\r\n",
	    "*0\r\n",
	    "-NOSCRIPT\r\n",
	    "-DENIED\r\n",
	    "-ERR max number of clients reached\r\n",
	    "-ERR unknown command 'X', with args beginning with: 'secret'\r\n",
	    "-MOVED 1 h:1\r\n",
	    "*9\r\n",
	    "*2\r\n*1\r\n:1\r\n:2\r\n",
	    "$536870913\r\n",
	    "+",
	    "$5\r\nab",
	    "+QUEUED\r\n",
	    "-NOPERM this user has no permissions to run the 'x' command\r\n",
	    "%1\r\n+a\r\n:1\r\n",
	    "_\r\n",
	};
	const char *text = lines[feed_below(f, COUNT(lines))];
	p->odd = true;
	wire_say(wire_last(), text);
}

/* ---- what must hold ---- */

void peer_note_ghost(struct peer *p)
{
	const struct rl_node *n = p->node;
	bool known =
	    n->link.facts.client_id > 0 && n->link.facts.run_id_known && n->ledger.ghost_count < RL_GHOSTS;
	if (p->ghost_connection == wires.count)
		return;
	if (n->ledger.ghost_count == 0)
		p->ghost_count = 0;
	if (!known || p->ghost_count == PEER_GHOSTS)
		return;
	struct peer_ghost *ghost = &p->ghosts[p->ghost_count++];
	*ghost = (struct peer_ghost){.client_id = n->link.facts.client_id};
	memcpy(ghost->run_id, n->link.facts.run_id, sizeof ghost->run_id);
	p->ghost_connection = wires.count;
	trace("  ghost: id %lld of %s\n", (long long)ghost->client_id, ghost->run_id);
}

/* Where the server may have executed the SET. */
static bool may_exist(const struct peer_token *t)
{
	bool open = t->vote == REDLOCK_VOTE_PENDING || t->vote == REDLOCK_VOTE_YES;
	return t->set_on_wire && (open || t->vote == REDLOCK_VOTE_CLOSED || t->vote == REDLOCK_VOTE_GARBAGE);
}

/* No release is forgotten: where a key may be, its release was sent, or is still owed, or is counted as
 * lingering. */
void peer_check(struct peer *p)
{
	unsigned missing = 0;
	if (p->node->link.state == RL_LINK_BROKEN)
		return; /* answers are still being handed out */
	for (unsigned i = 0; i < p->token_count; i++) {
		const struct peer_token *t = &p->tokens[i];
		missing += may_exist(t) && t->release_asked && !t->release_on_wire;
	}
	must(missing <= rl_node_owed(p->node) + p->node->ledger.lingering);
}
