/* SPDX-License-Identifier: MIT */
/*
 * All descendants of the calling process, found in /proc. Process groups and sessions do not hold them
 * together: a daemon leaves both. A child whose parent has ended belongs to its nearest ancestor that is a
 * child subreaper (prctl(2)), so that none of them gets lost.
 */
#ifndef REDLOCK_TOOL_RUN_FAMILY_H
#define REDLOCK_TOOL_RUN_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "flocks.h"

/* Opens /proc, once: what is mounted over it or taken away later changes nothing. -1: there is none, or it is
 * that of another PID namespace, whose numbers mean others here. */
int family_open(void);

/* True when this /proc shows the calling process as a child of `parent`, and shows that one too: hidepid
 * hides others than oneself. */
bool family_shows(int proc, pid_t parent);

/* When the process began, in ticks since the boot: with its id, no other process has it. 0: it is not shown.
 */
uint64_t family_birth(int proc, pid_t pid);

/* Whether the process of that birth and name is above this one, as far as those above are shown. */
bool family_is_below(int proc, pid_t pid, uint64_t birth, const char *name);

/* Whether that one has the right to signal this one: as root with CAP_KILL, or with a user that both have. */
bool family_may_signal(int proc, pid_t pid);

/* Sends the signals, in this order, to each descendant of the calling process, parents first. It needs one
 * descriptor more, as family_shows() does; without one it finds nobody. `child`: one of
 * them that gets them also where /proc does not show it; 0: none. Processes may be born meanwhile: who wants
 * all of them repeats it. False: nobody was found, and yet there is a child that has not ended. */
bool family_signal(int proc, pid_t child, const int *signals, size_t count);

/* Sends them to each process that has a copy of the descriptor that has this lock of flock(2), and to
 * the descendants of those, but to nothing of this session. Without signals it only looks. It needs two
 * descriptors more. False: there is none. */
bool family_signal_holders(int proc, const struct flocks_lock *lock, const int *signals, size_t count);

/* The parent of a process; 0: it is not shown. */
pid_t family_parent(int proc, pid_t pid);

/* The name of a process, as /proc/PID/comm shows it: up to 15 bytes. False: it is not shown. */
bool family_name(pid_t pid, char *name, size_t size);

#endif
