/* SPDX-License-Identifier: MIT */
/* Questions to the nodes that answer. A node that leaves one unanswered is asked no more: others that hang
 * cost one timeout together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../guard_record.h"
#include "../printable.h"
#include "ls.h"

/* Not less than this: a node that answers late is not one that hangs, and nobody holds a lock by it. */
enum { LEAST_TIMEOUT_MS = 500 };

static void note(struct ls_nodes *nodes, unsigned node, enum redlock_vote_code code, const char *why)
{
	struct node_report *report = &nodes->report.node[node];
	char shown[160];
	if (report->detail[0])
		return;
	report->vote.code = code;
	const char *text = redlock_vote_text(code);
	bool says_more = *why && strcmp(why, text) != 0;
	harmless(why, shown, sizeof shown);
	snprintf(report->detail, sizeof report->detail, "%s%s%.*s", text, says_more ? ": " : "",
	         says_more ? (int)strcspn(shown, ",") : 0, shown);
}

/* The vote that a refusal stands for. */
static enum redlock_vote_code code_of(const char *error)
{
	static const struct {
		const char *begin;
		enum redlock_vote_code code;
	} rows[] = {
	    {"NOPERM", REDLOCK_VOTE_NOPERM},
	    {"ERR ACL failure in script", REDLOCK_VOTE_NOPERM},
	    {"ERR unknown command", REDLOCK_VOTE_COMMAND},
	    {"NOAUTH", REDLOCK_VOTE_AUTH},
	    {"LOADING", REDLOCK_VOTE_LOADING},
	    {"BUSY", REDLOCK_VOTE_BLOCKED},
	    {"OOM", REDLOCK_VOTE_OOM},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strncmp(error, rows[i].begin, strlen(rows[i].begin)) == 0)
			return rows[i].code;
	/* Inside of a script it is said in other words. */
	return strstr(error, "can't run this command") != NULL ? REDLOCK_VOTE_NOPERM : REDLOCK_VOTE_SERVER;
}

void ls_nodes_refused(struct ls_nodes *nodes, unsigned node, const struct redlock_question *q)
{
	bool is_error = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
	if (is_error)
		note(nodes, node, code_of(q->reply->text), q->reply->text);
	else if (q->reply != NULL)
		note(nodes, node, REDLOCK_VOTE_GARBAGE, "");
	else
		note(nodes, node, q->missing, q->error);
}

static bool ask_all(struct ls_nodes *nodes, struct redlock_question *list, size_t count)
{
	nodes->error = redlock_ask(nodes->asker, list, count, nodes->timeout_ms);
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

bool ls_nodes_rest(const struct ls_nodes *nodes)
{
	uint64_t due_ns = ls_pace_due_ns(&nodes->pace);
	for (uint64_t now_ns = clock_ns(); now_ns < due_ns && !nodes->program->stopped(); now_ns = clock_ns()) {
		uint64_t left_ms = (due_ns - now_ns) / 1000000 + 1;
		clock_sleep_ms(left_ms < 50 ? (unsigned)left_ms : 50);
	}
	return !nodes->program->stopped();
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
	bool ok = ls_nodes_ask(nodes, list, count);
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
	*report = (struct report){
	    .verb = "ls", .nodes = redlock_node_count(nodes->client), .quorum = redlock_quorum(nodes->client)};
	nodes->asked = nodes->scanned = nodes->keys = nodes->forgetful = 0;
	for (unsigned i = 0; i < report->nodes; i++) {
		report->node[i].status.size = sizeof report->node[i].status;
		if (redlock_node_status(nodes->client, i, &report->node[i].status) < 0)
			report->node[i].status.address[0] = '?';
		nodes->asked |= UINT64_C(1) << i;
	}
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
