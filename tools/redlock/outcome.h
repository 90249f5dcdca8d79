/* SPDX-License-Identifier: MIT */
/* From results of the library and votes of the nodes to exit codes. */
#ifndef REDLOCK_TOOL_OUTCOME_H
#define REDLOCK_TOOL_OUTCOME_H

#include <stddef.h>

#include <redlock/redlock.h>

/* The exit code for a result, without a look at the votes. */
int outcome_of_error(int error);

/* The exit code when too few nodes gave a definite answer: what their operator has to mend first. */
int outcome_of_votes(const struct redlock_vote *votes, size_t count);

/* The next step for the user after this exit code, NULL when there is nothing to say. */
const char *outcome_hint(int exit_code);

#endif
