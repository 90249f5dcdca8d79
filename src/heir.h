/* SPDX-License-Identifier: MIT */
/*
 * The heir of a lock: the offer that came with the holder's grant. It is kept while the lock is held, and
 * goes back to the nodes as it came.
 */
#ifndef RL_HEIR_H
#define RL_HEIR_H

#include "core/slice.h"
#include "handle.h"

struct rl_heir {
	uint64_t told_ns;
	size_t size;
	char offer[];
};

/* Out of memory: there is none. */
void rl_heir_keep(redlock_lock *lock, struct rl_slice offer, uint64_t now_ns);

void rl_heir_forget(redlock_lock *lock);

/* When it was told; 0: there is none. And what. */
static inline uint64_t rl_heir_told(const redlock_lock *lock)
{
	return lock->heir != NULL ? lock->heir->told_ns : 0;
}

static inline struct rl_slice rl_heir_offer(const redlock_lock *lock)
{
	return lock->heir != NULL ? (struct rl_slice){lock->heir->offer, lock->heir->size}
	                          : (struct rl_slice){"", 0};
}

#endif
