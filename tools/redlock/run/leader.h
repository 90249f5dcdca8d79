/* SPDX-License-Identifier: MIT */
/*
 * The leader that a follower of `redlock elect` knows of: the client whose key a quorum of nodes has. The
 * answers to the follower's wait are those of one node, which may name a client that has ended, or one that
 * only tries. So the follower asks all nodes: when that node names another holder, and each third of the TTL.
 */
#ifndef REDLOCK_TOOL_RUN_LEADER_H
#define REDLOCK_TOOL_RUN_LEADER_H

#include "find_holder.h"
#include "news.h"

struct leader {
	redlock_lock *question; /* NULL: there was none yet */
	bool is_asked;          /* its answer is out */
	bool is_doubted;        /* the last answer named nobody */
	uint64_t due_ns;        /* when to ask again; 0: as soon as a wait is one */
	uint64_t least_ns;      /* not before, whatever a node says */
	struct redlock_finding told;
	char label[NEWS_LEADER_MAX]; /* "": not known */
};

/* When to ask; UINT64_MAX: an answer is out. */
uint64_t leader_due_ns(const struct leader *leader, const struct wait_view *view);

void leader_ask(struct leader *leader, struct session *session, const char *name,
                const struct wait_view *view);

/* Takes the answer. It names nobody for a moment while a lock is handed over: so the second such answer
 * decides. */
void leader_answered(struct leader *leader, const struct session *session, uint64_t ttl_ms);

#endif
