/* SPDX-License-Identifier: MIT */
/* redlock last NAME: the last run of a job, on whichever host it was. */
#include <stdio.h>

#include "cmd.h"
#include "json.h"
#include "marker.h"
#include "message.h"
#include "outcome.h"
#include "report.h"

static const struct option_spec last_specs[] = {
    {0, "within", "TIME", OPTION_DURATION, offsetof(struct settings, within_ms), 1, MARKER_KEEP_MAX_MS,
     "exit code 1 if the last run began longer ago"},
    {0, "succeeded", NULL, OPTION_FLAG, offsetof(struct settings, succeeded), 0, 0,
     "exit code 1 if the last run did not end with 0"},
};
static const struct option_group last_options = {"Last run", last_specs, 2};
static const struct option_group *const groups[] = {&last_options, &node_options, &output_options, NULL};

enum { CONNECT_MS = 1000 };

static const char no_run[] =
    "no run is known: only `redlock run` with --remember or --once-per leaves a marker of its run";

static bool is_as_wanted(const struct settings *settings, const struct marker_reading *r)
{
	return marker_is_run(&r->last) && (settings->within_ms == 0 || r->age_ms <= settings->within_ms) &&
	       (!settings->succeeded || r->last.exit_code == 0);
}

static void print_json(const struct session *session, const char *name, const struct marker_reading *r,
                       int code)
{
	const struct marker *m = &r->last;
	bool known = marker_is_run(m), ended = known && m->exit_code >= 0;
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "verb", "last");
	json_text(&json, "name", name);
	json_number(&json, "exit_code", code);
	json_bool(&json, "known", known);
	json_number_or_null(&json, "run", known, (int64_t)m->run);
	json_number_or_null(&json, "age_ms", known, (int64_t)r->age_ms);
	json_number_or_null(&json, "start_ms", known, (int64_t)m->start_ms);
	json_number_or_null(&json, "took_ms", ended, (int64_t)m->took_ms);
	json_number_or_null(&json, "command_exit_code", ended, m->exit_code);
	if (known) {
		json_text(&json, "host", m->host);
		json_text(&json, "owner", m->label);
	} else {
		json_null(&json, "host");
		json_null(&json, "owner");
	}
	json_number(&json, "answered", r->answered);
	json_number(&json, "quorum", redlock_quorum(session->client));
	json_close(&json, '}');
	json_end(&json);
}

static int tell(const struct session *session, const char *name, const struct marker_nodes *nodes,
                const struct marker_reading *r, bool is_quorum)
{
	char words[512];
	const struct settings *settings = session->settings;
	struct outcome trouble =
	    outcome_of(REDLOCK_E_NOQUORUM, nodes->votes, redlock_node_count(session->client));
	int code = !is_quorum ? trouble.code : is_as_wanted(settings, r) ? EXIT_OK : EXIT_NO;
	if (settings->json)
		print_json(session, name, r, code);
	else if (is_quorum && !settings->quiet)
		put_line("%s", marker_is_run(&r->last) ? marker_words(r, words, sizeof words) : no_run);
	if (!is_quorum)
		say(settings, MSG(LAST_UNKNOWN), nodes->key, r->answered, redlock_quorum(session->client),
		    nodes->why);
	if (!is_quorum)
		report_hints(settings, &trouble, nodes->votes, redlock_node_count(session->client));
	return code;
}

static int run(const struct settings *settings, int argc, char **argv)
{
	struct session session;
	struct marker_nodes nodes = {0};
	struct marker_reading reading;
	(void)argc;
	int code = session_open(&session, settings);
	if (code != EXIT_OK)
		return code;
	if (marker_open(&nodes, &session, argv[0], session.node_timeout_ms + CONNECT_MS)) {
		bool is_quorum = marker_read(&nodes, &reading);
		code = tell(&session, argv[0], &nodes, &reading, is_quorum);
	} else {
		complain(MSG(LIBRARY), redlock_strerror(REDLOCK_E_NOMEM));
		code = EXIT_INTERNAL;
	}
	marker_close(&nodes);
	session_close(&session);
	return code;
}

const struct command cmd_last = {
    .name = "last",
    .arguments = "NAME",
    .summary = "show when a job ran last, on any host",
    .details =
        "The last `redlock run` of NAME that had --once-per or --remember, from a marker on the nodes: when "
        "it began, on which host, and how it ended. Clocks of hosts do not matter.\n"
        "Exit code 0: there was such a run, with --within in that time, with --succeeded with exit code 0; "
        "1: there was none.\n",
    .groups = groups,
    .takes_name = true,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
