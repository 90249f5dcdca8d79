/* SPDX-License-Identifier: MIT */
/* The verbs that take NAME TOKEN differ by their operation and a few words. */
#ifndef REDLOCK_TOOL_TOKEN_VERB_H
#define REDLOCK_TOOL_TOKEN_VERB_H

#include <redlock/redlock.h>

#include "options.h"

struct token_verb {
	const char *name;
	enum redlock_operation operation;
	bool has_validity; /* the answer includes how long the lock is valid now */
	bool deletes;      /* every node should confirm, not only a quorum */
};

/* Runs it on argv[0], the name, and argv[1], the token. Returns the exit code. */
int token_verb_run(const struct token_verb *verb, const struct settings *settings, char **argv);

#endif
