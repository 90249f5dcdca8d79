/* SPDX-License-Identifier: MIT */
/*
 * All descendants of a process, found in /proc. Process groups and sessions do not hold them together: a
 * daemon leaves both. A child whose parent has ended belongs to its nearest ancestor that is a child
 * subreaper (prctl(2)), so that none of them gets lost.
 */
#ifndef REDLOCK_TOOL_RUN_FAMILY_H
#define REDLOCK_TOOL_RUN_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

/* Sends the signals, in this order, to each descendant, parents first. Processes may be born meanwhile: who
 * wants all of them repeats it. Returns how many were found, -1 when /proc cannot be read. */
int family_signal(pid_t ancestor, const int *signals, size_t count);

#endif
