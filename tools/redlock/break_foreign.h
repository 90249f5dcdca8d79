/* SPDX-License-Identifier: MIT */
/* Keys that no token ends: `redlock break` deletes them if they are still the ones that were shown. They are
 * keys of a foreign type under the name of a lock, and side keys of a lock that have no expiry. */
#ifndef REDLOCK_TOOL_BREAK_FOREIGN_H
#define REDLOCK_TOOL_BREAK_FOREIGN_H

#include <redlock/ask.h>

#include "break_targets.h"

struct break_foreign_key {
	unsigned node;
	bool is_side;
	char *key;
	char mark[96]; /* type, size, digest; "": the node did not tell it */
	bool is_deleted;
};

struct break_foreign {
	struct break_foreign_key *list; /* those of one key are together */
	size_t count;
	redlock_asker *asker;
	struct report report; /* which nodes answered */
};

/* Reads what there is, before it is shown. break_foreign_close() is due in any case. False: out of memory. */
bool break_foreign_read(struct break_foreign *foreign, const struct break_targets *targets,
                        struct session *session, const char *name);
/* A line for each side key: `redlock status` does not show them. */
void break_foreign_print(const struct break_foreign *foreign);
/* Deletes those that have not changed since, and tells it. Returns how many were deleted. */
unsigned break_foreign_delete(struct break_foreign *foreign, struct session *session);
void break_foreign_close(struct break_foreign *foreign);

#endif
