/* SPDX-License-Identifier: MIT */
/*
 * The guard: a child of redlock, the parent of the command, and the foster parent of all its descendants. It
 * stops them before the lock ends, also when redlock itself was killed or is stopped. It needs no network.
 */
#ifndef REDLOCK_TOOL_RUN_GUARD_H
#define REDLOCK_TOOL_RUN_GUARD_H

#include "launch.h"
#include "watch.h"

struct guard {
	pid_t pid; /* 0: it has ended and was waited for */
	int link;  /* the supervisor's end of the socket; readable without a message: the guard is gone */
	int proc;  /* family_open() */
	int spare; /* kept for family_signal(): connections may take all others */
	struct run_share *share;
};

#define GUARD_PROCESS "redlock-guard" /* its name, as /proc shows it */

enum { GUARD_BLIND = -1 }; /* /proc does not show it the processes that it may have to find */

/* Forks the guard. Returns 0, or -1 with errno. */
int guard_start(struct guard *guard, struct launch *launch, const struct watch *watch);

/* Waits until it is ready for LINK_LAUNCH; then `ret` is 0, an errno, or GUARD_BLIND. False: not yet, the
 * other descriptor may be readable. */
bool guard_await(const struct guard *guard, int other_fd, int *ret);

/* Signals all that is this process's now, as family_signal() does. */
bool guard_signal_heirs(struct guard *guard, int number);

/* Continues a guard that somebody has stopped. */
void guard_wake(const struct guard *guard);

/* Kills it: then its children are this process's, which must be a subreaper. */
void guard_kill(const struct guard *guard);

/* Ends the guard. Nothing of the command may be left. */
void guard_close(struct guard *guard);

#endif
