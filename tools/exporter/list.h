/* SPDX-License-Identifier: MIT */
/*
 * All locks of the nodes, found by the engine of `redlock ls`. A thread of its own reads them again and
 * again, with LIST_SHARE percent of a server's time at most, however long that takes; answers show the last
 * list.
 */
#ifndef REDLOCK_EXPORTER_LIST_H
#define REDLOCK_EXPORTER_LIST_H

#include "../redlock/ls/ls.h"

enum { LIST_SHARE = 2, LIST_NAMES_MOST = 100000, LIST_SHOWN_MOST = 1000, LIST_EVERY_MS = 15000 };

/* X(NAME, word): kinds of rows that are locks. */
#define LIST_KIND_MAP(X)                                                                                     \
	X(LOCK, "lock")                                                                                          \
	X(SHARED, "shared")                                                                                      \
	X(SLOT, "slot")                                                                                          \
	X(SETNX, "setnx")                                                                                        \
	X(REDISSON, "redisson")                                                                                  \
	X(FOREIGN, "foreign")

enum list_kind {
#define LIST_KIND_ENUM(name, word) LIST_##name,
	LIST_KIND_MAP(LIST_KIND_ENUM)
#undef LIST_KIND_ENUM
	    LIST_KINDS
};
extern const char *const list_kind_words[LIST_KINDS];

/* A node whose keys are not in the list. */
struct list_missing {
	char address[256], why[256];
};

struct list_view {
	bool known;                                     /* a quorum of nodes was read the last time */
	struct list_missing missing[REDLOCK_MAX_NODES]; /* and these were not */
	unsigned missing_count;
	uint64_t at_s, at_ns; /* of the rows, unix time and CLOCK_BOOTTIME; 0: there are none yet */
	double took_s;
	bool complete;               /* false: there are more names than LIST_NAMES_MOST */
	struct ls_rows rows;         /* in the order of names */
	const struct ls_row **shown; /* LIST_SHOWN_MOST of them at most, the odd ones first */
	size_t shown_count;
	size_t locks, odd_locks, kind[LIST_KINDS], odd[LS_ODDS];
	uint64_t waiting;
};

struct list;

/* Starts the thread. The client must stay open; `prefix` is not copied. One list in a program. NULL: no
 * memory, no thread. */
struct list *list_start(redlock_client *client, const char *prefix, uint64_t every_ms);
void list_stop(struct list *list);

/* The view stays as it is until list_leave(): not longer than it takes to write it to memory. Many threads
 * may read at a time. `list` NULL: an empty view. */
const struct list_view *list_enter(struct list *list);
void list_leave(struct list *list);

#endif
