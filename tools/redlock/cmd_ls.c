/* SPDX-License-Identifier: MIT */
/* redlock ls [PATTERN]: all locks of the node set. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "cmd.h"
#include "live.h"
#include "ls/ls.h"
#include "message.h"
#include "signals.h"

static const struct option_spec list_specs[] = {
    {0, "sort", LS_SORT_WORDS, OPTION_WORD, offsetof(struct settings, sort), 0, 0,
     "order by this column (name)"},
    {0, "odd", NULL, OPTION_FLAG, offsetof(struct settings, odd), 0, 0, "only locks with something in ODD"},
    {0, "orphans", NULL, OPTION_FLAG, offsetof(struct settings, orphans), 0, 0,
     "only side keys of locks that nobody holds"},
    {0, "follow", NULL, OPTION_FLAG, offsetof(struct settings, follow), 0, 0,
     "show it again and again, and what has changed, until a signal ends it"},
    {0, "every", "TIME", OPTION_DURATION, offsetof(struct settings, every_ms), 100, 86400000,
     "how often with --follow (2s)"},
    {0, "share", "PERCENT", OPTION_NUMBER, offsetof(struct settings, share), 1, 100,
     "how much of a server's time to take, at most (2)"},
};
static const struct option_group list_options = {"List", list_specs,
                                                 sizeof list_specs / sizeof list_specs[0]};
static const struct option_group *const groups[] = {&list_options, &node_options, &output_options, NULL};

/* ---- reading ---- */

/* A listing that takes long says how far it is. */
static void show_progress(const struct ls_nodes *nodes, uint64_t keys)
{
	enum { AFTER_NS = 1000000000 };
	char line[160];
	const struct settings *settings = nodes->session->settings;
	if (settings->follow || clock_ns() - nodes->pace.begin_ns < AFTER_NS || !live_works(settings))
		return;
	uint64_t percent = nodes->keys > keys ? keys * 100 / nodes->keys : 100;
	snprintf(line, sizeof line,
	         "redlock: %u %% of %llu keys looked at, with %llu %% of the servers' time (--share)",
	         (unsigned)percent, (unsigned long long)nodes->keys, (unsigned long long)settings->share);
	live_show(line);
}

/* Side keys of the name tell of its slots as well. */
static bool share_sides(struct ls_names *names)
{
	bool ok = true;
	for (size_t i = 0; i < names->count && ok; i++) {
		struct ls_name *slot = names->list[i];
		if (slot->slot == 0)
			continue;
		struct ls_name *name = ls_names_add(names, slot->text, strlen(slot->text), 0);
		ok = name != NULL;
		slot->sides |= ok ? name->sides : 0;
	}
	return ok;
}

/* A name whose slot 0 is free is no remainder while another slot of it is held. Rows are in the order of
 * names, slots of a name after it. */
static void drop_beside_slots(struct ls_rows *rows)
{
	size_t kept = 0;
	for (size_t i = 0; i < rows->count; i++) {
		bool is_beside = ls_row_is_remainder(&rows->list[i]) && i + 1 < rows->count &&
		                 strcmp(rows->list[i].name, rows->list[i + 1].name) == 0;
		if (is_beside)
			ls_row_clear(&rows->list[i]);
		else
			rows->list[kept++] = rows->list[i];
	}
	rows->count = kept;
}

bool ls_read(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_rows *rows)
{
	struct ls_names names = {0};
	bool ok = ls_nodes_begin(nodes) && ls_scan(nodes, scope, &names, show_progress);
	if (ok && !share_sides(&names)) {
		nodes->error = REDLOCK_E_NOMEM;
		ok = false;
	}
	ok = ok && ls_look_at_names(nodes, &names, strlen(scope->prefix), rows);
	live_erase();
	ls_names_free(&names);
	ls_nodes_conclude(nodes);
	ls_sort(rows, 0);
	drop_beside_slots(rows);
	return ok;
}

bool ls_is_wanted(const struct ls_row *row, const struct settings *settings)
{
	if (settings->orphans)
		return ls_row_is_remainder(row);
	return settings->odd ? row->odd != 0 : row->odd != 0 || !ls_row_is_remainder(row);
}

/* ---- showing ---- */

static void show(struct ls_rows *rows, const struct settings *settings)
{
	size_t width, lines, kept = 0;
	for (size_t i = 0; i < rows->count; i++) {
		if (ls_is_wanted(&rows->list[i], settings))
			rows->list[kept++] = rows->list[i];
		else
			ls_row_clear(&rows->list[i]);
	}
	rows->count = kept;
	ls_sort(rows, settings->sort);
	ls_screen(&width, &lines);
	if (!settings->json)
		ls_table(rows, width, SIZE_MAX, "\n");
	for (size_t i = 0; i < rows->count && settings->json; i++)
		ls_json(&rows->list[i], NULL);
}

/* Nodes that were not read, where the others are enough. */
static void say_missing(const struct report *report, const struct settings *settings)
{
	for (unsigned i = 0; i < report->nodes; i++)
		if (!report_is_definite(&report->node[i]))
			say(settings, "node %u %s was not read: %s", i + 1, report->node[i].status.address,
			    report->node[i].detail);
}

static int list_once(struct ls_nodes *nodes, const struct ls_scope *scope)
{
	const struct settings *settings = nodes->session->settings;
	struct ls_rows rows = {0};
	bool ok = ls_read(nodes, scope, &rows);
	if (ok)
		show(&rows, settings);
	ls_rows_free(&rows);
	if (signals_caught())
		return EXIT_SIGNAL + signals_caught();
	if (!ok) {
		complain("ls: %s", redlock_strerror(nodes->error));
		return EXIT_INTERNAL;
	}
	if (nodes->report.result != 0)
		report_failure(&nodes->report, settings);
	else
		say_missing(&nodes->report, settings);
	return nodes->report.outcome.code;
}

static int run(const struct settings *given, int argc, char **argv)
{
	struct settings settings = *given;
	struct session session;
	struct ls_nodes nodes;
	settings.interruptible = true;
	const struct ls_scope scope = {.prefix = settings.prefix != NULL ? settings.prefix : "",
	                               .pattern = argc > 0 ? argv[0] : NULL};
	int code = session_open(&session, &settings);
	int error = code == EXIT_OK ? ls_nodes_open(&nodes, &session) : 0;
	if (error < 0) {
		complain("ls: %s", redlock_strerror(error));
		code = EXIT_INTERNAL;
	} else if (code == EXIT_OK) {
		code = settings.follow ? ls_follow(&nodes, &scope) : list_once(&nodes, &scope);
		ls_nodes_close(&nodes);
	}
	session_close(&session);
	return code;
}

const struct command cmd_ls = {
    .name = "ls",
    .arguments = "[PATTERN]",
    .summary = "list all locks, and what is odd about them",
    .details =
        "PATTERN is a glob of names: * ? [a-z]. With --prefix every key under it counts as a lock. Without "
        "one, keys count whose value has the form of a token of this library (40 hex digits, with a label or "
        "an expiry), and names with side keys: locks of other programs, and values of your own (--token), "
        "need --prefix.\n"
        "Servers keep no time at which a lock was acquired: HELD is known for --compat setnx; with --follow "
        "it says for how long the holder was seen, at least. ODD: no-expiry, split, below-quorum, "
        "foreign-type, orphan, in-doubt; see redlock(1). Nothing is changed. Needs +scan besides the rights "
        "of `redlock help acl`.\n"
        "Exit code 0: a quorum was read.\n",
    .groups = groups,
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
