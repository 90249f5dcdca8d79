/* SPDX-License-Identifier: MIT */
/* Questions to the nodes that answer. A node that leaves one unanswered is asked no more: others that hang
 * cost one timeout together. */
#include <stdlib.h>
#include <string.h>

#include "../answer.h"
#include "../clock.h"
#include "../guard_record.h"
#include "ls.h"

/* Not less than this: a node that answers late is not one that hangs, and nobody holds a lock by it. */
enum { LEAST_TIMEOUT_MS = 500 };

/* A node that has answered is not given up as soon: a list may take minutes, and a server stands still for a
 * moment. */
enum { LATER_TIMEOUT_MS = 5000 };

void ls_nodes_refused(struct ls_nodes *nodes, unsigned node, const struct redlock_question *q)
{
	answer_refused(&nodes->report.node[node], q);
}

static bool ask_all(struct ls_nodes *nodes, struct redlock_question *list, size_t count)
{
	nodes->error = redlock_ask(nodes->asker, list, count, nodes->patience_ms);
	for (size_t i = 0; i < count && nodes->error > 0; i++) {
		if (list[i].reply != NULL)
			continue;
		ls_nodes_refused(nodes, list[i].node, &list[i]);
		nodes->asked &= ~(UINT64_C(1) << list[i].node);
	}
	return nodes->error >= 0 && !nodes->program->stopped();
}

/* Between two questions for each node's time. */
bool ls_nodes_ask(struct ls_nodes *nodes, struct redlock_question *list, size_t count)
{
	static const char *const time[] = {"TIME"};
	unsigned clocks = 0, of[REDLOCK_MAX_NODES];
	for (unsigned i = 0; i < nodes->report.nodes; i++)
		if (nodes->asked >> i & 1)
			of[clocks++] = i;
	struct redlock_question *all = calloc(count + (size_t)2 * REDLOCK_MAX_NODES, sizeof *all);
	if (all == NULL) {
		nodes->error = REDLOCK_E_NOMEM;
		return false;
	}
	struct redlock_question *own = all + clocks, *after = own + count;
	memcpy(own, list, count * sizeof *own);
	for (unsigned i = 0; i < clocks; i++)
		all[i] = after[i] =
		    (struct redlock_question){.size = sizeof *all, .node = of[i], .argc = 1, .argv = time};
	bool ok = ask_all(nodes, all, count + 2 * (size_t)clocks);
	memcpy(list, own, count * sizeof *own);
	for (unsigned i = 0; i < clocks; i++)
		ls_pace_note(&nodes->pace, &all[i], &after[i]);
	free(all);
	return ok;
}

bool ls_nodes_rest_until(const struct ls_nodes *nodes, uint64_t until_ns)
{
	for (uint64_t now_ns = clock_ns(); now_ns < until_ns && !nodes->program->stopped(); now_ns = clock_ns()) {
		uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;
		clock_sleep_ms(left_ms < 50 ? (unsigned)left_ms : 50);
	}
	return !nodes->program->stopped();
}

bool ls_nodes_rest(const struct ls_nodes *nodes)
{
	return ls_nodes_rest_until(nodes, ls_pace_due_ns(&nodes->pace));
}

/* Connects, and asks how many keys there are. */
static bool say_hello(struct ls_nodes *nodes)
{
	static const char *const size[] = {"DBSIZE"};
	struct redlock_question list[REDLOCK_MAX_NODES];
	unsigned count = nodes->report.nodes;
	for (unsigned i = 0; i < count; i++)
		list[i] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 1, .argv = size};
	nodes->patience_ms = nodes->timeout_ms;
	bool ok = ls_nodes_ask(nodes, list, count);
	if (nodes->patience_ms < LATER_TIMEOUT_MS)
		nodes->patience_ms = LATER_TIMEOUT_MS;
	for (unsigned i = 0; i < count; i++) {
		const struct redlock_reply *r = list[i].reply;
		if (r != NULL && r->kind == REDLOCK_REPLY_INTEGER && (uint64_t)r->integer > nodes->keys)
			nodes->keys = (uint64_t)r->integer;
	}
	return ok;
}

/* Which nodes may have forgotten locks: the program knows whether the guard applies to it. */
static void look_at_records(struct ls_nodes *nodes)
{
	struct guard_record records[REDLOCK_MAX_NODES] = {0};
	unsigned count = nodes->report.nodes;
	if (guard_record_read(nodes->asker, records, count, nodes->asked, nodes->timeout_ms) >= 0)
		nodes->forgetful = nodes->program->forgetful(nodes, records, &nodes->forgetful_ms);
	guard_record_free(records, count);
}

bool ls_nodes_forgot(const struct ls_nodes *nodes)
{
	return (unsigned)__builtin_popcountll(nodes->forgetful) >= nodes->report.quorum;
}

int ls_nodes_open(struct ls_nodes *nodes, redlock_client *client, const struct ls_program *program)
{
	*nodes = (struct ls_nodes){.client = client, .program = program, .timeout_ms = program->timeout_ms};
	if (nodes->timeout_ms < LEAST_TIMEOUT_MS)
		nodes->timeout_ms = LEAST_TIMEOUT_MS;
	return nodes->error = redlock_asker_open(client, &nodes->asker);
}

bool ls_nodes_begin(struct ls_nodes *nodes)
{
	struct report *report = &nodes->report;
	answer_begin(report, "ls", nodes->client);
	nodes->asked = nodes->scanned = nodes->keys = nodes->forgetful = 0;
	for (unsigned i = 0; i < report->nodes; i++)
		nodes->asked |= UINT64_C(1) << i;
	ls_pace_begin(&nodes->pace, (double)nodes->program->share / 100);
	if (!say_hello(nodes))
		return false;
	look_at_records(nodes);
	return !nodes->program->stopped();
}

void ls_nodes_close(struct ls_nodes *nodes)
{
	redlock_asker_close(nodes->asker);
	nodes->asker = NULL;
}
