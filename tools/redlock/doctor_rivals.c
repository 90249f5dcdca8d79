/* SPDX-License-Identifier: MIT */
/* Looks for locks that two clients hold, by different lists of nodes: with the engine of `redlock ls`. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "doctor/check.h"
#include "ls/ls.h"
#include "printable.h"
#include "rival.h"
#include "signals.h"

/* Names that are looked at, percent of a server's time, and for how long, without the pauses between looks.
 */
enum { NAMES_MOST = 2000, SHARE = 20, WORK_MS = 4000 };

/* The engine asks a function without arguments: there is one doctor in a process. */
static uint64_t end_ns;

static int is_over(void)
{
	return signals_caught() || clock_ns() >= end_ns;
}

static void show_nothing(const struct ls_nodes *nodes, uint64_t keys)
{
	(void)nodes, (void)keys;
}

/* A key on a minority is the holder's, not a rival's, while nodes in quarantine may have forgotten the rest.
 */
static uint64_t find_forgetful(struct ls_nodes *nodes, const struct guard_record *records,
                               uint64_t *ret_left_ms)
{
	return guard_view_forgetful(nodes->program->session, records, ret_left_ms);
}

static void take(struct doctor *doctor, const struct ls_rows *rows)
{
	char name[PRINTABLE_MAX], nodes[128];
	for (size_t i = 0; i < rows->count; i++) {
		const struct ls_row *row = &rows->list[i];
		if (row->rival_nodes == 0)
			continue;
		if (doctor->rivals++ == 0)
			snprintf(doctor->rival_text, sizeof doctor->rival_text, "'%.200s' on %s",
			         printable(row->name, strlen(row->name), name, sizeof name),
			         rivals_nodes_text(row->rival_nodes, nodes, sizeof nodes));
	}
}

/* A lock that was not seen in time, or may not be seen, is not reported: `redlock ls` takes its time. */
bool doctor_look_at_rivals(struct doctor *doctor)
{
	const char *prefix = doctor->session->settings->prefix;
	const struct ls_scope scope = {.prefix = prefix != NULL ? prefix : "", .most = NAMES_MOST};
	const struct ls_program program = {.share = SHARE,
	                                   .timeout_ms = doctor->session->node_timeout_ms,
	                                   .stopped = is_over,
	                                   .progress = show_nothing,
	                                   .forgetful = find_forgetful,
	                                   .session = doctor->session};
	struct ls_nodes nodes;
	struct ls_rows rows = {0};
	end_ns = clock_ns() + WORK_MS * UINT64_C(1000000) + RIVAL_LOOKS * rival_pause_ns(program.timeout_ms);
	int error = ls_nodes_open(&nodes, doctor->session->client, &program);
	if (error < 0) {
		doctor->error = error;
		return false;
	}
	if (ls_gather(&nodes, &scope, &rows))
		take(doctor, &rows);
	ls_rows_free(&rows);
	ls_nodes_close(&nodes);
	return !signals_caught();
}

DOCTOR_LOOK_AT(doctor_has_rivals)
{
	UNUSED;
	FIND("%s%s", doctor->rival_text, doctor->rivals > 1 ? ", and others" : "");
	return doctor->rivals > 0;
}
