/* SPDX-License-Identifier: MIT */
/*
 * Facts that nodes report to a handle beside their votes: of the holder while it waits, of the heir while it
 * holds.
 *
 * First the gate's last answer to a handle that waits: who has the lock, and how many want it. It comes with
 * refusals, without a request of its own. It exists while the handle waits and after its wait was in vain,
 * and is as long as the holder's value. The refusals of a shared lock name an exclusive holder also where
 * nobody waits.
 */
#ifndef RL_SEEN_H
#define RL_SEEN_H

#include "core/lock.h"
#include "core/slice.h"
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

/* ---- the heir ---- */

/* The offer that came with the holder's grant. It is kept while the lock is held, and goes back to the nodes
 * as it came. */
struct rl_heir {
	uint64_t told_ns;
	size_t size;
	char offer[];
};

/* Out of memory: no heir is known. */
void rl_seen_keep_heir(redlock_lock *lock, struct rl_slice offer, uint64_t now_ns);

void rl_seen_forget_heir(redlock_lock *lock);

/* When the heir was told; 0: no heir is known. */
static inline uint64_t rl_seen_heir_told(const redlock_lock *lock)
{
	return lock->heir != NULL ? lock->heir->told_ns : 0;
}

static inline struct rl_slice rl_seen_heir_offer(const redlock_lock *lock)
{
	return lock->heir != NULL ? (struct rl_slice){lock->heir->offer, lock->heir->size}
	                          : (struct rl_slice){"", 0};
}

#endif
