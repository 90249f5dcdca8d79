/* SPDX-License-Identifier: MIT */
/* Reads the locks named by --lock from all nodes, and works out the state of each lock. Only look.c calls
 * this. */
#ifndef REDLOCK_EXPORTER_LOOK_LOCK_H
#define REDLOCK_EXPORTER_LOOK_LOCK_H

#include "look.h"

struct look_locks {
	struct look_watched *list;
	unsigned count;
};

/* Returns false if a name cannot be used, with the reason in `why`, or if memory is short, with `why`
 * unchanged. */
bool look_locks_open(struct look_locks *locks, redlock_client *client, const char *prefix,
                     const char *const *names, unsigned count, char *why, size_t size);
void look_locks_close(struct look_locks *locks);

/* Asks all nodes at once, for `timeout_ms` at most. */
void look_locks_read(struct look_locks *locks, redlock_asker *asker, struct look *look, uint64_t timeout_ms);

#endif
