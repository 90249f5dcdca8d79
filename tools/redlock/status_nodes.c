/* SPDX-License-Identifier: MIT */
/* redlock status: each node, and whether a quorum can be reached. */
#include <stdio.h>
#include <string.h>

#include "exit_codes.h"
#include "message.h"
#include "report.h"
#include "session.h"
#include "signals.h"
#include "status.h"

/* A name to ask about: the answer does not matter, that there is one does. */
static const char probe_name[] = "redlock-status";

/* A user that may not read this key may still be allowed to lock others. */
static bool is_up(const struct node_report *node)
{
	return !node->detail[0] || (node->vote.code == REDLOCK_VOTE_NOPERM && node->status.connected);
}

static unsigned count_up(const struct report *report)
{
	unsigned up = 0;

	for (unsigned i = 0; i < report->nodes; i++)
		up += is_up(&report->node[i]);
	return up;
}

static void print_text(const struct report *report)
{
	unsigned up = count_up(report);

	put_line("quorum %s: %u of %u nodes up, %u are needed",
	         up >= report->quorum ? "reachable" : "NOT reachable", up, report->nodes, report->quorum);
	for (unsigned i = 0; i < report->nodes; i++) {
		const struct node_report *node = &report->node[i];

		if (is_up(node))
			put_line("  node %u %s: up, %.0f us, run_id %s%s%s", i + 1, node->status.address,
			         (double)node->vote.rtt_ns / 1000,
			         node->status.run_id[0] ? node->status.run_id : "unknown (INFO is not allowed)",
			         node->detail[0] ? "; " : "", node->detail);
		else
			put_line("  node %u %s: DOWN, %s", i + 1, node->status.address, node->detail);
	}
}

static void print_json(const struct report *report)
{
	struct json json;

	json_init(&json, stdout);
	report_json_begin(report, &json);
	json_number(&json, "up", count_up(report));
	json_number(&json, "quorum", report->quorum);
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
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

/* The answer to the probe is not the result: a quorum of nodes that are up is. */
static int judge(struct report *report, int result)
{
	if (result == REDLOCK_E_GONE || count_up(report) >= report->quorum) {
		report->result = 0;
		report->exit_code = EXIT_OK;
	}
	return report->exit_code;
}

int status_of_nodes(const struct settings *settings)
{
	struct session session;
	struct report report;
	redlock_lock *lock = NULL;
	int code = session_open(&session, settings);

	if (code == EXIT_OK)
		code = session_lock(&session, probe_name, NULL, &lock);
	if (code == EXIT_OK) {
		int result = session_run(&session, lock, REDLOCK_OP_QUERY);

		report_collect(&report, "status", NULL, result, &session, lock);
		code = judge(&report, result);
		if (result == REDLOCK_E_CANCELLED && signals_caught()) {
			code = EXIT_SIGNAL + signals_caught();
		} else {
			if (settings->json)
				print_json(&report);
			else
				print_text(&report);
			if (report.result != 0)
				report_failure(&report, settings);
		}
		redlock_lock_free(lock);
	}
	session_close(&session);
	return code;
}
