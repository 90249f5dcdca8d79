/* SPDX-License-Identifier: MIT */
/*
 * redlock status: each node, and whether locks can be acquired. A node is up when it would do all that a lock
 * needs: it is asked for a SET of a key that does not exist and stays so, and for an extend of a lock that
 * nobody has. No lock is written; of a guarded set it may begin and end quarantines, as any client does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_codes.h"
#include "guard_record.h"
#include "guard_view.h"
#include "message.h"
#include "report.h"
#include "scheme.h"
#include "session.h"
#include "shards.h"
#include "signals.h"
#include "status.h"

/* The beginning of the names that are asked about; the prefix stands before it, and a probe appends its own
 * part. */
static const char probe_name[] = "redlock-status-";
/* No lock has it: it has blanks. */
static const char probe_token[] = "no token";

static bool is_up(const struct node_report *node)
{
	return report_is_definite(node);
}

static const char *state_word(const struct report *report)
{
	if (report->answered < report->quorum)
		return "unreachable";
	return report->answered < report->nodes ? "degraded" : "ok";
}

/* Whether the node refuses, waits for the end of its quarantine, says nothing, or is not there: each has
 * another remedy. A wrong password is refused before there is a connection for commands, and a connection
 * stays where a node hangs. */
static const char *trouble_word(const struct node_report *node)
{
	switch (node->vote.code) {
	case REDLOCK_VOTE_PENDING:
	case REDLOCK_VOTE_TIMEOUT:
	case REDLOCK_VOTE_BACKLOG:
	case REDLOCK_VOTE_STALE:
		return "SILENT";
	case REDLOCK_VOTE_UNSENT:
	case REDLOCK_VOTE_DOWN:
	case REDLOCK_VOTE_CLOSED:
	case REDLOCK_VOTE_NAME:
	case REDLOCK_VOTE_TLS:
		return "DOWN";
	case REDLOCK_VOTE_QUARANTINE:
		return "QUARANTINE";
	default:
		return "REFUSES";
	}
}

/* Votes, or says why not. */
static bool is_answering(const struct node_report *node)
{
	return is_up(node) ||
	       (strcmp(trouble_word(node), "SILENT") != 0 && strcmp(trouble_word(node), "DOWN") != 0);
}

/* The records of a guarded node set, of nodes that answer; and the masters of those that are clusters. */
struct records {
	struct guard_record of[REDLOCK_MAX_NODES];
	struct shards *shards[REDLOCK_MAX_NODES]; /* NULL: it is no cluster, or out of memory */
	bool any;                                 /* there is such a set */
	struct guard_view guard;
};

static void read_shards(struct session *session, const struct report *report, redlock_asker *asker,
                        struct records *ret)
{
	for (unsigned i = 0; i < report->nodes; i++) {
		if (!shards_are_of(report->node[i].status.address))
			continue;
		struct shards *shards = ret->shards[i] = malloc(sizeof *shards);
		if (shards == NULL)
			continue;
		shards_list(asker, i, session->node_timeout_ms, shards);
		shards_look(session->client, i, session->node_timeout_ms, shards);
	}
}

static void free_records(struct records *records, unsigned nodes)
{
	for (unsigned i = 0; i < nodes; i++)
		free(records->shards[i]);
	guard_record_free(records->of, nodes);
}

static void read_records(struct session *session, const struct report *report, struct records *ret)
{
	redlock_asker *asker = NULL;
	uint64_t answering = 0;
	for (unsigned i = 0; i < report->nodes; i++)
		answering |= (uint64_t)is_answering(&report->node[i]) << i;
	if (redlock_asker_open(session->client, &asker) == 0) {
		(void)guard_record_read(asker, ret->of, report->nodes, answering, session->node_timeout_ms);
		read_shards(session, report, asker, ret);
	}
	redlock_asker_close(asker);
	for (unsigned i = 0; i < report->nodes; i++)
		ret->any = ret->any || ret->of[i].state > GUARD_BLANK_;
	guard_view_look(&ret->guard, session, ret->of, report->nodes, report->quorum);
}

void status_count_ready(struct report *report, const struct guard_record *records)
{
	for (unsigned i = 0; i < report->nodes; i++) {
		struct node_report *node = &report->node[i];
		bool is_ready = records[i].state == GUARD_OVER_ || records[i].state == GUARD_ADMITTED_;
		if (node->vote.code != REDLOCK_VOTE_QUARANTINE || !is_ready)
			continue;
		node->vote.code = REDLOCK_VOTE_YES;
		node->detail[0] = '\0';
	}
	report_conclude(report, 0);
	if (report->answered < report->quorum)
		report_conclude(report, REDLOCK_E_NOQUORUM);
}

static void print_record(const struct guard_record *record)
{
	char text[512];
	put_line("    guard: %s", guard_record_text(record, text, sizeof text));
}

static void print_shards(const struct shards *shards)
{
	char text[320];
	for (unsigned i = 0; i < shards->count; i++)
		put_line("    server %s", shard_text(&shards->list[i], text, sizeof text));
	if (shards->more > 0)
		put_line("    and %u more", shards->more);
	if (shards->count == 0)
		put_line("    its servers cannot be listed: %s", shards->why);
	else if (shards->slots < SHARD_SLOTS)
		put_line("    %u of %u slots have no server", SHARD_SLOTS - shards->slots, SHARD_SLOTS);
}

/* This list of nodes is not that of the set: what its members are, and the command that makes them these. */
static void print_move(const struct report *report, const struct records *records)
{
	const char *urls[REDLOCK_MAX_NODES];
	char text[GUARD_MOVE_MAX];
	for (unsigned i = 0; i < report->nodes; i++)
		urls[i] = report->node[i].status.address;
	if (guard_move_text(records->of, urls, report->nodes, text, sizeof text))
		put_line("  its members are %s", text);
}

static void print_text(const struct report *report, const struct records *records)
{
	const char *state = report->answered < report->quorum  ? "NOT reachable"
	                    : report->answered < report->nodes ? "reachable, DEGRADED"
	                                                       : "reachable";
	put_line("quorum %s: %u of %u nodes up, %u are needed", state, report->answered, report->nodes,
	         report->quorum);
	for (unsigned i = 0; i < report->nodes; i++) {
		const struct node_report *node = &report->node[i];
		const char *run_id = node->status.run_id[0] ? node->status.run_id : "unknown (INFO is not allowed)";
		if (is_up(node))
			put_line("  node %u %s: up, %.0f us, run_id %s", i + 1, node->status.address,
			         (double)node->vote.rtt_ns / 1000, run_id);
		else
			put_line("  node %u %s: %s, %s", i + 1, node->status.address, trouble_word(node), node->detail);
		if (records->any && records->of[i].state != GUARD_SILENT_)
			print_record(&records->of[i]);
		if (records->shards[i] != NULL)
			print_shards(records->shards[i]);
	}
	char guard[256];
	put_line("guard: %s", guard_view_text(&records->guard, guard, sizeof guard));
	print_move(report, records);
}

static void print_json(const struct report *report, const struct records *records)
{
	struct json json;
	json_init(&json, stdout);
	report_json_begin(report, &json);
	json_text(&json, "state", state_word(report));
	json_number(&json, "up", report->answered);
	json_number(&json, "quorum", report->quorum);
	guard_view_json(&records->guard, &json);
	json_open(&json, "nodes", '[');
	for (unsigned i = 0; i < report->nodes; i++) {
		const struct node_report *node = &report->node[i];
		json_open(&json, NULL, '{');
		report_json_node(report, i, &json);
		json_bool(&json, "up", is_up(node));
		json_bool(&json, "connected", node->status.connected != 0);
		if (node->status.run_id[0])
			json_text(&json, "run_id", node->status.run_id);
		else
			json_null(&json, "run_id");
		guard_record_json(&records->of[i], &json);
		if (records->shards[i] != NULL)
			shards_json(records->shards[i], &json);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

static void warn_unidentified(const struct report *report, const struct settings *settings)
{
	unsigned unknown = 0;
	for (unsigned i = 0; i < report->nodes; i++)
		unknown += report->node[i].status.connected && !report->node[i].status.run_id[0] &&
		           report->node[i].vote.code != REDLOCK_VOTE_AUTH; /* before the login nothing is told */
	if (unknown > 0 && report->nodes > 1)
		say(settings, MSG(ANONYMOUS), unknown);
}

/* Asks each node that would do what an acquire needs what it would do after it. */
int status_ask(struct session *session, const char *verb, struct report *report)
{
	static const struct {
		enum redlock_operation operation;
		const char *token;
	} questions[] = {{REDLOCK_OP_PROBE, NULL}, {REDLOCK_OP_EXTEND, probe_token}};
	int code = EXIT_OK, result = 0;
	for (size_t q = 0; q < sizeof questions / sizeof questions[0] && code == EXIT_OK; q++) {
		redlock_lock *lock = NULL;
		code = session_lock(session, probe_name, questions[q].token, &lock);
		if (code != EXIT_OK)
			break;
		result = session_run(session, lock, questions[q].operation);
		struct report answer;
		report_collect(&answer, verb, NULL, result, session, lock);
		redlock_lock_free(lock);
		if (q == 0)
			*report = answer;
		for (unsigned i = 0; i < report->nodes; i++)
			if (is_up(&report->node[i]) && !is_up(&answer.node[i]) &&
			    answer.node[i].vote.code != REDLOCK_VOTE_PENDING)
				report->node[i] = answer.node[i];
		if (result == REDLOCK_E_CANCELLED && signals_caught())
			code = EXIT_SIGNAL + signals_caught();
	}
	if (code == EXIT_OK) {
		scheme_look(report, session);
		report_conclude(report, 0);
		if (report->answered < report->quorum)
			report_conclude(report, REDLOCK_E_NOQUORUM);
	}
	return code;
}

/* The records are to be freed in any case. */
static int look(struct session *session, const struct settings *settings, struct report *report,
                struct records *ret)
{
	int code = session_open(session, settings);
	*ret = (struct records){.any = false, .shards = {NULL}};
	if (code == EXIT_OK)
		code = status_ask(session, "status", report);
	if (code == EXIT_OK)
		read_records(session, report, ret);
	return code;
}

/* The quorum of the guarded set, where --quorum asks for more nodes. Clients that are configured with another
 * quorum than the set's are refused, and status says so. 0: neither. */
static unsigned quorum_below(const struct settings *settings, const struct report *report,
                             const struct records *records)
{
	const struct setting_source *source = settings_source(settings, offsetof(struct settings, quorum));
	bool is_asked = source != NULL && source->rank == RANK_COMMAND_LINE;
	for (unsigned i = 0; i < report->nodes && is_asked; i++) {
		uint64_t quorum = guard_record_number(&records->of[i], GUARD_QUORUM);
		if (guard_record_is_of_a_set(&records->of[i]) && quorum > 0 && quorum < settings->quorum)
			return (unsigned)quorum;
	}
	return 0;
}

int status_of_nodes(const struct settings *settings)
{
	struct session session;
	struct report report = {.nodes = 0};
	struct records records;
	struct settings own = *settings;
	own.wait_ms = 0; /* one attempt: records that nodes do not tell by then are not waited for */
	int code = look(&session, &own, &report, &records);
	own.quorum = code == EXIT_OK ? quorum_below(settings, &report, &records) : 0;
	if (own.quorum > 0) {
		free_records(&records, report.nodes);
		session_close(&session);
		code = look(&session, &own, &report, &records);
		report.quorum = (unsigned)settings->quorum;
	}
	if (code == EXIT_OK) {
		status_count_ready(&report, records.of);
		code = report.outcome.code;
		if (settings->json)
			print_json(&report, &records);
		else
			print_text(&report, &records);
		warn_unidentified(&report, settings);
		if (report.result != 0)
			report_failure(&report, settings);
	}
	free_records(&records, report.nodes);
	session_close(&session);
	return code;
}
