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

/* A lock: the process that has taken it, and its kind and file in the words of /proc ("WRITE
 * fe:00:10952738"). */
struct flocks_lock {
	pid_t locker;
	char what[48];
};

/* The lock on the description of this process's descriptor `fd`. False: none is shown. */
bool flocks_read(int fd, struct flocks_lock *ret);

/* The process that has locked the description of this process's descriptor `fd`; 0: no lock is shown. */
pid_t flocks_locker(int fd, bool *ret_shared);

/* Whether the process has a copy of a descriptor whose description has this lock. `proc` is /proc; it needs
 * two descriptors more. In a PID namespace the kernel shows a locker that has ended as 0: then the kind of
 * the lock and the file decide. An exclusive lock of a file is one; of shared ones, another whose locker has
 * ended, too, is taken for this one. */
bool flocks_has_copy(int proc, pid_t pid, const struct flocks_lock *lock);

#endif
