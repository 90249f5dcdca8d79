/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As the library makes a key beside the lock's own: "queue", "fence". See redlock(1), "Waiting". Of the name
 * the prefix is a part. */
void side_key(const char *name, const char *what, char *buffer, size_t size);

/* Makes that key from a prefix (NULL: none) and a name, in memory to be freed. NULL: there is no memory. */
char *side_key_new(const char *prefix, const char *name, const char *what);

/* How many wait, by the size of a queue in bytes. */
uint64_t side_key_waiters(uint64_t size);

/* That of a slot, in memory to be freed: of the first one it is the name. NULL: there is no memory. */
char *side_key_slot(const char *prefix, const char *name, unsigned slot);
