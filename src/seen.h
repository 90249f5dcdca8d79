/* SPDX-License-Identifier: MIT */
/*
 * The gate's last answer to a handle that waits: who has the lock, and how many want it. It comes with
 * refusals, without a request of its own. It exists while the handle waits and after its wait was in vain,
 * and is as long as the holder's value.
 */
#ifndef RL_SEEN_H
#define RL_SEEN_H

#include "core/lock.h"
#include "handle.h"

struct rl_seen {
	uint64_t told_ns;
	uint64_t wait_until_ns; /* of the acquire that was told */
	uint64_t since_ns;      /* the same value was there; 0: no key */
	uint64_t until_ns;      /* RL_TIME_NEVER: no expiry; 0: no key */
	uint32_t waiting;
	uint8_t node;
	uint16_t size;
	char holder[];
};

/* Takes the answer to an ENTER, before the core does. Out of memory, nothing is known. */
void rl_seen_learn(redlock_lock *lock, const struct rl_event *event, uint64_t now_ns);

/* The handle no longer waits. */
void rl_seen_forget(redlock_lock *lock);

#endif
