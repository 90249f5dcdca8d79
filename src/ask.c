/* SPDX-License-Identifier: MIT */
/*
 * The calls of ask.h. A question about a key of a Redis Cluster may reach a server that does not have it:
 * that one executes nothing, and says which one has (MOVED, ASK). The question is then asked there.
 */
#include <redlock/ask.h>

#include <stdio.h>
#include <stdlib.h>

#include "asker.h"
#include "core/sized.h"
#include "net/redirect.h"
#include "os/clock.h"
#include "os/signals.h"
#include "proto/answer.h"
#include "proto/tree.h"

enum { MOST_HOPS = 4 };

/* Servers of one node that questions were sent on to. */
struct hop {
	struct rl_asker *asker; /* its answers are those of the questions */
	struct hop *next;
};

struct redlock_asker {
	redlock_client *client;
	struct rl_asker *first;
	bool follows; /* it asks one server of each node, rather than certain servers of one */
	struct hop *hops;
};

/* ---- life ---- */

static void close_hops(struct hop *hops)
{
	while (hops != NULL) {
		struct hop *hop = hops;
		hops = hop->next;
		rl_asker_close(hop->asker);
		free(hop);
	}
}

static int open_asker(redlock_client *c, const struct rl_asker_servers *servers, redlock_asker **ret)
{
	if (c == NULL || ret == NULL)
		return REDLOCK_E_INVAL;
	redlock_asker *a = calloc(1, sizeof *a);
	if (a == NULL)
		return REDLOCK_E_NOMEM;
	a->client = c;
	a->follows = servers->list == NULL;
	int error = rl_asker_open(c, servers, &a->first);
	if (error < 0)
		free(a);
	else
		*ret = a;
	return error;
}

int redlock_asker_open(redlock_client *c, redlock_asker **ret)
{
	RL_NO_CANCEL;
	return open_asker(c, &(struct rl_asker_servers){.list = NULL}, ret);
}

int redlock_asker_open_servers(redlock_client *c, unsigned node, const char *const *servers, size_t count,
                               redlock_asker **ret)
{
	RL_NO_CANCEL;
	if (servers == NULL || count > REDLOCK_MAX_NODES)
		return REDLOCK_E_INVAL;
	return open_asker(c, &(struct rl_asker_servers){node, servers, count}, ret);
}

void redlock_asker_close(redlock_asker *a)
{
	RL_NO_CANCEL;
	if (a == NULL)
		return;
	close_hops(a->hops);
	rl_asker_close(a->first);
	free(a);
}

/* ---- questions that are sent on ---- */

/* The questions of one call. */
struct batch {
	struct redlock_question *list; /* the caller's struct may be longer: see at() */
	size_t count;
	uint64_t until_ns;
	const sigset_t *signals;
};

static struct redlock_question *at(const struct batch *b, size_t index)
{
	return rl_asker_question(b->list, b->list->size, index);
}

/* The questions of one node that go on, and where to. */
struct turn {
	struct redlock_question *list; /* a question after ASK has ASKING before it */
	size_t *from;                  /* of each: which one of the batch it is; ASKING: that after it */
	size_t count;
	char text[REDLOCK_MAX_NODES][80]; /* HOST:PORT */
	const char *servers[REDLOCK_MAX_NODES];
	unsigned server_count;
};

/* The number of this server; REDLOCK_MAX_NODES: there are too many. */
static unsigned place_of(struct turn *t, const char *server)
{
	unsigned i = 0;
	while (i < t->server_count && strcmp(t->servers[i], server) != 0)
		i++;
	if (i == t->server_count && i < REDLOCK_MAX_NODES) {
		snprintf(t->text[i], sizeof t->text[i], "%s", server);
		t->servers[t->server_count++] = t->text[i];
	}
	return i;
}

static void add(struct turn *t, const struct redlock_question *q, size_t index, unsigned server)
{
	t->list[t->count] = (struct redlock_question){
	    .size = sizeof *q, .node = server, .argc = q->argc, .argv = q->argv, .argv_len = q->argv_len};
	t->from[t->count++] = index;
}

/* Notes the question if its answer is that another server is to be asked. */
static void take(struct turn *t, const struct redlock_question *q, size_t index)
{
	static const char *const asking[] = {"ASKING"};
	struct rl_redirect to;
	char server[80];
	bool error = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
	enum rl_redirect_kind kind = error ? rl_redirect_read(q->reply->text, &to) : RL_REDIRECT_NONE;
	if (kind != RL_REDIRECT_MOVED && kind != RL_REDIRECT_ASK)
		return;
	snprintf(server, sizeof server, "%s:%u", to.host, (unsigned)to.port);
	unsigned place = place_of(t, server);
	if (place == REDLOCK_MAX_NODES)
		return;
	if (kind == RL_REDIRECT_ASK)
		add(t, &(struct redlock_question){.argc = 1, .argv = asking}, index, place);
	add(t, q, index, place);
}

static void give_back(const struct batch *b, const struct turn *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct redlock_question *q = at(b, t->from[i]); /* ASKING's answer is written over */
		q->reply = t->list[i].reply;
		q->missing = t->list[i].missing;
		q->error = t->list[i].error;
		q->sent_ns = t->list[i].sent_ns;
		q->answered_ns = t->list[i].answered_ns;
	}
}

static int ask_there(redlock_asker *a, const struct batch *b, unsigned node, struct turn *t)
{
	struct hop *hop = calloc(1, sizeof *hop);
	if (hop == NULL)
		return REDLOCK_E_NOMEM;
	const struct rl_asker_servers servers = {node, t->servers, t->server_count};
	int error = rl_asker_open(a->client, &servers, &hop->asker);
	if (error < 0) {
		free(hop);
		return error;
	}
	hop->next = a->hops;
	a->hops = hop;
	error = rl_asker_ask(hop->asker, t->list, t->count, b->until_ns, b->signals);
	give_back(b, t);
	return error;
}

/* Returns how many questions of this node were sent on, or a negative error. */
static int follow(redlock_asker *a, const struct batch *b, unsigned node)
{
	struct turn t = {.list = calloc(2 * b->count, sizeof *t.list),
	                 .from = calloc(2 * b->count, sizeof *t.from)};
	int error = t.list != NULL && t.from != NULL ? 0 : REDLOCK_E_NOMEM;
	for (size_t i = 0; error == 0 && i < b->count; i++)
		if (at(b, i)->node == node)
			take(&t, at(b, i), i);
	if (error == 0 && t.count > 0)
		error = ask_there(a, b, node, &t);
	free(t.list);
	free(t.from);
	return error < 0 ? error : (int)t.count;
}

static int follow_all(redlock_asker *a, const struct batch *b)
{
	int sent = 1;
	for (unsigned hop = 0; hop < MOST_HOPS && sent > 0; hop++) {
		sent = 0;
		for (unsigned i = 0; i < rl_asker_count(a->first) && sent >= 0; i++) {
			int more = rl_cluster_is(a->client->nodes.clusters, i) ? follow(a, b, i) : 0;
			sent = more < 0 ? more : sent + more;
		}
	}
	return sent < 0 ? sent : 0;
}

/* ---- asking ---- */

static int ask(redlock_asker *a, const struct batch *b)
{
	struct hop *former = a->hops;
	a->hops = NULL;
	int missing = 0, error = rl_asker_ask(a->first, b->list, b->count, b->until_ns, b->signals);
	if (error >= 0 && a->follows && b->count > 0)
		error = follow_all(a, b);
	rl_asker_forget(a->first); /* not before: a question may quote the answers of the last call */
	close_hops(former);
	for (size_t i = 0; i < b->count && error >= 0; i++)
		missing += at(b, i)->reply == NULL;
	return error < 0 ? error : missing;
}

static bool is_question(const redlock_asker *a, const struct redlock_question *q, size_t size)
{
	return q->size >= sizeof *q && q->size <= RL_SIZED_MOST && q->size == size &&
	       q->node < rl_asker_count(a->first) && q->argc > 0 && q->argc <= RL_TREE_VALUES && q->argv != NULL;
}

static int check(const redlock_asker *a, struct redlock_question *questions, size_t count)
{
	int error = a != NULL && (questions != NULL || count == 0) ? rl_client_check(a->client) : REDLOCK_E_INVAL;
	for (size_t i = 0; i < count && error == 0; i++)
		if (!is_question(a, rl_asker_question(questions, questions->size, i), questions->size))
			error = REDLOCK_E_INVAL;
	return error;
}

int redlock_ask(redlock_asker *a, struct redlock_question *questions, size_t count, uint64_t timeout_ms)
{
	RL_NO_CANCEL;
	int64_t unused;
	int error = check(a, questions, count);
	if (error < 0)
		return error;
	struct batch b = {questions, count, rl_time_add(rl_clock_read(&unused), rl_time_ms(timeout_ms)), NULL};
	if (!a->client->loop.interruptible)
		return ask(a, &b);
	RL_HOLD_SIGNALS(before);
	b.signals = &before;
	return ask(a, &b);
}

enum redlock_vote_code redlock_question_vote(const struct redlock_question *q)
{
	if (q == NULL || q->size < sizeof *q)
		return REDLOCK_VOTE_PENDING;
	if (q->reply == NULL)
		return q->missing;
	return q->reply->kind == REDLOCK_REPLY_ERROR ? rl_answer_of_error(q->reply->text) : REDLOCK_VOTE_YES;
}
