/* SPDX-License-Identifier: MIT */
/* The guard's decisions: the table of rules.h, and the two times at which it acts by itself. Pure. */
#ifndef REDLOCK_TOOL_RUN_WATCH_H
#define REDLOCK_TOOL_RUN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "rules.h"

/* The action on the command when the lock is about to end. */
enum on_loss {
	ON_LOSS_KILL, /* TERM, then KILL in time */
	ON_LOSS_TERM, /* TERM only */
	ON_LOSS_WARN  /* a message only */
};

struct watch {
	enum guard_state state;
	enum on_loss on_loss;
	uint64_t kill_after_ns;
	uint64_t margin_ns;
	uint64_t kill_ns; /* KILL at this time at the latest, once TERM was sent */
};

void watch_init(struct watch *watch, enum on_loss on_loss, uint64_t kill_after_ns, uint64_t margin_ns);

/* The command is not started from this time on: with ON_LOSS_WARN when the lock has ended, else when the
 * command would get TERM at once. */
uint64_t watch_start_by(const struct watch *watch, uint64_t deadline_ns);

/* When the guard has to act if nothing else happens, given the end of the validity. UINT64_MAX: never. */
uint64_t watch_due(const struct watch *watch, uint64_t deadline_ns);

/* True when it is time, and then which event it is. */
bool watch_is_due(const struct watch *watch, uint64_t now_ns, uint64_t deadline_ns, enum guard_event *ret);

/* Takes an event; returns the actions, of enum guard_action. */
unsigned watch_step(struct watch *watch, enum guard_event event, uint64_t now_ns);

/* The event that the end of the supervisor is. */
enum guard_event watch_orphaned(const struct watch *watch);

#endif
