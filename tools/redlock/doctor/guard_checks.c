/* SPDX-License-Identifier: MIT */
/* The checks of a guarded set's records: functions that rows of the table call. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

DOCTOR_LOOK_AT(doctor_has_guard_state)
{
	UNUSED;
	const struct guard_record *r = &doctor->record[index_of(doctor, node)];
	return r->state == (enum guard_state)check->argument && doctor_guard_latest(doctor) != NULL;
}

/* The node's own record tells, or the votes of this client, which begins the quarantine of a blank node. */
static bool is_in_quarantine(const struct doctor *doctor, unsigned index)
{
	return doctor->record[index].state == GUARD_QUARANTINE_ ||
	       doctor->report.node[index].vote.code == REDLOCK_VOTE_QUARANTINE;
}

DOCTOR_LOOK_AT(doctor_is_in_quarantine)
{
	UNUSED;
	unsigned index = index_of(doctor, node);
	uint64_t left_ms = doctor->record[index].left_ms;
	if (left_ms > 0)
		FIND("in %.1f s", (double)left_ms / 1000);
	else if (doctor->record[index].state == GUARD_BLANK_ && doctor_guard_latest(doctor) == NULL)
		FIND("after a node that has the record of the set answers, as it has none itself");
	else
		FIND("when the locks of that time have expired");
	return is_in_quarantine(doctor, index);
}

DOCTOR_LOOK_AT(doctor_has_no_record)
{
	UNUSED;
	char role[16] = "";
	unsigned index = index_of(doctor, node);
	(void)doctor_info(node, "role", role, sizeof role);
	if (strcmp(role, "slave") == 0) /* no record can be written there: its own finding says what to do */
		return false;
	if (doctor->record[index]
	        .replicas) /* `redlock init` refuses it, and so does a client that requires a guard */
		found->advice =
		    "detach its replicas, if it has any, and restart it, which begins its quarantine: `redlock "
		    "init` refuses it until then";
	return doctor->record[index].state == GUARD_BLANK_ && !is_in_quarantine(doctor, index) &&
	       doctor_guard_latest(doctor) != NULL;
}

DOCTOR_LOOK_AT(doctor_exceeds_ttl)
{
	UNUSED;
	const struct settings *settings = doctor->session->settings;
	const struct setting_source *source = settings_source(settings, offsetof(struct settings, ttl_ms));
	char ttl[32], most[32];
	for (unsigned i = 0; i < doctor->nodes && source != NULL; i++) {
		if (doctor->report.node[i].vote.code != REDLOCK_VOTE_LONG_TTL)
			continue;
		redlock_duration_text(settings->ttl_ms, ttl, sizeof ttl);
		redlock_duration_text(guard_record_number(&doctor->record[i], GUARD_TTL), most, sizeof most);
		FIND("the TTL is %s (%s), and the node set permits %s at most", ttl, source->where, most);
		return true;
	}
	return false;
}

DOCTOR_LOOK_AT(doctor_guards_otherwise)
{
	UNUSED;
	const char *what = doctor_guard_difference(doctor, index_of(doctor, node));
	FIND("%s", what != NULL ? what : "");
	return what != NULL;
}

DOCTOR_LOOK_AT(doctor_has_counters)
{
	UNUSED;
	return doctor_guard_counters(doctor, index_of(doctor, node)) == (enum doctor_counters)check->argument;
}

DOCTOR_LOOK_AT(doctor_counts_nothing)
{
	UNUSED;
	unsigned count = doctor_guard_uncounted(doctor);
	FIND("%u of %u", count, doctor->nodes);
	return count > 0;
}

static const char *why_guarded(const struct doctor *doctor)
{
	bool required = doctor->session->settings->guard == REDLOCK_GUARD_REQUIRE;
	return required ? "--guard=require is given" : "this list of nodes was a guarded set on this host";
}

static unsigned count_read(const struct doctor *doctor)
{
	unsigned count = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		count += doctor->record[i].state != GUARD_SILENT_;
	return count;
}

/* So few that the others may have records: a cluster never has one. */
static bool shows_too_few_records(const struct doctor *doctor)
{
	return count_read(doctor) < doctor->report.quorum && !doctor->guard.cluster;
}

DOCTOR_LOOK_AT(doctor_sees_no_records)
{
	UNUSED;
	FIND("%u of %u nodes, and %s", count_read(doctor), doctor->nodes, why_guarded(doctor));
	return shows_too_few_records(doctor) && doctor_guard_latest(doctor) == NULL &&
	       doctor_guard_is_wanted(doctor);
}

DOCTOR_LOOK_AT(doctor_has_no_guard)
{
	UNUSED;
	FIND("%s", why_guarded(doctor));
	if (doctor->session->remembered && doctor->session->guarded_ttl_ms == 0)
		found->advice =
		    "redlock init --max-ttl TIME, with the maximum that the set had: this host does not know it";
	else if (doctor->session->remembered)
		found->advice = "redlock init, which makes it anew with the maximum TTL that this host remembers";
	for (unsigned i = 0; i < doctor->nodes; i++)
		if (doctor_is_cluster(&doctor->node[i]))
			found->advice =
			    "a set with a Redis Cluster cannot be: use the cluster as one node of three or five";
	bool wanted = doctor_guard_is_wanted(doctor);
	return doctor_guard_latest(doctor) == NULL && wanted == (check->argument != 0) &&
	       !(wanted && shows_too_few_records(doctor));
}

DOCTOR_LOOK_AT(doctor_cannot_remember)
{
	UNUSED;
	char path[PATH_MAX];
	FIND("%s: %s", guard_memory_path(path), guard_memory_problem(doctor->session->memory_error));
	return doctor->session->memory_error != 0;
}

DOCTOR_LOOK_AT(doctor_is_changing)
{
	UNUSED;
	return doctor_guard_is_changing(doctor);
}

DOCTOR_LOOK_AT(doctor_ignores_guard)
{
	UNUSED;
	FIND("%s", doctor->guard.set);
	return guard_view_is_ignored(&doctor->guard);
}

DOCTOR_LOOK_AT(doctor_may_not_read_record)
{
	UNUSED;
	FIND("%s", node->why_not[DOCTOR_GUARD]);
	return node->answered && !node->sees[DOCTOR_GUARD] &&
	       doctor->record[index_of(doctor, node)].vote == REDLOCK_VOTE_NOPERM;
}

DOCTOR_LOOK_AT(doctor_has_other_members)
{
	UNUSED;
	FIND("%s", doctor->move);
	return doctor->move[0] != '\0';
}

/* Clients that differ in any of these may hold a lock at the same time. The members have their databases.
 * False: out of memory, or a node has an address that no member has. */
static bool fingerprint_of(const struct doctor *doctor, char ret[GUARD_MEMORY_ID])
{
	char *members = doctor_guard_members(doctor), *all = NULL;
	const char *prefix = doctor->session->settings->prefix;
	if (members == NULL ||
	    asprintf(&all, "%s\n%u\n%s", members, doctor->report.quorum, prefix != NULL ? prefix : "") < 0)
		all = NULL;
	if (all != NULL)
		guard_memory_fingerprint(all, ret);
	free(members);
	free(all);
	return all != NULL;
}

DOCTOR_LOOK_AT(doctor_names_list)
{
	UNUSED;
	char fingerprint[GUARD_MEMORY_ID];
	if (!fingerprint_of(doctor, fingerprint))
		snprintf(fingerprint, sizeof fingerprint, "unknown");
	FIND("%u node%s, this quorum and this prefix (fingerprint %s)", doctor->nodes,
	     doctor->nodes == 1 ? "" : "s", fingerprint);
	return true;
}
