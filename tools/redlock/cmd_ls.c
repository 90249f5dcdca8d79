/* SPDX-License-Identifier: MIT */
/* redlock ls [PATTERN]: all locks of the node set. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "cmd.h"
#include "guard_move.h"
#include "guard_view.h"
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

/* The program, and what it has said. */
struct listing {
	struct ls_program program; /* first: its functions find the rest by it */
	bool few_told;
};

/* ---- reading ---- */

static bool are_few(const struct ls_nodes *nodes)
{
	return (unsigned)__builtin_popcountll(nodes->asked) < nodes->report.quorum;
}

/* Fewer nodes than a quorum answer: says so before the search, which may take long. */
static void tell_few(const struct ls_nodes *nodes)
{
	struct listing *listing = (struct listing *)nodes->program;
	const struct settings *settings = nodes->program->session->settings;
	struct report report = nodes->report;
	if (settings->follow || listing->few_told || !are_few(nodes))
		return;
	for (unsigned i = 0; i < report.nodes; i++)
		if ((nodes->asked >> i & 1) != 0)
			report.node[i].vote.code = REDLOCK_VOTE_YES;
	report_conclude(&report, REDLOCK_E_NOQUORUM);
	report_failure(&report, settings);
	listing->few_told = true;
}

/* A listing that takes long says how far it is. */
static void show_progress(const struct ls_nodes *nodes, uint64_t keys)
{
	enum { AFTER_NS = 1000000000 };
	char line[160];
	const struct settings *settings = nodes->program->session->settings;
	tell_few(nodes);
	if (settings->follow || clock_ns() - nodes->pace.begin_ns < AFTER_NS || !live_works(settings))
		return;
	uint64_t percent = nodes->keys > keys ? keys * 100 / nodes->keys : 100;
	snprintf(line, sizeof line,
	         "redlock: %u %% of %llu keys looked at, with %llu %% of the servers' time (--share)",
	         (unsigned)percent, (unsigned long long)nodes->keys, (unsigned long long)settings->share);
	live_show(line);
}

/* Whether the guard applies shows when the client has seen the records itself: so it asks about a name. */
static uint64_t find_forgetful(struct ls_nodes *nodes, const struct guard_record *records,
                               uint64_t *ret_left_ms)
{
	struct session *session = nodes->program->session;
	redlock_lock *lock = NULL;
	bool any = session->remembered;
	for (unsigned i = 0; i < nodes->report.nodes; i++)
		any |= guard_record_is_of_a_set(&records[i]);
	if (!session->settings->follow)
		guard_move_warn(records, &nodes->report, session->settings);
	/* Too few nodes prove nothing, and the question would wait for the others once more. */
	if (!any || are_few(nodes) || session_lock(session, "redlock-ls", NULL, &lock) != EXIT_OK)
		return 0;
	(void)session_run(session, lock, REDLOCK_OP_QUERY);
	redlock_lock_free(lock);
	return guard_view_forgetful(session, records, ret_left_ms);
}

static void conclude(struct ls_nodes *nodes)
{
	struct report *report = &nodes->report;
	for (unsigned i = 0; i < report->nodes; i++)
		if ((nodes->scanned >> i & 1) != 0 && !report->node[i].detail[0])
			report->node[i].vote.code = REDLOCK_VOTE_YES;
	report_conclude(report, 0);
	if (report->answered < report->quorum)
		report_conclude(report, REDLOCK_E_NOQUORUM);
	for (unsigned i = 0; i < report->nodes && report->outcome.code == EXIT_REFUSED; i++)
		if (report->node[i].vote.code == REDLOCK_VOTE_NOPERM)
			report->outcome.hint =
			    "give the user the rights of `redlock help acl`, and +scan for `redlock ls`";
}

bool ls_read(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_rows *rows)
{
	bool ok = ls_gather(nodes, scope, rows);
	live_erase();
	conclude(nodes);
	return ok;
}

bool ls_is_wanted(const struct ls_row *row, const struct settings *settings)
{
	if (settings->orphans)
		return ls_row_is_remainder(row);
	return settings->odd ? row->odd != 0 : ls_row_is_of_interest(row);
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
			say(settings, MSG(LS_UNREAD), i + 1, report->node[i].status.address, report->node[i].detail);
}

static void say_barred(const struct ls_nodes *nodes, const struct settings *settings)
{
	if (nodes->barred > 0)
		say(settings, MSG(LS_BARRED), (unsigned long long)nodes->barred, nodes->barred == 1 ? "" : "s");
}

static void say_forgetful(const struct ls_nodes *nodes, const struct settings *settings)
{
	unsigned forgetful = (unsigned)__builtin_popcountll(nodes->forgetful);
	char when[48] = "";
	if (nodes->forgetful_ms > 0)
		snprintf(when, sizeof when, ", for another %.1f s", (double)nodes->forgetful_ms / 1000);
	if (ls_nodes_forgot(nodes))
		say(settings, MSG(LS_FORGETFUL), forgetful, nodes->report.nodes, when);
}

static int list_once(struct ls_nodes *nodes, const struct ls_scope *scope)
{
	const struct settings *settings = nodes->program->session->settings;
	struct ls_rows rows = {0};
	bool ok = ls_read(nodes, scope, &rows);
	/* Fewer nodes than a quorum are listed too, as more cannot be known; nodes that refuse tell nothing. */
	if (ok && (nodes->report.result == 0 || (are_few(nodes) && nodes->scanned != 0)))
		show(&rows, settings);
	ls_rows_free(&rows);
	if (signals_caught())
		return EXIT_SIGNAL + signals_caught();
	if (!ok) {
		complain(MSG(LS_FAILED), redlock_strerror(nodes->error));
		return EXIT_INTERNAL;
	}
	if (nodes->report.result != 0 && !((const struct listing *)nodes->program)->few_told) {
		report_failure(&nodes->report, settings);
	} else if (nodes->report.result == 0) {
		say_missing(&nodes->report, settings);
		say_barred(nodes, settings);
		say_forgetful(nodes, settings);
	}
	return nodes->report.outcome.code;
}

static int run(const struct settings *given, int argc, char **argv)
{
	struct settings settings = *given;
	struct session session;
	struct ls_nodes nodes;
	settings.interruptible = true;
	if (!settings.follow && settings_source(&settings, offsetof(struct settings, every_ms)) != NULL) {
		complain(MSG(LS_EVERY));
		return EXIT_USAGE;
	}
	const struct ls_scope scope = {.prefix = settings.prefix != NULL ? settings.prefix : "",
	                               .pattern = argc > 0 ? argv[0] : NULL};
	int code = session_open(&session, &settings);
	if (code == EXIT_OK && session_has_cluster(&session)) {
		complain(MSG(LS_CLUSTER));
		code = EXIT_CONFIG;
	}
	struct listing listing = {.program = {.share = (unsigned)settings.share,
	                                      .timeout_ms = session.node_timeout_ms,
	                                      .stopped = signals_caught,
	                                      .progress = show_progress,
	                                      .forgetful = find_forgetful,
	                                      .session = &session}};
	int error = code == EXIT_OK ? ls_nodes_open(&nodes, session.client, &listing.program) : 0;
	if (error < 0) {
		complain(MSG(LS_FAILED), redlock_strerror(error));
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
        "need --prefix, or their NAME as PATTERN.\n"
        "Servers keep no time at which a lock was acquired: HELD is known for --compat setnx; with --follow "
        "it says for how long the holder was seen, at least. ODD: no-expiry, split, below-quorum, "
        "foreign-type, rival, orphan, in-doubt; see redlock(1). Nothing is changed. Needs +scan besides the "
        "rights "
        "of `redlock help acl`.\n"
        "Exit code 0: a quorum was read.\n",
    .groups = groups,
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
