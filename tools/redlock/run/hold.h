/* SPDX-License-Identifier: MIT */
/*
 * The waiter of a keeper, which runs instead of a command: `rflock 9`. It locks the caller's open file
 * description with flock(2), tells the caller so, and ends when the last copy of the description is closed or
 * unlocked. Then the keeper, which is the supervisor of `redlock run`, releases the distributed lock.
 */
#ifndef REDLOCK_TOOL_RUN_HOLD_H
#define REDLOCK_TOOL_RUN_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "share.h"

#define WAITER_PROCESS "redlock-waiter" /* its name, as /proc shows it */

struct hold {
	int fd;          /* a copy of the caller's descriptor, */
	int again;       /* the same file in an open file description of its own, */
	int ready;       /* and a pipe: one byte says that the lock is held */
	bool shared;     /* LOCK_SH, else LOCK_EX */
	bool has_errors; /* messages may go to stderr for as long as the lock is held */
	uint64_t end_ns; /* of the wait for other users of the file on this host */
	int busy_code;   /* the exit code if they keep it for longer */
};

/* Closes the descriptors of the hold: no copy but the caller's may be left. */
void hold_close(const struct hold *hold);

/* In the guard's child: locks, tells, waits. `keeper` is the guard's parent, `guard` its process, `proc` is
 * /proc. Returns the exit code of the process: 0 after the end of the lock. */
int hold_file(const struct hold *hold, struct run_share *share, int proc, pid_t keeper, pid_t guard);

#endif
