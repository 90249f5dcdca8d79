/* SPDX-License-Identifier: MIT */
/*
 * The rules of `redlock run`, pure: no clock, no process, no I/O. docs/run.md shows the same tables as text.
 * An event that a table does not have changes nothing.
 */
#ifndef REDLOCK_TOOL_RUN_RULES_H
#define REDLOCK_TOOL_RUN_RULES_H

#include <stddef.h>

#include "words.h"

struct run_rule {
	enum run_state state;
	enum run_event event;
	unsigned actions; /* of enum run_action */
	enum run_state next;
	enum run_code code; /* KEEP: the exit code stays what it was */
};

struct guard_rule {
	enum guard_state state;
	enum guard_event event;
	unsigned actions; /* of enum guard_action */
	enum guard_state next;
};

extern const struct run_rule run_rules[];
extern const size_t run_rule_count;
extern const struct guard_rule guard_rules[];
extern const size_t guard_rule_count;

/* The rule for an event in a state; NULL: nothing happens. */
const struct run_rule *run_step(enum run_state state, enum run_event event);
const struct guard_rule *guard_step(enum guard_state state, enum guard_event event);

#endif
