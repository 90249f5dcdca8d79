/* SPDX-License-Identifier: MIT */
/*
 * One node's connection against a server that says anything, cut into reads anyhow, while operations come in,
 * time passes, sends are cut short, and the connection breaks. Every request is answered once, a yes has the
 * answer that makes it one, what was never sent is not in doubt, no release overtakes its SET or is forgotten
 * (peer.c), and time goes on.
 *
 * Input: one byte of settings, then steps: a letter that says which (`a` is the first), and what it needs.
 */

#include <errno.h>

#include "core/time.h"
#include "expected.h"
#include "net/auth.h"
#include "peer.h"
#include "wire.h"

enum { MOST_STEPS = 400, MOST_REQUESTS = 512, SLOTS = 4, NODE_ID = 3 };

struct question {
	unsigned operation;
	unsigned slot;
	unsigned token;
	bool answered;
};

struct world {
	struct feed feed;
	struct rl_node node;
	struct rl_wire wire;
	struct peer peer;
	uint64_t now_ns;
	unsigned settings;
	struct question questions[MOST_REQUESTS];
	uint32_t asked; /* questions so far; their seq is the number + 1 */
	unsigned tokens[SLOTS];
	bool claimed[SLOTS];   /* the slot has a token that was not released */
	unsigned names[SLOTS]; /* how long its name is */
};

/* ---- questions ---- */

static bool may_exist(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_PENDING || vote == REDLOCK_VOTE_YES || vote == REDLOCK_VOTE_CLOSED ||
	       vote == REDLOCK_VOTE_TIMEOUT || vote == REDLOCK_VOTE_GARBAGE;
}

static void ask(struct world *w, unsigned operation, unsigned slot, bool waits, unsigned style)
{
	static char name[REDLOCK_MAX_NAME];
	static const size_t sizes[] = {3, 3, 3, 3, 3, 3, 1000, sizeof name};
	char token[16];
	unsigned number = w->tokens[slot];
	struct peer_token *t = &w->peer.tokens[number];
	if (w->asked == MOST_REQUESTS)
		return;
	if (name[0] == '\0')
		memset(name, 'n', sizeof name);
	struct rl_request request = {
	    .operation = operation,
	    .tag = {.slot = slot,
	            .generation = w->names[slot],
	            .seq = waits ? w->asked + 1 : 0}, /* a handle has one name */
	    .name = {name, sizes[w->names[slot]]},
	    .token = {token, (size_t)snprintf(token, sizeof token, "t%u", number)},
	    .ttl_ms = 30000,
	    .own_value = (style & 1) != 0,
	};
	if (operation == REDLOCK_OP_RELEASE && may_exist(t->vote)) {
		request.owed = 1u << NODE_ID;
		t->release_asked = true;
	}
	w->wire.made = 0;
	enum redlock_vote_code vote = rl_node_submit(&w->node, &request, &w->wire, w->now_ns);
	must(vote < REDLOCK_VOTE_COUNT && vote != REDLOCK_VOTE_YES && vote != REDLOCK_VOTE_NO);
	must(vote != REDLOCK_VOTE_CLOSED && vote != REDLOCK_VOTE_GARBAGE && vote != REDLOCK_VOTE_TIMEOUT);
	if (vote != REDLOCK_VOTE_PENDING && operation == REDLOCK_OP_ACQUIRE)
		t->vote = vote;
	if (vote == REDLOCK_VOTE_PENDING && waits)
		w->questions[w->asked++] = (struct question){operation, slot, number, false};
}

static void release(struct world *w, unsigned slot, bool waits, unsigned style)
{
	if (!w->claimed[slot])
		return;
	w->claimed[slot] = false;
	ask(w, REDLOCK_OP_RELEASE, slot, waits, style);
}

/* A handle has one token at a time: it gives back before it tries again. */
static void acquire(struct world *w, unsigned slot, unsigned style)
{
	release(w, slot, false, style);
	if (w->peer.token_count == PEER_TOKENS || w->asked == MOST_REQUESTS)
		return;
	w->tokens[slot] = w->peer.token_count++;
	w->peer.tokens[w->tokens[slot]] = (struct peer_token){0};
	w->claimed[slot] = true;
	w->names[slot] = style >> 1 & 7;
	ask(w, REDLOCK_OP_ACQUIRE, slot, true, style);
}

/* ---- answers ---- */

/* A yes has the answer that makes it one, and its values are those of its operation. */
static void check_vote(const struct world *w, const struct rl_answer *a)
{
	const struct rl_vote *v = &a->vote;
	const struct rl_reply *r = &w->node.link.resp.reply;
	if (v->code != REDLOCK_VOTE_YES)
		return;
	bool stepped = w->node.talk.transaction.count > 0 && !rl_vote_tells(v, RL_FIELD_VERDICT);
	if (a->operation == REDLOCK_OP_QUERY) {
		must(r->value.type == RL_REPLY_ARRAY &&
		     v->told == (RL_TOLD(TYPE) | RL_TOLD(PTTL) | RL_TOLD(SIZE) | RL_TOLD(VALUE)));
		must(v->type.size < RL_RESP_ARENA && strlen(v->type.bytes) <= v->type.size);
		must(v->value.size < RL_RESP_ARENA && strlen(v->value.bytes) <= v->value.size);
	} else if (!stepped || a->operation == REDLOCK_OP_ACQUIRE) {
		must(expected_yes(a->operation, r) &&
		     rl_vote_tells(v, RL_FIELD_VERDICT) == (r->value.type == RL_REPLY_INTEGER));
		must(!rl_vote_tells(v, RL_FIELD_VERDICT) || v->verdict == r->value.integer);
	}
}

/* A SET of which the outcome is unknown was sent, and its connection is the next one's ghost. */
static void take_set_vote(struct world *w, struct peer_token *t, enum redlock_vote_code vote)
{
	must(vote != REDLOCK_VOTE_YES || t->said_yes || w->peer.odd);
	t->vote = vote;
	if (w->node.link.state == RL_LINK_BROKEN && may_exist(vote))
		peer_note_ghost(&w->peer);
	if (vote == REDLOCK_VOTE_UNSENT)
		must(!t->set_on_wire || w->node.link.setup.count > 0);
}

static bool pull(struct world *w)
{
	struct rl_answer a;
	if (!rl_node_next(&w->node, &a, w->now_ns))
		return false;
	must(a.tag.seq >= 1 && a.tag.seq <= w->asked);
	struct question *q = &w->questions[a.tag.seq - 1];
	trace("  answer #%u: operation %d, vote %s\n", a.tag.seq, (int)a.operation,
	      redlock_vote_name(a.vote.code));
	must(!q->answered && a.operation == q->operation && a.tag.slot == q->slot);
	enum redlock_vote_code vote = a.vote.code;
	must(vote > REDLOCK_VOTE_PENDING && vote < REDLOCK_VOTE_COUNT);
	q->answered = true;
	check_vote(w, &a);
	if (a.operation == REDLOCK_OP_ACQUIRE)
		take_set_vote(w, &w->peer.tokens[q->token], vote);
	return true;
}

static void pull_all(struct world *w)
{
	while (pull(w)) {
	}
}

/* ---- steps ---- */

/* There is one connection at a time. */
static const struct fake_fd *const socket_of = &wires.process.fds[0];

/* One turn of an event loop: ready sockets, then the answers, then the requests to be sent. */
static void turn(struct world *w)
{
	if (wires.process.lookups[0].runs)
		rl_link_ready(&w->node.link, wires.process.lookups[0].id, RL_READABLE, w->now_ns);
	if (socket_of->used)
		rl_link_ready(&w->node.link, socket_of->id, wire_ready(wire_last()), w->now_ns);
	pull_all(w);
	if (w->node.link.login == RL_LOGIN_NONE && rl_auth_is_due(&w->node.link))
		rl_auth_begin(&w->node.link, w->now_ns);
	rl_submit_flush(&w->node);
}

static void say_bytes(struct world *w)
{
	const uint8_t *bytes;
	size_t size = feed_take(&w->feed, feed_byte(&w->feed), &bytes);
	w->peer.odd = true;
	wire_say_bytes(wire_last(), bytes, size);
}

static void say_much(struct world *w)
{
	static char many[4096];
	memset(many, feed_byte(&w->feed), sizeof many);
	w->peer.odd = true;
	for (unsigned i = feed_below(&w->feed, 32); i > 0; i--)
		wire_say_bytes(wire_last(), many, sizeof many);
}

static void pass_time(struct world *w)
{
	uint64_t deadline = rl_link_deadline(&w->node.link);
	unsigned how = feed_byte(&w->feed);
	if (how == 255 && deadline != UINT64_MAX)
		w->now_ns = rl_time_max(w->now_ns, deadline);
	else
		w->now_ns += rl_time_ms((uint64_t)how * how);
	bool due = rl_link_deadline(&w->node.link) <= w->now_ns;
	enum rl_link_state before = w->node.link.state;
	rl_node_tick(&w->node, w->now_ns);
	must(!due || w->node.link.state != before || before == RL_LINK_BROKEN ||
	     rl_link_deadline(&w->node.link) > w->now_ns);
}

static void break_something(struct world *w)
{
	static const int errors[] = {0, ECONNREFUSED, EMFILE, ECONNRESET};
	unsigned how = feed_byte(&w->feed);
	int error = errors[how >> 3 & 3];
	wires.found = (struct rl_lookup_result){.why = "no such name", .certain = (how & 0x40) != 0};
	wires.found.addresses.count = (how & 0x20) == 0;
	wires.found.addresses.list[0] = fake_address((how & 0x80) != 0, 0);
	int *const fails[] = {[1] = &wire_last()->read_error,
	                      &wires.connect_error,
	                      &wires.connected_error,
	                      &wires.watch_error,
	                      &wires.random_error};
	switch (how & 7) {
	case 0:
		wire_last()->ended = true;
		break;
	case 6:
		wire_last()->broken = true;
		break;
	case 7:
		if (w->node.link.state != RL_LINK_DOWN)
			rl_link_fail(&w->node.link, REDLOCK_VOTE_DOWN, "the client gives up, for a reason");
		break;
	default:
		*fails[how & 7] = error;
		wires.lookup_error = wires.watch_error;
		break;
	}
}

static void step(struct world *w)
{
	unsigned which = (feed_byte(&w->feed) + 256u - 'a') % 16;
	unsigned more = which < 4 ? feed_byte(&w->feed) : 0;
	unsigned slot = more % SLOTS;
	trace("step %c: link %d, %u opening, %u asked, %u debts, %u ghosts\n", (int)('a' + which),
	      (int)w->node.link.state, w->node.link.setup.count, w->node.link.outbox.count,
	      w->node.ledger.debts.count, w->node.ledger.ghost_count);
	switch (which) {
	case 0: /* a */
		acquire(w, slot, more >> 2);
		break;
	case 1: /* b */
		release(w, slot, (more & 0x80) != 0, more >> 2);
		break;
	case 2: /* c */
		if (w->claimed[slot])
			ask(w, REDLOCK_OP_EXTEND, slot, true, more >> 2);
		break;
	case 3: /* d: what only looks, and all that is newer */
		ask(w, REDLOCK_OP_QUERY + (more >> 3) % (RL_OP_PROBE + 1 - REDLOCK_OP_QUERY), slot, true, more >> 2);
		break;
	case 4: /* e */
		turn(w);
		break;
	case 5: /* f */
		peer_answer(&w->peer, &w->feed);
		turn(w);
		break;
	case 6: /* g */
		peer_answer(&w->peer, &w->feed);
		break;
	case 7: /* h */
		peer_say(&w->peer, &w->feed);
		break;
	case 8: /* i */
		say_bytes(w);
		break;
	case 9: /* j */
		wires.read_most = 1 + feed_byte(&w->feed);
		break;
	case 10: /* k */
		wires.send_most = (size_t)feed_byte(&w->feed) * 3;
		break;
	case 11: /* l */
		wires.send_most = wires.read_most = SIZE_MAX;
		break;
	case 12: /* m */
		pass_time(w);
		break;
	case 13: /* n */
		break_something(w);
		break;
	case 14: /* o */
		rl_node_connect(&w->node, w->now_ns);
		break;
	case 15: /* p: one part of a turn alone, new credentials, an answer that is left out */
		more = feed_byte(&w->feed);
		if ((more & 1) != 0 && socket_of->used)
			rl_link_ready(&w->node.link, socket_of->id, more >> 1 & 3, w->now_ns);
		if ((more & 8) != 0)
			(void)pull(w);
		if ((more & 16) != 0)
			rl_submit_flush(&w->node);
		if ((more & 32) != 0)
			say_much(w);
		if ((more & 64) != 0)
			rl_node_renew(&w->node, w->now_ns);
		if ((more & 128) != 0)
			peer_leave_out(&w->peer);
		break;
	}
	peer_listen(&w->peer);
	peer_check(&w->peer);
}

/* ---- begin and end ---- */

static void begin(struct world *w)
{
	static const char *const urls[] = {"unix:///n", "unix://:secret@/n", "unix:///n?db=3",
	                                   "unix://u:secret@/n?db=9"};
	static struct rl_poller poller;
	struct rl_endpoint endpoint;
	char why[128];
	unsigned settings = w->settings = feed_byte(&w->feed);
	wires_begin();
	wires.found.addresses.count = 1;
	wires.found.addresses.list[0] = fake_address(0, 0);
	bool by_name = (settings & 0x1c) == 0x18;
	must(rl_url_parse(by_name ? "redis://n" : urls[settings & 3], &endpoint, why, sizeof why) == 0);
	w->peer.node = &w->node;
	w->peer.opening = (endpoint.password != NULL ? 1u : 0u) + (endpoint.database > 0 ? 1u : 0u);
	w->now_ns = rl_time_ms(1000);
	must(rl_node_open(&w->node, &endpoint, NULL, &poller, NODE_ID));
	if ((settings & 0x1c) == 0x1c)
		w->node.link.dial.known.count = 0;
	rl_node_connect(&w->node, w->now_ns);
}

/* As when a client is closed: at once, whatever is out. */
static void end_at_once(struct world *w)
{
	rl_node_close(&w->node, (w->settings & 0x40) != 0);
	rl_request_free(&w->wire);
	wires_end();
}

static void end(struct world *w)
{
	if (w->node.link.state != RL_LINK_DOWN)
		rl_link_fail(&w->node.link, REDLOCK_VOTE_CLOSED, "the end");
	pull_all(w);
	must(w->node.link.state == RL_LINK_DOWN);
	peer_check(&w->peer);
	for (uint32_t i = 0; i < w->asked; i++)
		must(w->questions[i].answered);
	must(strspn(w->node.link.facts.run_id, "0123456789abcdefABCDEF") == strlen(w->node.link.facts.run_id));
	must(strpbrk(w->node.link.failure_text, ",\r\n") == NULL);
	rl_node_close(&w->node, false);
	rl_request_free(&w->wire);
	wires_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct world w;
	memset(&w, 0, sizeof w);
	w.feed = (struct feed){bytes, size};
	begin(&w);
	for (unsigned i = 0; i < MOST_STEPS && w.feed.left > 0; i++)
		step(&w);
	if ((w.settings & 0x20) != 0)
		end_at_once(&w);
	else
		end(&w);
	return 0;
}
