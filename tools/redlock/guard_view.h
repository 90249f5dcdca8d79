/* SPDX-License-Identifier: MIT */
/* Whether the guard of a guarded set applies to this client: one line of doctor, status and config show. */
#ifndef REDLOCK_TOOL_GUARD_VIEW_H
#define REDLOCK_TOOL_GUARD_VIEW_H

#include "guard_record.h"
#include "session.h"

struct guard_view {
	uint64_t setting;          /* REDLOCK_GUARD_, of commands that take locks */
	bool remembered;           /* this list of nodes was a guarded set on this host */
	char set[GUARD_MEMORY_ID]; /* the id of the set, in a record or else in the memory; "": unknown */
	unsigned nodes, quorum;    /* nodes 0: no server was asked */
	unsigned records;          /* nodes that have a record of that set */
	unsigned without;          /* nodes that have none, or one that says that the set was taken back */
	bool applies;              /* the client has seen that its list of nodes is a guarded set */
	bool cluster;              /* a node is a Redis Cluster, which has no record */
	unsigned taken_back;       /* of these, the latter, of the set that is remembered if one is */
};

/* From the settings and the memory: asks no server. */
void guard_view_recall(struct guard_view *view, const struct settings *settings);

/* As guard_view_recall(), with the records that the nodes have. */
void guard_view_look(struct guard_view *view, const struct session *session,
                     const struct guard_record *records, unsigned nodes, unsigned quorum);

/* A node of a guarded set that has lost its record, or has another process, may have forgotten a lock: until
 * the end of its quarantine "no key" says nothing. Writes the mask of these nodes, and the time until the
 * last of them votes again. The mask is 0 where the guard does not apply. */
uint64_t guard_view_forgetful(const struct session *session, const struct guard_record *records,
                              uint64_t *ret_left_ms);

/* The guard is off, and the nodes have a record, or had one. */
bool guard_view_is_ignored(const struct guard_view *view);

/* The nodes had a record, this client keeps the guard, and nothing says that the set was taken back. */
bool guard_view_is_remembered(const struct guard_view *view);

/* "auto; no record: this set is plain". Returns `buffer`. */
const char *guard_view_text(const struct guard_view *view, char *buffer, size_t size);

/* The member "guard". */
void guard_view_json(const struct guard_view *view, struct json *json);

#endif
