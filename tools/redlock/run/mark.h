/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the marker of the job (marker.h): --once-per reads it before the wait and again under
 * the lock, and both --once-per and --remember write it before the command starts and after its end, while
 * the lock is held. Each call waits for the nodes, for a time that the validity has room for.
 */
#ifndef REDLOCK_TOOL_RUN_MARK_H
#define REDLOCK_TOOL_RUN_MARK_H

#include "../marker.h"
#include "../outcome.h"

struct run;

struct mark {
	struct marker_nodes nodes;
	struct marker_reading before; /* the run before this one, as it was read under the lock */
	struct marker own;            /* its number is 0: not written */
	uint64_t began_ns;
};

enum mark_verdict {
	MARK_GO,
	MARK_SKIP, /* the job ran within the period */
	MARK_FAIL  /* too few nodes told or took the marker */
};

/* Before the wait: sets `skipped` for a job that ran within the period, which needs no lock. False, with
 * errno: out of memory. */
bool mark_look(struct run *run);

/* The lock is granted, the command has not started. */
enum mark_verdict mark_begin(struct run *run);

/* After MARK_FAIL: what follows from the nodes' answers, as without a quorum for the lock. */
struct outcome mark_trouble(const struct run *run);

/* All processes of the command have ended, or it was never started. */
void mark_end(struct run *run);

void mark_close(struct run *run);

#endif
