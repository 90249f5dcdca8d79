/* SPDX-License-Identifier: MIT */
/* The tokens that nodes have under a name, each with its slot, and other keys: `redlock break` may end them.
 */
#ifndef REDLOCK_TOOL_BREAK_TARGETS_H
#define REDLOCK_TOOL_BREAK_TARGETS_H

#include "status.h"

struct break_target {
	char token[REDLOCK_MAX_TOKEN + 1];
	unsigned slot; /* 0: of the name itself */
	bool shared;
	unsigned nodes; /* that have shown it */
};

struct break_targets {
	struct break_target *list;
	size_t count, room;
	/* Keys that no token ends: of a foreign type, too long, empty or with a NUL. */
	bool is_foreign;
	uint64_t answered;                   /* nodes that have told what they have */
	uint64_t foreign[REDLOCK_MAX_SLOTS]; /* of each slot the nodes that have one: a bit for each */
};

/* `holder` NULL: all tokens. False: out of memory. */
bool break_targets_find(struct break_targets *targets, struct status_picture *picture, const char *holder);

/* Several holders have a right of their own: one must be named. */
bool break_targets_need_choice(const struct break_targets *targets);

#endif
