/* SPDX-License-Identifier: MIT */
/* The two tables. One row a line: it is read as a table, and laid out by hand. */
#include "rules.h"

/* clang-format off */
#define DO(action) RUN_DO_##action
#define RULE(state, event, actions, next, code) {RUN_##state, RUN_ON_##event, actions, RUN_##next, RUN_CODE_##code}

const struct run_rule run_rules[] = {
	RULE(WAITING,    GRANTED,       DO(START),     HELD,       KEEP),
	RULE(WAITING,    SKIPPED,       DO(RELEASE),   RELEASING,  SKIPPED),
	RULE(WAITING,    UNMARKED,      DO(WARN) | DO(RELEASE), RELEASING, OF_MARK),
	RULE(WAITING,    REFUSED,       DO(EXIT),      ENDED,      OF_REFUSAL),
	RULE(WAITING,    END_SIGNAL,    DO(CANCEL),    GIVING_UP,  OF_SIGNAL),
	RULE(WAITING,    TTY_END,       DO(CANCEL),    GIVING_UP,  OF_SIGNAL),
	RULE(WAITING,    STOP_SIGNAL,   DO(STOP_SELF), WAITING,    KEEP),
	RULE(WAITING,    TTY_STOP,      DO(STOP_SELF), WAITING,    KEEP),
	RULE(WAITING,    TOO_LATE,      DO(WARN) | DO(RELEASE), RELEASING, LOST),
	RULE(WAITING,    GUARD_GONE,    DO(WARN) | DO(CANCEL), GIVING_UP, INTERNAL),

	RULE(GIVING_UP,  GRANTED,       DO(RELEASE),   RELEASING,  KEEP),
	RULE(GIVING_UP,  TOO_LATE,      DO(RELEASE),   RELEASING,  KEEP),
	RULE(GIVING_UP,  REFUSED,       DO(EXIT),      ENDED,      KEEP),

	RULE(HELD,       END_SIGNAL,    DO(FORWARD),   HELD,       KEEP),
	RULE(HELD,       PASS_SIGNAL,   DO(FORWARD),   HELD,       KEEP),
	RULE(HELD,       STOP_SIGNAL,   DO(FORWARD),   HELD,       KEEP),
	RULE(HELD,       CHILD_STOPPED, DO(STOP_SELF), HELD,       KEEP),
	RULE(HELD,       CHILD_EXITED,  0,             CHILD_GONE, OF_COMMAND),
	RULE(HELD,       LATE,          DO(WARN),      HELD,       KEEP),
	RULE(HELD,       TOO_LATE,      DO(WARN),      LOST,       LOST),
	RULE(HELD,       NEAR_END,      DO(WARN),      DANGER,     LOST),
	RULE(HELD,       LOSS,          DO(WARN) | DO(DISOWN), LOST, LOST),
	RULE(HELD,       OVERDUE,       DO(WARN) | DO(TAKE_OVER), LOST, LOST),
	RULE(HELD,       GUARD_GONE,    DO(WARN) | DO(TAKE_OVER), STOPPING, INTERNAL),
	RULE(HELD,       MAX_HOLD,      DO(WARN) | DO(STOP_ALL), STOPPING, MAX_HOLD),

	RULE(CHILD_GONE, END_SIGNAL,    DO(FORWARD),   CHILD_GONE, KEEP),
	RULE(CHILD_GONE, PASS_SIGNAL,   DO(FORWARD),   CHILD_GONE, KEEP),
	RULE(CHILD_GONE, STOP_SIGNAL,   DO(FORWARD),   CHILD_GONE, KEEP),
	RULE(CHILD_GONE, TTY_END,       DO(FORWARD),   CHILD_GONE, KEEP),
	RULE(CHILD_GONE, TTY_STOP,      DO(STOP_SELF), CHILD_GONE, KEEP),
	RULE(CHILD_GONE, ALL_GONE,      DO(REST),      RESTING,    KEEP),
	RULE(CHILD_GONE, LATE,          DO(WARN),      CHILD_GONE, KEEP),
	RULE(CHILD_GONE, NEAR_END,      DO(WARN),      DANGER,     LOST),
	RULE(CHILD_GONE, LOSS,          DO(WARN) | DO(DISOWN), LOST, LOST),
	RULE(CHILD_GONE, OVERDUE,       DO(WARN) | DO(TAKE_OVER), LOST, LOST),
	RULE(CHILD_GONE, GUARD_GONE,    DO(WARN) | DO(TAKE_OVER), STOPPING, INTERNAL),
	RULE(CHILD_GONE, MAX_HOLD,      DO(WARN) | DO(STOP_ALL), STOPPING, MAX_HOLD),

	RULE(DANGER,     END_SIGNAL,    DO(FORWARD),   DANGER,     KEEP),
	RULE(DANGER,     PASS_SIGNAL,   DO(FORWARD),   DANGER,     KEEP),
	RULE(DANGER,     ALL_GONE,      DO(RELEASE),   RELEASING,  KEEP),
	RULE(DANGER,     TOO_LATE,      DO(WARN),      LOST,       KEEP),
	RULE(DANGER,     LOSS,          DO(WARN) | DO(DISOWN), LOST, KEEP),
	RULE(DANGER,     OVERDUE,       DO(TAKE_OVER), LOST,       KEEP),
	RULE(DANGER,     GUARD_GONE,    DO(TAKE_OVER), DANGER,     KEEP),

	RULE(STOPPING,   END_SIGNAL,    DO(FORWARD),   STOPPING,   KEEP),
	RULE(STOPPING,   PASS_SIGNAL,   DO(FORWARD),   STOPPING,   KEEP),
	RULE(STOPPING,   ALL_GONE,      DO(RELEASE),   RELEASING,  KEEP),
	RULE(STOPPING,   TOO_LATE,      DO(WARN),      LOST,       LOST),
	RULE(STOPPING,   NEAR_END,      DO(WARN),      DANGER,     LOST),
	RULE(STOPPING,   LOSS,          DO(WARN) | DO(DISOWN), LOST, LOST),
	RULE(STOPPING,   OVERDUE,       DO(TAKE_OVER), STOPPING,   KEEP),
	RULE(STOPPING,   GUARD_GONE,    DO(TAKE_OVER), STOPPING,   KEEP),

	RULE(LOST,       END_SIGNAL,    DO(FORWARD),   LOST,       KEEP),
	RULE(LOST,       PASS_SIGNAL,   DO(FORWARD),   LOST,       KEEP),
	RULE(LOST,       STOP_SIGNAL,   DO(FORWARD),   LOST,       KEEP),
	RULE(LOST,       CHILD_STOPPED, DO(STOP_SELF), LOST,       KEEP),
	RULE(LOST,       ALL_GONE,      DO(RELEASE),   RELEASING,  KEEP),
	RULE(LOST,       TOO_LATE,      DO(WARN),      LOST,       KEEP),
	RULE(LOST,       OVERDUE,       DO(TAKE_OVER), LOST,       KEEP),
	RULE(LOST,       GUARD_GONE,    DO(TAKE_OVER), LOST,       KEEP),
	RULE(LOST,       MAX_HOLD,      DO(STOP_ALL),  LOST,       KEEP),

	RULE(RESTING,    MIN_HOLD,      DO(RELEASE),   RELEASING,  KEEP),
	RULE(RESTING,    END_SIGNAL,    DO(RELEASE),   RELEASING,  KEEP),
	RULE(RESTING,    TTY_END,       DO(RELEASE),   RELEASING,  KEEP),
	RULE(RESTING,    STOP_SIGNAL,   DO(STOP_SELF), RESTING,    KEEP),
	RULE(RESTING,    TTY_STOP,      DO(STOP_SELF), RESTING,    KEEP),
	RULE(RESTING,    LOSS,          DO(WARN) | DO(EXIT), ENDED, KEEP),

	RULE(RELEASING,  RELEASED,      DO(EXIT),      ENDED,      KEEP),
	RULE(RELEASING,  RELEASE_GONE,  DO(WARN) | DO(EXIT), ENDED, LOST),
};
/* clang-format on */
#undef DO
#undef RULE

const size_t run_rule_count = sizeof run_rules / sizeof run_rules[0];

/* clang-format off */
#define DO(action) GUARD_DO_##action
#define RULE(state, event, actions, next) {GUARD_##state, GUARD_ON_##event, actions, GUARD_##next}

const struct guard_rule guard_rules[] = {
	RULE(READY,   LAUNCH,          DO(LAUNCH),  RUNNING),
	RULE(READY,   ORPHANED,        DO(EXIT),    DONE),
	RULE(READY,   LET_GO,          DO(EXIT),    DONE),

	RULE(RUNNING, SIGNAL,          DO(FORWARD), RUNNING),
	RULE(RUNNING, STOP,            DO(TERM),    TERMED),
	RULE(RUNNING, NEAR_END,        DO(TERM) | DO(TELL), TERMED),
	RULE(RUNNING, KILL_TIME,       DO(KILL) | DO(TELL), KILLING),
	RULE(RUNNING, ORPHANED,        DO(TERM),    TERMED),
	RULE(RUNNING, LET_GO,          DO(EXIT),    DONE),
	RULE(RUNNING, CHILD_STOPPED,   DO(TELL),    RUNNING),
	RULE(RUNNING, CHILD_CONTINUED, DO(WAKE),    RUNNING),
	RULE(RUNNING, CHILD_EXITED,    DO(TELL),    RUNNING),
	RULE(RUNNING, ALL_GONE,        DO(TELL) | DO(EXIT), DONE),

	RULE(TERMED,  SIGNAL,          DO(FORWARD), TERMED),
	RULE(TERMED,  STOP,            DO(TERM),    TERMED),
	RULE(TERMED,  KILL_TIME,       DO(KILL),    KILLING),
	RULE(TERMED,  LET_GO,          DO(EXIT),    DONE),
	RULE(TERMED,  CHILD_CONTINUED, DO(WAKE),    TERMED),
	RULE(TERMED,  CHILD_EXITED,    DO(TELL),    TERMED),
	RULE(TERMED,  ALL_GONE,        DO(TELL) | DO(EXIT), DONE),

	RULE(KILLING, KILL_TIME,       DO(KILL),    KILLING),
	RULE(KILLING, CHILD_CONTINUED, DO(WAKE),    KILLING),
	RULE(KILLING, CHILD_EXITED,    DO(TELL),    KILLING),
	RULE(KILLING, ALL_GONE,        DO(TELL) | DO(EXIT), DONE),
};
/* clang-format on */
#undef DO
#undef RULE

const size_t guard_rule_count = sizeof guard_rules / sizeof guard_rules[0];

const struct run_rule *run_step(enum run_state state, enum run_event event)
{
	for (size_t i = 0; i < run_rule_count; i++)
		if (run_rules[i].state == state && run_rules[i].event == event)
			return &run_rules[i];
	return NULL;
}

const struct guard_rule *guard_step(enum guard_state state, enum guard_event event)
{
	for (size_t i = 0; i < guard_rule_count; i++)
		if (guard_rules[i].state == state && guard_rules[i].event == event)
			return &guard_rules[i];
	return NULL;
}
