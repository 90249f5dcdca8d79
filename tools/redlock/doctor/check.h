/* SPDX-License-Identifier: MIT */
/* A row of the table of checks (checks.c), and the functions of other files that rows call. */
#ifndef REDLOCK_TOOL_DOCTOR_CHECK_H
#define REDLOCK_TOOL_DOCTOR_CHECK_H

#include "doctor.h"

/* The result of a check of a node, or of the set, besides yes. */
struct found {
	char detail[768];
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
/* Always: how the list of nodes can be compared with that of other hosts. */
DOCTOR_LOOK_AT(doctor_names_list);

#endif
