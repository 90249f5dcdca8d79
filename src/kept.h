/* SPDX-License-Identifier: MIT */
/*
 * The locks that a client keeps after their release (core/keep.h): which handles have them, and whether the
 * client may keep one. It may while somebody drives the client and the gate is heard: then a waiter elsewhere
 * has the lock as soon as it asks. operate.c calls this; docs/decisions/sticky.md.
 */
#ifndef RL_KEPT_H
#define RL_KEPT_H

#include "core/slice.h"
#include "handle.h"
#include "loop.h"
#include "places.h"
#include "proto/heard.h"
#include "registry.h"

enum { RL_KEPT_NAMES = 256 };

struct rl_kept {
	redlock_lock *first; /* by `next_in_line` and `previous_in_line`: a handle that keeps does not wait */
	unsigned count;
	uint64_t away_until_ns;               /* the last of these, which are seconds, by a hash of the name: */
	uint32_t away_until_s[RL_KEPT_NAMES]; /* it is not kept before */
	bool asks_nobody; /* the last acquire or release was one of a kept lock, and has sent nothing */
};

/* The handle has begun to keep its lock, or keeps it no longer. */
void rl_kept_join(struct rl_kept *kept, redlock_lock *lock);
void rl_kept_quit(struct rl_kept *kept, redlock_lock *lock);

/* A handle that keeps what an acquire of `lock` wants. NULL: none does. */
redlock_lock *rl_kept_find(const struct rl_kept *kept, const redlock_lock *lock);

/* The handle that holds or keeps the lock that a waiter asks for. NULL: none does. */
redlock_lock *rl_kept_wanted(const struct rl_registry *handles, const struct rl_heard *heard);

/* Whether the client may keep what this handle releases, or keeps. */
bool rl_kept_may(const struct rl_kept *kept, const struct rl_loop *loop, const struct rl_places *places,
                 const redlock_lock *lock);

/* A waiter has asked for the lock: the client does not keep that name for a while. */
void rl_kept_back_off(struct rl_kept *kept, const redlock_lock *lock, uint64_t now_ns);

#endif
