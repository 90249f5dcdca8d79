/* SPDX-License-Identifier: MIT */
/* `rflock 9`: the caller's side. A keeper in the background holds the lock for as long as any process has the
 * open file description. */
#ifndef REDLOCK_TOOL_RUN_KEEPER_H
#define REDLOCK_TOOL_RUN_KEEPER_H

#include "run.h"

/* The state of a lock on the description of a descriptor. */
enum keeper_finding {
	KEEPER_NONE,  /* no keeper has it */
	KEEPER_SAME,  /* a keeper has it, in the mode that is wanted */
	KEEPER_OTHER, /* a keeper has it in the other mode */
};

enum keeper_finding keeper_find(int fd, bool shared);

/* Unlocks the description, and waits until the keeper has released the distributed lock. */
void keeper_unlock(int fd);

/* Returns with the lock held, 0, or an exit code. It also returns in the process that has become the keeper,
 * when that has to exit. `order->hold` is completed by it. */
int keeper_start(const struct settings *settings, struct run_order *order, struct hold *hold);

#endif
