/* SPDX-License-Identifier: MIT */
/* Finds the holder that a run waits for: from the answers to the wait, or else by one question to the nodes,
 * once it has to wait. */
#ifndef REDLOCK_TOOL_RUN_FIND_HOLDER_H
#define REDLOCK_TOOL_RUN_FIND_HOLDER_H

#include "../session.h"
#include "../standing.h"
#include "../wait_view.h"

struct waiting {
	struct wait_view view;
	uint64_t due_ns;        /* when to ask; 0: once it is a wait; UINT64_MAX: it was told, or is asked for */
	redlock_lock *question; /* the handle that asks; NULL: it is not made yet */
	const char *own;        /* it is whether a run above this one holds this name; NULL: who has it */
	uint64_t seen_ns;       /* when its answer came; 0: not yet */
	uint64_t split;         /* a hash of the keys of that answer, if they were split; 0: they were not */
};

/* Finds out who has the lock, and tells systemd: `first` and those of --also are wanted, `busy` is the one
 * that is held. The nodes are asked, as the wait itself knows the key of one node alone, unless that is told
 * to nobody (-q); the answer is an event of `question`. */
void waiting_find(struct waiting *waiting, struct session *session, const char *first, const char *busy);

/* Takes that answer. Returns false when the holder is the command under which this process runs: it would
 * wait for itself. */
bool waiting_answered(struct waiting *waiting, const struct session *session, const char *busy, int result);

/* Notes for how long the holder is known to have it. */
void waiting_date(const struct waiting *waiting, const struct session *session, struct standing *standing);

void waiting_end(struct waiting *waiting);

#endif
