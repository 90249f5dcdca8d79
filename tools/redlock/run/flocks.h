/* SPDX-License-Identifier: MIT */
/*
 * Locks of flock(2), as /proc shows them. Such a lock belongs to an open file description, which all copies
 * of a descriptor share, also those in other processes. /proc/PID/fdinfo/N names the process that has taken
 * the lock, for each of these copies: so the copies are found.
 */
#ifndef REDLOCK_TOOL_RUN_FLOCKS_H
#define REDLOCK_TOOL_RUN_FLOCKS_H

#include <stdbool.h>
#include <sys/types.h>

/* The process that has locked the description of this process's descriptor `fd`; 0: no lock is shown. */
pid_t flocks_locker(int fd, bool *ret_shared);

/* Whether the process has a copy of a descriptor whose description `locker` has locked. `proc` is /proc; it
 * needs two descriptors more. */
bool flocks_has_copy(int proc, pid_t pid, pid_t locker);

#endif
