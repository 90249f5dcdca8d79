/* SPDX-License-Identifier: MIT */
/*
 * Which lists of nodes this user has seen to be guarded sets, in files of the state directory:
 * $STATE_DIRECTORY (systemd), /var/lib/redlock of root, $XDG_STATE_HOME/redlock, or ~/.local/state/redlock.
 * So a command does not take a set for a plain one because a majority has lost its records. Where there is no
 * such directory, nothing is remembered, and nothing fails.
 */
#ifndef REDLOCK_TOOL_GUARD_MEMORY_H
#define REDLOCK_TOOL_GUARD_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUARD_MEMORY_ID = 17 }; /* bytes of the id of a set */

/* The list of these URLs as the functions below take it, and as records have it. The caller frees it. NULL:
 * out of memory, or not a list of URLs. */
char *guard_memory_members(const char *const *urls, size_t count);

/* A number that is the same on all hosts that have this list, in any order. */
void guard_memory_fingerprint(const char *members, char ret[GUARD_MEMORY_ID]);

/* The directory, and what an errno of guard_memory_keep() means there, for people. */
const char *guard_memory_path(char ret[PATH_MAX]);
const char *guard_memory_problem(int error);

/* Whether this list of nodes was a guarded set, the id of that set, "" if the file is damaged, and its
 * maximum TTL, 0 if that is not known. */
bool guard_memory_find(const char *members, char ret_id[GUARD_MEMORY_ID], uint64_t *ret_ttl_ms);

/* Remembers that. False: it cannot, with an errno. */
bool guard_memory_keep(const char *members, const char *id, uint64_t ttl_ms);

/* Forgets it: the set was taken back. */
void guard_memory_drop(const char *members);

#endif
