/* SPDX-License-Identifier: MIT */
#include "asker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/sized.h"
#include "net/handshake.h"
#include "net/sentinels.h"
#include "os/clock.h"
#include "proto/answer.h"
#include "proto/command.h"
#include "proto/tree.h"

enum { MAX_READY = 64 };

/* One node, as far as it was asked. */
struct line {
	bool tried;                     /* it was connected to for these questions */
	size_t next;                    /* no question before this one waits for the node */
	size_t waiting;                 /* questions for it that have no answer */
	struct rl_buffer in;            /* the beginning of an answer */
	struct rl_sentinels *sentinels; /* of a master that they know; else NULL */
	struct rl_link link;            /* the last: it ends with a large buffer */
};

/* To a question; NULL: none. */
struct answer {
	struct redlock_reply *reply;
};

struct answers {
	struct answer *list;
	size_t count;
};

struct rl_asker {
	const redlock_client *client;
	struct rl_poller poller;
	struct line *lines;
	unsigned count;

	/* of the last rl_asker_ask() */
	struct redlock_question *questions; /* of the caller, whose struct may be longer: see question() */
	size_t question_count;
	size_t question_size;
	struct answers answers; /* to each of them */
	struct answers former;  /* to those of the call before, which they may quote */
	uint64_t now_ns;
};

/* ---- life ---- */

static void free_answers(struct answers *answers)
{
	for (size_t i = 0; i < answers->count; i++)
		free(answers->list[i].reply);
	free(answers->list);
	*answers = (struct answers){0};
}

static bool add_line(struct rl_asker *a, const struct rl_endpoint *endpoint, struct rl_tls_context *tls)
{
	struct rl_endpoint copy;
	if (!rl_url_copy(endpoint, &copy))
		return false;
	unsigned number = a->count++;
	struct line *line = &a->lines[number];
	bool ok = rl_link_open(&line->link, &copy, tls, &a->poller, number);
	if (ok && copy.master != NULL)
		line->sentinels = rl_sentinels_new(&line->link, number);
	return ok && (copy.master == NULL || line->sentinels != NULL);
}

static int add_nodes(struct rl_asker *a, const struct rl_nodes *nodes)
{
	bool ok = true;
	for (unsigned i = 0; i < nodes->count && ok; i++) {
		bool cluster = rl_cluster_is(nodes->clusters, i);
		const struct rl_node *n = cluster ? rl_cluster_speaker(nodes->clusters, i) : &nodes->list[i];
		ok = add_line(a, &n->link.endpoint, nodes->tls);
	}
	return ok ? 0 : REDLOCK_E_NOMEM;
}

static int add_server(struct rl_asker *a, const struct rl_nodes *nodes, unsigned node, const char *text)
{
	struct rl_endpoint endpoint;
	char host[256];
	const char *colon = text != NULL ? strrchr(text, ':') : NULL;
	long port = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;
	if (port < 1 || port > UINT16_MAX || (size_t)(colon - text) >= sizeof host)
		return REDLOCK_E_INVAL;
	/* A server that does not know its own address tells none. */
	const char *told = colon > text ? text : rl_cluster_speaker(nodes->clusters, node)->link.endpoint.host;
	snprintf(host, sizeof host, "%.*s", (int)(colon > text ? (size_t)(colon - text) : strlen(told)), told);
	if (!rl_url_server(&nodes->list[node].link.endpoint, host, (uint16_t)port, &endpoint))
		return REDLOCK_E_NOMEM;
	bool ok = add_line(a, &endpoint, nodes->tls);
	rl_url_free(&endpoint);
	return ok ? 0 : REDLOCK_E_NOMEM;
}

/* One of the Sentinels that the node's URL names, with the user and password that it has for them. */
static int add_sentinel(struct rl_asker *a, const struct rl_nodes *nodes, unsigned node, const char *text)
{
	const struct rl_endpoint *of = &nodes->list[node].link.endpoint;
	int error = REDLOCK_E_INVAL;
	for (unsigned i = 0; text != NULL && i < rl_url_count_hosts(of) && error == REDLOCK_E_INVAL; i++) {
		struct rl_endpoint one;
		if (!rl_url_sentinel(of, i, &one))
			return REDLOCK_E_NOMEM;
		if (strcmp(strstr(one.address, "://") + 3, text) == 0)
			error = add_line(a, &one, nodes->tls) ? 0 : REDLOCK_E_NOMEM;
		rl_url_free(&one);
	}
	return error;
}

static int add_servers(struct rl_asker *a, const struct rl_nodes *nodes,
                       const struct rl_asker_servers *wanted)
{
	unsigned node = wanted->node;
	bool cluster = node < nodes->count && rl_cluster_is(nodes->clusters, node);
	bool sentinels = node < nodes->count && nodes->list[node].link.endpoint.master != NULL;
	int error = cluster || sentinels ? 0 : REDLOCK_E_INVAL;
	for (size_t i = 0; i < wanted->count && error == 0; i++)
		error = cluster ? add_server(a, nodes, node, wanted->list[i])
		                : add_sentinel(a, nodes, node, wanted->list[i]);
	return error;
}

static int open_lines(struct rl_asker *a, redlock_client *c, const struct rl_asker_servers *wanted)
{
	int error = rl_client_enter_one(c);
	if (error < 0)
		return error;
	a->lines = calloc(wanted->list != NULL ? wanted->count + 1 : c->nodes.count, sizeof *a->lines);
	if (a->lines == NULL)
		error = REDLOCK_E_NOMEM;
	else
		error = wanted->list != NULL ? add_servers(a, &c->nodes, wanted) : add_nodes(a, &c->nodes);
	rl_loop_leave(&c->loop);
	return error;
}

int rl_asker_open(redlock_client *c, const struct rl_asker_servers *wanted, struct rl_asker **ret)
{
	struct rl_asker *a = calloc(1, sizeof *a);
	if (a == NULL)
		return REDLOCK_E_NOMEM;
	a->client = c;
	int error = rl_poller_open(&a->poller) < 0 ? REDLOCK_E_SYSTEM : open_lines(a, c, wanted);
	if (error < 0)
		rl_asker_close(a);
	else
		*ret = a;
	return error;
}

void rl_asker_close(struct rl_asker *a)
{
	if (a == NULL)
		return;
	for (unsigned i = 0; i < a->count; i++) {
		rl_sentinels_free(a->lines[i].sentinels, rl_forkmark_is_child(&a->client->forkmark));
		rl_link_close(&a->lines[i].link, rl_forkmark_is_child(&a->client->forkmark));
		rl_buffer_free(&a->lines[i].in);
	}
	rl_poller_close(&a->poller);
	free_answers(&a->answers);
	free_answers(&a->former);
	free(a->lines);
	free(a);
}

/* ---- questions ---- */

static struct redlock_question *question(const struct rl_asker *a, size_t index)
{
	return rl_asker_question(a->questions, a->question_size, index);
}

/* False: out of memory. */
static bool queue(struct line *line, const struct redlock_question *q, uint64_t now_ns)
{
	static const struct rl_entry entry;
	struct rl_buffer command = {0};
	struct rl_slice *words = calloc(q->argc, sizeof *words);
	if (words == NULL)
		return false;
	for (size_t i = 0; i < q->argc; i++)
		words[i] = (struct rl_slice){q->argv[i], q->argv_len != NULL ? q->argv_len[i] : strlen(q->argv[i])};
	bool ok = rl_command_write(&command, words, (unsigned)q->argc) &&
	          rl_outbox_push(&line->link.outbox, &entry, (struct rl_slice){command.bytes, command.size});
	rl_buffer_free(&command);
	free(words);
	if (line->waiting == 0)
		line->link.progress_ns = now_ns;
	line->waiting += ok;
	return ok;
}

/* The first of its questions that has no answer; there is one. */
static struct redlock_question *first_waiting(struct rl_asker *a, struct line *line)
{
	while (&a->lines[question(a, line->next)->node] != line || question(a, line->next)->reply != NULL)
		line->next++;
	return question(a, line->next);
}

/* The requests that this line has not answered will not be answered any more. */
static void lose(struct rl_asker *a, struct line *line)
{
	struct rl_link *l = &line->link;
	for (; line->waiting > 0; line->waiting--) {
		struct redlock_question *q = first_waiting(a, line);
		q->missing = l->failure;
		q->error = l->failure_text;
		line->next++;
	}
	rl_outbox_clear(&l->outbox);
	line->in.size = 0;
	if (l->state == RL_LINK_BROKEN)
		rl_link_end(l, false, a->now_ns);
}

/* ---- connections ---- */

static void begin(struct rl_asker *a, struct line *line)
{
	struct rl_link *l = &line->link;
	line->tried = true;
	if (!rl_link_begin(l, a->now_ns)) {
		if (l->state == RL_LINK_DOWN)
			lose(a, line); /* nothing is known of its name, still or again */
	} else if (rl_handshake_log_in(l)) {
		rl_link_dial(l, a->now_ns);
	} else {
		rl_link_fail_memory(l);
	}
	rl_sentinels_seek(line->sentinels, a->now_ns);
}

static void log_in(struct rl_asker *a, struct rl_link *l)
{
	const struct rl_reply *reply;
	while (l->state == RL_LINK_OPEN && l->setup.count > 0) {
		const struct rl_entry *front = rl_link_next(l, &reply);
		if (front == NULL)
			return;
		enum rl_setup setup = (enum rl_setup)front->setup;
		if (!rl_handshake_fits(setup, reply))
			rl_link_fail_protocol(l);
		else if (rl_handshake_take(l, setup, reply))
			rl_handshake_done(l, a->now_ns);
	}
}

/* ---- answers ---- */

/* A reply that is not one to what was asked. */
static void refuse(struct rl_link *l, struct redlock_reply *reply)
{
	if (reply->kind == REDLOCK_REPLY_ERROR && rl_handshake_turns_away(reply->text))
		rl_link_fail(l, rl_answer_of_error(reply->text), reply->text);
	else
		rl_link_fail_protocol(l);
	free(reply);
}

/* False: it breaks the connection. */
static bool give(struct rl_asker *a, struct line *line, struct redlock_reply *reply)
{
	struct rl_outbox *asked = &line->link.outbox;
	bool away = reply->kind == REDLOCK_REPLY_ERROR && rl_handshake_turns_away(reply->text);
	if (away || line->waiting == 0 || !rl_outbox_front_sent(asked)) {
		refuse(&line->link, reply);
		return false;
	}
	struct redlock_question *q = first_waiting(a, line);
	a->answers.list[line->next].reply = reply;
	q->reply = reply;
	q->missing = REDLOCK_VOTE_PENDING;
	q->error = "";
	q->answered_ns = a->now_ns;
	line->waiting--;
	rl_outbox_pop(asked);
	return true;
}

/* Appends the new bytes to those that came before. */
static bool collect(struct line *line)
{
	struct rl_slice more;
	struct rl_buffer *in = &line->in;
	if (!rl_resp_take(&line->link.resp, &more) || !rl_buffer_reserve(in, more.size))
		return false;
	if (more.size > 0)
		memcpy(in->bytes + in->size, more.bytes, more.size);
	in->size += more.size;
	return true;
}

static void take(struct rl_asker *a, struct line *line)
{
	struct rl_link *l = &line->link;
	struct rl_buffer *in = &line->in;
	if (l->state != RL_LINK_OPEN || l->setup.count > 0)
		return;
	size_t used = 0, size;
	struct redlock_reply *reply;
	int got = collect(line) ? 1 : -1;
	while (got == 1 && used < in->size) {
		got = rl_tree_read((struct rl_slice){in->bytes + used, in->size - used}, &size, &reply);
		if (got == 1 && !give(a, line, reply))
			return;
		used += got == 1 ? size : 0;
	}
	if (used > 0)
		memmove(in->bytes, in->bytes + used, in->size -= used);
	if (got < 0)
		rl_link_fail_protocol(l);
}

/* ---- sending ---- */

/* An answer is timed as the machine's clock says: no lease hangs on it. */
static uint64_t now(void)
{
	int64_t unused;
	return rl_clock_read(&unused);
}

static void note_sent(struct rl_asker *a, struct line *line)
{
	uint64_t now_ns = now();
	for (size_t i = line->next; i < a->question_count; i++)
		if (&a->lines[question(a, i)->node] == line && question(a, i)->sent_ns == 0)
			question(a, i)->sent_ns = now_ns;
}

static void flush(struct rl_asker *a, struct line *line)
{
	struct rl_link *l = &line->link;
	if (l->state != RL_LINK_OPEN)
		return;
	if (l->setup.count == 0 && rl_outbox_unsent(&l->outbox).size > 0)
		note_sent(a, line);
	(void)rl_link_send(l);
}

/* ---- turns ---- */

static void attend(struct rl_asker *a, struct line *line)
{
	struct rl_link *l = &line->link;
	if (l->state != RL_LINK_DOWN && a->now_ns >= rl_link_deadline(l))
		(void)rl_link_tick(l, a->now_ns);
	rl_sentinels_tick(line->sentinels, a->now_ns);
	log_in(a, l);
	take(a, line);
	if (l->state == RL_LINK_DOWN && line->waiting > 0 && !line->tried)
		begin(a, line);
	flush(a, line);
	if (l->state == RL_LINK_BROKEN)
		lose(a, line);
}

static uint64_t next_deadline(const struct rl_asker *a, uint64_t until_ns)
{
	for (unsigned i = 0; i < a->count; i++) {
		until_ns = rl_time_min(until_ns, rl_sentinels_deadline(a->lines[i].sentinels));
		if (a->lines[i].link.state != RL_LINK_DOWN)
			until_ns = rl_time_min(until_ns, rl_link_deadline(&a->lines[i].link));
	}
	return until_ns;
}

static void hear(struct rl_asker *a, const struct rl_ready *ready)
{
	struct line *line = &a->lines[RL_WATCH_NODE(ready->id)];
	if (ready->id % RL_WATCH_LINKS >= RL_WATCH_SENTINELS)
		rl_sentinels_ready(line->sentinels, ready->id, ready->events, a->now_ns);
	else
		rl_link_ready(&line->link, ready->id, ready->events, a->now_ns);
}

/* Takes the answers from the `count` sockets that are ready. */
static void take_ready(struct rl_asker *a, const struct rl_ready *ready, int count)
{
	a->now_ns = now();
	for (int i = 0; i < count; i++)
		hear(a, &ready[i]);
	for (unsigned i = 0; i < a->count; i++)
		attend(a, &a->lines[i]);
}

static void look(struct rl_asker *a)
{
	struct rl_ready ready[MAX_READY];
	take_ready(a, ready, rl_poller_look(&a->poller, ready, MAX_READY));
}

/* Returns as rl_poller_wait(). */
static int await(struct rl_asker *a, uint64_t until_ns, const sigset_t *signals)
{
	struct rl_ready ready[MAX_READY];
	(void)rl_poller_arm(&a->poller, next_deadline(a, until_ns), a->now_ns);
	int count = rl_poller_wait(&a->poller, ready, MAX_READY, signals);
	take_ready(a, ready, count);
	return count;
}

static size_t waiting(const struct rl_asker *a)
{
	size_t all = 0;
	for (unsigned i = 0; i < a->count; i++)
		all += a->lines[i].waiting;
	return all;
}

/* The time is over. An answer that comes later would be taken for the answer to another question. */
static void give_up(struct rl_asker *a)
{
	for (unsigned i = 0; i < a->count; i++) {
		struct rl_link *l = &a->lines[i].link;
		if (a->lines[i].waiting == 0)
			continue;
		bool sent = l->state == RL_LINK_OPEN && l->setup.count == 0;
		rl_link_fail(l, sent ? REDLOCK_VOTE_TIMEOUT : REDLOCK_VOTE_UNSENT,
		             sent ? "no answer in time" : "not connected in time, nothing was sent");
		lose(a, &a->lines[i]);
	}
}

/* All of them before the first is queued: memory may run out at any, and then the replies of the last call
 * are freed. */
static void forget_results(struct rl_asker *a)
{
	for (size_t i = 0; i < a->question_count; i++) {
		struct redlock_question *q = question(a, i);
		q->reply = NULL;
		q->missing = REDLOCK_VOTE_UNSENT;
		q->error = "";
		q->sent_ns = q->answered_ns = 0;
	}
}

static int prepare(struct rl_asker *a, size_t count)
{
	struct answer *answers = calloc(count + 1, sizeof *answers);
	if (answers == NULL)
		return REDLOCK_E_NOMEM;
	for (unsigned i = 0; i < a->count; i++) {
		a->lines[i].next = 0;
		a->lines[i].tried = false;
	}
	bool ok = true;
	for (size_t i = 0; i < count && ok; i++) {
		struct redlock_question *q = question(a, i);
		ok = queue(&a->lines[q->node], q, a->now_ns);
	}
	a->former = a->answers;
	a->answers = (struct answers){answers, count};
	return ok ? 0 : REDLOCK_E_NOMEM;
}

static int wait_for_all(struct rl_asker *a, uint64_t until_ns, const sigset_t *signals)
{
	for (unsigned i = 0; i < a->count; i++)
		attend(a, &a->lines[i]);
	while (waiting(a) > 0 && a->now_ns < until_ns) {
		int got = await(a, until_ns, signals);
		if (got < 0 && got != -EINTR)
			return REDLOCK_E_SYSTEM;
		if (got == -EINTR && signals != NULL && waiting(a) > 0)
			return REDLOCK_E_INTERRUPTED;
	}
	return 0;
}

int rl_asker_ask(struct rl_asker *a, struct redlock_question *questions, size_t count, uint64_t until_ns,
                 const sigset_t *signals)
{
	a->questions = questions;
	a->question_count = count;
	a->question_size = count > 0 ? questions->size : 0;
	look(a); /* a connection may have ended meanwhile */
	forget_results(a);
	int error = prepare(a, count), missing = 0;
	if (error == 0)
		error = wait_for_all(a, until_ns, signals);
	give_up(a);
	for (size_t i = 0; i < count && error == 0; i++)
		missing += question(a, i)->reply == NULL;
	return error < 0 ? error : missing;
}

void rl_asker_forget(struct rl_asker *a)
{
	free_answers(&a->former);
}

unsigned rl_asker_count(const struct rl_asker *a)
{
	return a->count;
}
