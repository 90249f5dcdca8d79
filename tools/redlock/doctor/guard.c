/* SPDX-License-Identifier: MIT */
/* The records of a guarded node set. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

enum { ANSWER_MS = 1000 };

bool doctor_look_at_records(struct doctor *doctor)
{
	uint64_t asked = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		asked |= (uint64_t)doctor->node[i].answered << i;
	int error = guard_record_read(doctor->asker, doctor->record, doctor->nodes, asked, ANSWER_MS);
	for (unsigned i = 0; i < doctor->nodes; i++) {
		struct doctor_node *node = &doctor->node[i];
		node->sees[DOCTOR_GUARD] = doctor->record[i].state != GUARD_SILENT_;
		snprintf(node->why_not[DOCTOR_GUARD], sizeof node->why_not[DOCTOR_GUARD], "%.*s",
		         (int)strcspn(doctor->record[i].why, ",\r\n"), doctor->record[i].why);
	}
	const char *urls[REDLOCK_MAX_NODES];
	for (unsigned i = 0; i < doctor->nodes; i++)
		urls[i] = doctor->report.node[i].status.address;
	if (!guard_move_text(doctor->record, urls, doctor->nodes, doctor->move, sizeof doctor->move))
		doctor->move[0] = '\0';
	guard_view_look(&doctor->guard, doctor->session, doctor->record, doctor->nodes, doctor->report.quorum);
	return error >= 0;
}

static bool is_later(const struct guard_record *r, const struct guard_record *than)
{
	bool sound = guard_record_damage(r) == NULL, other = guard_record_damage(than) == NULL;
	return sound != other ? sound
	                      : guard_record_number(r, GUARD_STEP) > guard_record_number(than, GUARD_STEP);
}

const struct guard_record *doctor_guard_latest(const struct doctor *doctor)
{
	const struct guard_record *latest = NULL;
	for (unsigned i = 0; i < doctor->nodes; i++) {
		const struct guard_record *r = &doctor->record[i];
		if (guard_record_is_of_a_set(r) && (latest == NULL || is_later(r, latest)))
			latest = r;
	}
	return latest;
}

char *doctor_guard_members(const struct doctor *doctor)
{
	char names[REDLOCK_MAX_NODES][320];
	const char *members[REDLOCK_MAX_NODES];
	for (unsigned i = 0; i < doctor->nodes; i++) {
		if (!guard_record_member(doctor->report.node[i].status.address, names[i], sizeof names[i]))
			names[i][0] = '\0';
		members[i] = names[i];
	}
	return guard_record_join(members, doctor->nodes);
}

static unsigned count_ttl(const struct doctor *doctor, const char *ttl)
{
	unsigned count = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		count += guard_record_is_of_a_set(&doctor->record[i]) &&
		         strcmp(doctor->record[i].field[GUARD_TTL], ttl) == 0;
	return count;
}

/* That of as many nodes or more is another one. */
static bool has_other_ttl(const struct doctor *doctor, unsigned node)
{
	const struct guard_record *r = &doctor->record[node];
	for (unsigned i = 0; i < doctor->nodes && guard_record_is_of_a_set(r); i++) {
		const struct guard_record *other = &doctor->record[i];
		const char *ttl = other->field[GUARD_TTL];
		if (guard_record_is_of_a_set(other) && strcmp(other->field[GUARD_SET], r->field[GUARD_SET]) == 0 &&
		    strcmp(ttl, r->field[GUARD_TTL]) != 0 &&
		    count_ttl(doctor, ttl) >= count_ttl(doctor, r->field[GUARD_TTL]))
			return true;
	}
	return false;
}

const char *doctor_guard_difference(const struct doctor *doctor, unsigned node)
{
	const struct guard_record *r = &doctor->record[node], *latest = doctor_guard_latest(doctor);
	const char *what = NULL;
	if (latest == NULL || !guard_record_is_of_a_set(r))
		return r->state == GUARD_NEWER_      ? "was written by a newer version"
		       : r->state == GUARD_FOUNDING_ ? "was begun by a `redlock init` that has not ended"
		       : r->state == GUARD_REMOVED_  ? "says that it was removed from the set"
		       : r->state == GUARD_PLAIN_ && latest != NULL ? "was taken back to plain, and others were not"
		                                                    : NULL;
	char *members = doctor_guard_members(doctor), name[320];
	bool named = guard_record_member(doctor->report.node[node].status.address, name, sizeof name);
	if (guard_record_damage(r) != NULL)
		what = "is damaged: `redlock init` mends it, or says why not";
	else if (strcmp(r->field[GUARD_SET], latest->field[GUARD_SET]) != 0)
		what = "is of another set than that of another node";
	else if (strcmp(r->field[GUARD_CONFIG], latest->field[GUARD_CONFIG]) != 0)
		what = "is of another configuration than that of another node: a change of members did not reach one";
	else if (members != NULL && strcmp(r->field[GUARD_MEMBERS], members) != 0 &&
	         strcmp(r->field[GUARD_PREV_MEMBERS], members) != 0)
		what = "has other members than are configured here";
	else if (r->state == GUARD_ADMITTED_ && named && strcmp(r->field[GUARD_NODE], name) != 0)
		what = "names another member than its address does: servers were exchanged";
	else if (has_other_ttl(doctor, node))
		what = "has another maximum TTL than that of another node, and clients may take either: set the "
		       "right one with HSET " GUARD_RECORD_KEY " ttl MILLISECONDS";
	free(members);
	return what;
}

bool doctor_guard_is_wanted(const struct doctor *doctor)
{
	return doctor->session->settings->guard == REDLOCK_GUARD_REQUIRE || doctor_guard_latest(doctor) != NULL ||
	       guard_view_is_remembered(&doctor->guard);
}

bool doctor_guard_is_changing(const struct doctor *doctor)
{
	const struct guard_record *latest = doctor_guard_latest(doctor);
	for (unsigned i = 0; i < doctor->nodes && latest != NULL; i++)
		if (strcmp(doctor->record[i].field[GUARD_DONE], latest->field[GUARD_CONFIG]) == 0)
			return false;
	return latest != NULL;
}

/* ---- fencing numbers ---- */

static bool is_uncounted(const struct guard_record *r)
{
	uint64_t number;
	return r->state == GUARD_ADMITTED_ && !guard_record_counter(r, &number);
}

unsigned doctor_guard_uncounted(const struct doctor *doctor)
{
	const struct guard_record *latest = doctor_guard_latest(doctor);
	uint64_t quorum = latest != NULL ? guard_record_number(latest, GUARD_QUORUM) : 0;
	unsigned count = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		count += is_uncounted(&doctor->record[i]);
	return count + quorum > doctor->nodes ? count : 0;
}

/* They are brought by the id of its quarantine, if that is still there. */
enum doctor_counters doctor_guard_counters(const struct doctor *doctor, unsigned node)
{
	const struct guard_record *r = &doctor->record[node];
	uint64_t number;
	if (guard_record_is_of_a_set(r) && guard_record_used_up(r, &number))
		return DOCTOR_USED_UP;
	if (!is_uncounted(r))
		return DOCTOR_COUNTED;
	return r->field[GUARD_QID][0] != '\0' && doctor_guard_uncounted(doctor) == 0 ? DOCTOR_BROUGHT
	                                                                             : DOCTOR_UNCOUNTED;
}
