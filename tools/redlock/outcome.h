/* SPDX-License-Identifier: MIT */
/* From results of the library and votes of the nodes to exit codes and hints. */
#ifndef REDLOCK_TOOL_OUTCOME_H
#define REDLOCK_TOOL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#include <redlock/redlock.h>

/* The exit code for a result, without a look at the votes. */
int outcome_of_error(int error);

struct outcome {
	int code;
	const char *hint;   /* the next step for the user, NULL when there is nothing to say */
	const char *reason; /* an identifier: the vote that has to be mended first, else the result */
};

/* The outcome of a process that has no descriptors left for connections. */
extern const struct outcome outcome_descriptors;

/* The outcome of a server in protected mode, which turns away everybody from another machine, and what such a
 * server is. */
extern const struct outcome outcome_protected;
extern const char outcome_protected_text[];
bool outcome_is_protected(enum redlock_vote_code vote, const char *error);

/* The next step for a name that moves to a set that joins, where nodes are members of another list. */
extern const char outcome_joining[];

/* The next step after a result, where a message has no room for it too. Never NULL. */
const char *outcome_step(int error);

/* The exit code and message of a result. When too few nodes gave a definite answer, their votes say what has
 * to be mended first. */
struct outcome outcome_of(int result, const struct redlock_vote *votes, size_t count);

enum { OUTCOME_HINTS_MAX = 8 };

/* The next steps for the causes that have to be mended after the one of outcome_of(), where too few nodes
 * gave a definite answer. Returns how many. */
size_t outcome_other_hints(const struct redlock_vote *votes, size_t count, const char **ret_hints,
                           size_t room);

#endif
