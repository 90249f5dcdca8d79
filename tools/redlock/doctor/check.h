/* SPDX-License-Identifier: MIT */
/* A row of the table of checks (checks.c), and the functions of other files that rows call. */
#ifndef REDLOCK_TOOL_DOCTOR_CHECK_H
#define REDLOCK_TOOL_DOCTOR_CHECK_H

#include "doctor.h"

/* The result of a check of a node, or of the set, besides yes. */
struct found {
	char detail[GUARD_MOVE_MAX];
	const char *advice; /* instead of the row's; NULL: that */
};

struct check {
	const char *name;
	enum doctor_source needs;
	enum doctor_level level, local_level; /* the latter of servers on this machine, where locks are tried */
	bool (*look)(const struct doctor *doctor, const struct doctor_node *node, const struct check *check,
	             struct found *found);
	int argument; /* for `look` */
	const char *text, *advice;
};

#define DOCTOR_LOOK_AT(name)                                                                                 \
	bool name(const struct doctor *doctor, const struct doctor_node *node, const struct check *check,        \
	          struct found *found)
#define LOOK(name) static DOCTOR_LOOK_AT(name)
#define UNUSED (void)doctor, (void)node, (void)check, (void)found
#define FIND(...) snprintf(found->detail, sizeof found->detail, __VA_ARGS__)

static inline unsigned index_of(const struct doctor *doctor, const struct doctor_node *node)
{
	return (unsigned)(node - doctor->node);
}

/* guard_checks.c: the records of a guarded set. */
DOCTOR_LOOK_AT(doctor_has_guard_state);
DOCTOR_LOOK_AT(doctor_has_no_record);
DOCTOR_LOOK_AT(doctor_is_in_quarantine);
/* The configured TTL is longer than a node's record permits. */
DOCTOR_LOOK_AT(doctor_exceeds_ttl);
DOCTOR_LOOK_AT(doctor_guards_otherwise);
DOCTOR_LOOK_AT(doctor_has_counters);
DOCTOR_LOOK_AT(doctor_counts_nothing);
DOCTOR_LOOK_AT(doctor_has_no_guard);
DOCTOR_LOOK_AT(doctor_is_changing);
/* The client is told to ignore the record that the nodes have. */
DOCTOR_LOOK_AT(doctor_ignores_guard);
/* The user may not read the record of this node. */
DOCTOR_LOOK_AT(doctor_may_not_read_record);
/* The nodes are of a set with other members than this list. */
DOCTOR_LOOK_AT(doctor_has_other_members);
/* Always: how the list of nodes can be compared with that of other hosts. */
DOCTOR_LOOK_AT(doctor_cannot_remember);
DOCTOR_LOOK_AT(doctor_has_endless);
DOCTOR_LOOK_AT(doctor_has_endless_anywhere);
DOCTOR_LOOK_AT(doctor_names_list);
DOCTOR_LOOK_AT(doctor_sees_no_records);
/* doctor_rivals.c: another client than the holder keeps a key of a lock. */
DOCTOR_LOOK_AT(doctor_has_rivals);

/* Writes the text with the detail instead of its %. */
void doctor_expand(const char *text, const char *detail, char *buffer, size_t size);

/* shards.c: a Redis Cluster, and slots of it that have no server. */
DOCTOR_LOOK_AT(doctor_is_whole_cluster);
DOCTOR_LOOK_AT(doctor_lacks_shards);
/* A check of INFO or CONFIG of a node whose masters are known is one of each of them: calls `visit` for what
 * they have in common once. False: it is a check of the node. */
bool doctor_check_shards(const struct doctor_node *node, const struct check *check,
                         void (*visit)(void *user, const struct doctor_finding *finding), void *user);

/* sentinels.c: Sentinels of the URL that do not name the master. */
DOCTOR_LOOK_AT(doctor_has_odd_sentinels);

/* clocks.c: clocks that differ by more than a lock allows for. */
DOCTOR_LOOK_AT(doctor_clock_is_off);
DOCTOR_LOOK_AT(doctor_own_clock_is_off);

/* facts.c: what a server is, by its INFO. */
/* Always: what survives of a vote of this node, and when. */
DOCTOR_LOOK_AT(doctor_is_worth);
/* ?replicas= of the URL wants more replicas than are connected. */
DOCTOR_LOOK_AT(doctor_has_too_few_replicas);
/* Several nodes are on one host. */
DOCTOR_LOOK_AT(doctor_shares_hosts);
/* The node is one server of a cluster, and the node's URL says nothing of that. */
DOCTOR_LOOK_AT(doctor_is_in_cluster);
/* A managed service, or a fork. */
DOCTOR_LOOK_AT(doctor_is_service);

/* endless.c: locks that nobody can acquire, for want of an expiry. */
DOCTOR_LOOK_AT(doctor_is_blocked);

#endif
