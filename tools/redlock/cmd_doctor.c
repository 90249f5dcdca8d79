/* SPDX-License-Identifier: MIT */
/* redlock doctor: what is wrong with the nodes, and what to do. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor/doctor.h"
#include "marker.h"
#include "message.h"

static const struct option_group *const groups[] = {&accept_options, &node_options, &output_options, NULL};

static const char *const level_words[DOCTOR_LEVELS] = {
#define LEVEL_WORD(name, word) [DOCTOR_##name] = (word),
    DOCTOR_LEVEL_MAP(LEVEL_WORD)
#undef LEVEL_WORD
};

/* ---- all findings ---- */

struct entry {
	int node; /* -1: of the set */
	bool shown;
	struct doctor_finding finding;
};

struct findings {
	const struct settings *settings;
	struct entry *list;
	size_t count, room;
	int node; /* the node whose findings are added */
	bool failed;
	unsigned of[DOCTOR_LEVELS];
};

static void add_finding(void *user, const struct doctor_finding *finding)
{
	struct findings *all = user;
	if (all->count == all->room) {
		size_t room = all->room > 0 ? 2 * all->room : 64;
		struct entry *list = realloc(all->list, room * sizeof *list);
		if (list == NULL) {
			all->failed = true;
			return;
		}
		all->list = list;
		all->room = room;
	}
	struct entry *e = &all->list[all->count++];
	*e = (struct entry){all->node, false, *finding};
	if (finding->level == DOCTOR_WARNING && doctor_is_accepted(all->settings, finding->check))
		e->finding.level = DOCTOR_ACCEPTED;
	all->of[e->finding.level]++;
}

/* False: out of memory. */
static bool find_all(const struct doctor *doctor, struct findings *all)
{
	*all = (struct findings){.settings = doctor->session->settings, .node = -1};
	for (; all->node < (int)doctor->nodes && !all->failed; all->node++)
		doctor_check(doctor, all->node, add_finding, all);
	return !all->failed;
}

/* ---- for people: the worst first, and what several nodes have in common once ---- */

enum { NAMED = 3 }; /* of more nodes than that the addresses are not repeated */

static bool is_same(const struct entry *a, const struct entry *b)
{
	return (a->node < 0) == (b->node < 0) && a->finding.level == b->finding.level &&
	       strcmp(a->finding.text, b->finding.text) == 0 && strcmp(a->finding.advice, b->finding.advice) == 0;
}

/* Names the nodes that have this finding, and marks it as shown for each of them. */
static void put_owners(const struct doctor *doctor, struct findings *all, size_t first, char *buffer,
                       size_t size)
{
	unsigned nodes[REDLOCK_MAX_NODES], count = 0;
	size_t used = 0;
	const struct entry *one = &all->list[first];
	for (size_t i = first; i < all->count && one->node >= 0; i++) {
		struct entry *e = &all->list[i];
		if (!is_same(e, one) || (count > 0 && (unsigned)e->node == nodes[count - 1]))
			continue;
		e->shown = true;
		nodes[count++] = (unsigned)e->node;
	}
	if (one->node < 0)
		snprintf(buffer, size, "the set");
	else if (count > 1 && count == doctor->nodes)
		snprintf(buffer, size, "all nodes");
	for (unsigned i = 0; i < count && (count == 1 || count < doctor->nodes) && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%s%u%s%s", i > 0 ? ", " : "",
		                         count <= NAMED ? "node "
		                         : i == 0       ? "nodes "
		                                        : "",
		                         nodes[i] + 1, count <= NAMED ? " " : "",
		                         count <= NAMED ? doctor->report.node[nodes[i]].status.address : "");
}

static void print_level(const struct doctor *doctor, struct findings *all, enum doctor_level level)
{
	char owners[1024];
	for (size_t i = 0; i < all->count; i++) {
		struct entry *e = &all->list[i];
		const struct doctor_finding *f = &e->finding;
		if (e->shown || f->level != level)
			continue;
		e->shown = true;
		put_owners(doctor, all, i, owners, sizeof owners);
		put_line("  %s: %s: %s%s%s [%s]", owners, level_words[level], f->text, f->advice[0] ? "; " : "",
		         f->advice, f->check);
	}
}

static bool has_shown(const struct findings *all, unsigned node)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].node == (int)node && all->list[i].shown)
			return true;
	return false;
}

static const char *plural(unsigned count)
{
	return count == 1 ? "" : "s";
}

/* ", started 12 s ago": a restart is the usual reason for a lock that is gone. "": not seen. */
static const char *start_text(const struct doctor_node *node, char *buffer, size_t size)
{
	int64_t uptime_s = doctor_uptime_s(node);
	char age[32];
	buffer[0] = '\0';
	if (uptime_s >= 0)
		snprintf(buffer, size, ", started %s ago",
		         marker_time_text((uint64_t)uptime_s * 1000, age, sizeof age));
	return buffer;
}

static void print_text(const struct doctor *doctor, struct findings *all)
{
	bool notes = doctor->session->settings->verbose;
	const unsigned *of = all->of;
	char accepted[32] = "";
	if (of[DOCTOR_ACCEPTED] > 0)
		snprintf(accepted, sizeof accepted, " (and %u accepted)", of[DOCTOR_ACCEPTED]);
	put_line("%u node%s, %u needed: %u error%s, %u warning%s%s, %u note%s%s", doctor->nodes,
	         plural(doctor->nodes), doctor->report.quorum, of[DOCTOR_ERROR], plural(of[DOCTOR_ERROR]),
	         of[DOCTOR_WARNING], plural(of[DOCTOR_WARNING]), accepted, of[DOCTOR_NOTE],
	         plural(of[DOCTOR_NOTE]), of[DOCTOR_NOTE] > 0 && !notes ? " (-v shows them)" : "");
	char guard[256];
	put_line("guard: %s", guard_view_text(&doctor->guard, guard, sizeof guard));
	for (unsigned level = DOCTOR_LEVELS; level-- > (notes ? 0 : DOCTOR_NOTE + 1);)
		print_level(doctor, all, (enum doctor_level)level);
	for (unsigned i = 0; i < doctor->nodes; i++) {
		const struct doctor_node *n = &doctor->node[i];
		char version[80], age[48];
		if (!has_shown(all, i))
			put_line("  node %u %s: fine, %.0f us, %s%s", i + 1, doctor->report.node[i].status.address,
			         (double)n->clock.rtt_ns / 1000, doctor_version(n, version, sizeof version),
			         start_text(n, age, sizeof age));
	}
}

/* ---- for programs ---- */

static void json_findings(const struct findings *all, int node, struct json *json)
{
	json_open(json, "findings", '[');
	for (size_t i = 0; i < all->count; i++) {
		const struct doctor_finding *f = &all->list[i].finding;
		if (all->list[i].node != node)
			continue;
		json_open(json, NULL, '{');
		json_text(json, "check", f->check);
		json_text(json, "level", level_words[f->level]);
		json_text(json, "text", f->text);
		json_text(json, "advice", f->advice);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_node(const struct doctor *doctor, const struct findings *all, unsigned node,
                      struct json *json)
{
	const struct doctor_node *n = &doctor->node[node];
	bool time = n->sees[DOCTOR_TIME];
	int64_t middle_ns = n->clock.last.low_ns / 2 + n->clock.last.high_ns / 2 - doctor->wall_ns;
	char version[80];
	json_open(json, NULL, '{');
	report_json_node(&doctor->report, node, json);
	json_text(json, "version", doctor_version(n, version, sizeof version));
	json_number_or_null(json, "uptime_s", doctor_uptime_s(n) >= 0, doctor_uptime_s(n));
	json_number_or_null(json, "clock_offset_us", time, middle_ns / 1000);
	json_number_or_null(json, "clock_error_us", time,
	                    (n->clock.last.high_ns - n->clock.last.low_ns) / 2000 + 1);
	json_number_or_null(json, "keys_seen", n->sees[DOCTOR_SCAN], (int64_t)n->keys.seen);
	json_findings(all, (int)node, json);
	json_close(json, '}');
}

static void print_json(const struct doctor *doctor, struct findings *all)
{
	static const char *const words[DOCTOR_LEVELS] = {"notes", "unseen", "accepted", "warnings", "errors"};
	struct json json;
	json_init(&json, stdout);
	report_json_begin(&doctor->report, &json);
	for (unsigned level = DOCTOR_LEVELS; level-- > 0;)
		json_number(&json, words[level], all->of[level]);
	json_number(&json, "quorum", doctor->report.quorum);
	guard_view_json(&doctor->guard, &json);
	json_findings(all, -1, &json);
	json_open(&json, "nodes", '[');
	for (unsigned i = 0; i < doctor->nodes; i++)
		json_node(doctor, all, i, &json);
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

/* ---- the command ---- */

static int examine(struct doctor *doctor, struct session *session)
{
	struct findings all;
	int code = doctor_gather(doctor, session);
	if (code != EXIT_OK)
		return code;
	if (!find_all(doctor, &all)) {
		complain(MSG(NO_MEMORY));
		code = EXIT_INTERNAL;
	} else {
		(session->settings->json ? print_json : print_text)(doctor, &all);
		code = all.of[DOCTOR_ERROR] > 0 ? EXIT_ERRORS : all.of[DOCTOR_WARNING] > 0 ? EXIT_NO : EXIT_OK;
	}
	free(all.list);
	return code;
}

static int run(const struct settings *given, int argc, char **argv)
{
	(void)argc, (void)argv;
	struct settings settings = *given;
	struct session session;
	int code = doctor_check_accept(given);
	if (code != EXIT_OK)
		return code;
	settings.interruptible = true;
	settings.wait_ms = 0; /* one attempt: records that nodes do not tell by then are not waited for */
	struct doctor *doctor = calloc(1, sizeof *doctor);
	code = doctor != NULL ? session_open(&session, &settings) : EXIT_INTERNAL;
	if (doctor == NULL) {
		complain(MSG(NO_MEMORY));
		return code;
	}
	if (code == EXIT_OK)
		code = examine(doctor, &session);
	doctor_free(doctor);
	session_close(&session);
	free(doctor);
	return code;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "say what is wrong with the nodes, and what to do",
    .details =
        "Asks each node for its identity, its settings, its clock, the rights of the user, and which "
        "keys under --prefix have no expiry. No lock is changed; in a guarded set it may begin or end "
        "the quarantine of a node, as any client does. A check that a node "
        "does not permit is left out, and named. -v also shows notes: these are no faults, or none "
        "here.\n"
        "Exit code 0: nothing is wrong; 1: warnings that --accept, or `accept` in the configuration, does "
        "not name; 2: errors, with which locks are not safe or "
        "cannot be acquired.\n",
    .groups = groups,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
