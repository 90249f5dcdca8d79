/* SPDX-License-Identifier: MIT */
/* Compares a list of nodes with the members of a guarded set. */
#include "guard_move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "message.h"

enum { MEMBER_MAX = 320 };

struct move {
	const struct guard_record *latest;
	char member[REDLOCK_MAX_NODES][MEMBER_MAX]; /* of the list */
	char old[MEMBER_MAX];                       /* a member that the list does not have */
	unsigned missing;                           /* how many such members there are */
	int joins;                                  /* a node of the list that is no member; -1: none */
	unsigned added;                             /* how many such nodes there are */
};

static bool is_sound(const struct guard_record *r)
{
	return guard_record_is_of_a_set(r) && guard_record_damage(r) == NULL;
}

static const struct guard_record *find_latest(const struct guard_record *records, unsigned nodes)
{
	const struct guard_record *latest = NULL;
	for (unsigned i = 0; i < nodes; i++)
		if (is_sound(&records[i]) && (latest == NULL || guard_record_number(&records[i], GUARD_STEP) >
		                                                    guard_record_number(latest, GUARD_STEP)))
			latest = &records[i];
	return latest;
}

/* Cuts off the next member of the list, whose members have blanks between them. False: the list has ended. */
static bool next_member(const char **rest, char ret[MEMBER_MAX])
{
	size_t length = strcspn(*rest, " ");
	snprintf(ret, MEMBER_MAX, "%.*s", (int)length, *rest);
	*rest += length + ((*rest)[length] == ' ');
	return length > 0;
}

static bool is_member(const char *members, const char *member)
{
	char one[MEMBER_MAX];
	while (next_member(&members, one))
		if (strcmp(one, member) == 0)
			return true;
	return false;
}

static bool is_listed(const struct move *move, unsigned nodes, const char *member)
{
	for (unsigned i = 0; i < nodes; i++)
		if (strcmp(move->member[i], member) == 0)
			return true;
	return false;
}

static void compare(struct move *move, unsigned nodes)
{
	const char *members = move->latest->field[GUARD_MEMBERS];
	char member[MEMBER_MAX];
	for (unsigned i = 0; i < nodes; i++)
		if (!is_member(members, move->member[i])) {
			move->joins = (int)i;
			move->added++;
		}
	while (next_member(&members, member))
		if (!is_listed(move, nodes, member)) {
			memcpy(move->old, member, sizeof move->old);
			move->missing++;
		}
}

/* Whether the set accepts this list beside its members, as a change is not finished. A node whose record was
 * written anew does not know the former list, so any record of the latest configuration may tell. */
static bool is_former(const struct move *move, const struct guard_record *records, unsigned nodes)
{
	const char *members[REDLOCK_MAX_NODES];
	bool found = false;
	for (unsigned i = 0; i < nodes; i++)
		members[i] = move->member[i];
	char *list = guard_record_join(members, nodes);
	for (unsigned i = 0; i < nodes && list != NULL && !found; i++)
		found = is_sound(&records[i]) && strcmp(list, records[i].field[GUARD_PREV_MEMBERS]) == 0 &&
		        strcmp(records[i].field[GUARD_CONFIG], move->latest->field[GUARD_CONFIG]) == 0;
	free(list);
	return found;
}

/* The URL of a member, with the scheme of another node where the member's own is not known. */
static void put_url(const char *member, const char *like, char *buffer, size_t size)
{
	const char *slash = strrchr(member, '/'), *scheme = strstr(like, "://");
	int length = slash != NULL ? (int)(slash - member) : (int)strlen(member);
	bool has_database = slash != NULL && strcmp(slash, "/0") != 0, is_unix = strncmp(member, "unix:", 5) == 0;
	bool is_sentinel = strncmp(member, "sentinel:", 9) == 0;
	const char *database = has_database ? slash + 1 : "";
	if (is_unix)
		snprintf(buffer, size, "unix://%.*s%s%s", length - 5, member + 5, has_database ? "?db=" : "",
		         database);
	else if (is_sentinel)
		snprintf(buffer, size, "redis+sentinel://%.*s%s%s", length - 9, member + 9, has_database ? "/" : "",
		         database);
	else
		snprintf(buffer, size, "%.*s://%.*s%s%s",
		         scheme != NULL && strncmp(like, "unix", 4) != 0 ? (int)(scheme - like) : 5,
		         strncmp(like, "unix", 4) != 0 ? like : "redis", length, member, has_database ? "/" : "",
		         database);
}

/* A server that was a replica is refused unless its quarantines are accepted as they are. */
static const char *accept(const struct guard_record *joins)
{
	return joins->replicas ? " --guard=auto" : "";
}

/* A node that has left the set, or was left out while it did not answer: a list with such a node is older
 * than the set. A promoted replica has the record of another member. */
static bool was_member(const struct move *move, const struct guard_record *r)
{
	bool same = strcmp(r->field[GUARD_SET], move->latest->field[GUARD_SET]) == 0;
	bool own = is_sound(r) && strcmp(r->field[GUARD_NODE], move->member[move->joins]) == 0;
	bool leaves = strcmp(move->latest->field[GUARD_LEAVING], move->member[move->joins]) == 0;
	return leaves || (same && (r->state == GUARD_REMOVED_ || own));
}

/* The URLs of the members: those of the list, where it has them. */
static void put_urls(const struct move *move, const char *const *urls, unsigned nodes, char *buffer,
                     size_t size)
{
	const char *members = move->latest->field[GUARD_MEMBERS], *comma = "";
	char member[MEMBER_MAX], url[MEMBER_MAX + 32];
	size_t used = (size_t)snprintf(buffer, size, "give this host these nodes: ");
	while (used < size && next_member(&members, member)) {
		put_url(member, urls[0], url, sizeof url);
		for (unsigned i = 0; i < nodes; i++)
			if (strcmp(move->member[i], member) == 0)
				snprintf(url, sizeof url, "%s", urls[i]);
		used += (size_t)snprintf(buffer + used, size - used, "%s%s", comma, url);
		comma = ",";
	}
}

/* The list is older than the set, unless it has a node that never was a member. */
static void put_advice(const struct move *move, const struct guard_record *records, const char *const *urls,
                       unsigned nodes, char *buffer, size_t size)
{
	const char *new = move->joins >= 0 ? urls[move->joins] : "";
	const struct guard_record *joins = move->joins >= 0 ? &records[move->joins] : NULL;
	bool is_new = joins != NULL && joins->state != GUARD_SILENT_ && !was_member(move, joins);
	char old[MEMBER_MAX + 32], list[GUARD_MOVE_MAX];
	put_url(move->old, *new ? new : urls[0], old, sizeof old);
	put_urls(move, urls, nodes, list, sizeof list);
	if (is_new && move->missing == 1 && move->added == 1)
		snprintf(buffer, size,
		         "; if %s was replaced by %s: redlock init%s --replace %s %s (with --dead, if the former is "
		         "gone for good); else %s",
		         old, new, accept(joins), old, new, list);
	else if (is_new && move->missing == 0 && move->added == 1)
		snprintf(buffer, size, "; to add %s: redlock init%s --add %s; else %s", new, accept(joins), new,
		         list);
	else if (move->missing == 1 && move->added == 0)
		snprintf(buffer, size,
		         "; %s; only if %s is to leave the set: redlock init --remove %s (with --dead, if it is gone "
		         "for good)",
		         list, old, old);
	else if (move->added <= 1 && move->missing <= 1)
		snprintf(buffer, size, "; %s", list);
	else
		snprintf(buffer, size,
		         "; %s; members change one at a time: `redlock init` with --replace, --add or --remove",
		         list);
}

bool guard_move_text(const struct guard_record *records, const char *const *urls, unsigned nodes,
                     char *buffer, size_t size)
{
	struct move move = {.latest = find_latest(records, nodes), .joins = -1};
	if (move.latest == NULL)
		return false;
	for (unsigned i = 0; i < nodes; i++)
		if (!guard_record_member(urls[i], move.member[i], sizeof move.member[i]))
			return false;
	compare(&move, nodes);
	if (move.missing + move.added == 0)
		return false;
	if (is_former(&move, records, nodes))
		return false;
	size_t used = (size_t)snprintf(buffer, size, "%s", move.latest->field[GUARD_MEMBERS]);
	if (used < size)
		put_advice(&move, records, urls, nodes, buffer + used, size - used);
	return true;
}

void guard_move_warn(const struct guard_record *records, const struct report *report,
                     const struct settings *settings)
{
	const char *urls[REDLOCK_MAX_NODES];
	char text[GUARD_MOVE_MAX];
	for (unsigned i = 0; i < report->nodes; i++)
		urls[i] = report->node[i].status.address;
	if (guard_move_text(records, urls, report->nodes, text, sizeof text))
		say(settings, MSG(OTHER_LIST), text);
}
