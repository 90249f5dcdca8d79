/* SPDX-License-Identifier: MIT */
/* The delay before something is tried again: an attempt, or a renewal. */
#ifndef RL_CORE_RETRY_H
#define RL_CORE_RETRY_H

#include "core/state.h"

/* The shortest delay. With less time left no last try is made. */
#define RL_RETRY_MIN_NS RL_NS_PER_MS

/* A pause that grows each time: 1 ms, 2 ms, 4 ms ..., up to an eighth of a node timeout. It begins anew when
 * look.pause_ns is 0. */
uint64_t rl_retry_pause(const struct rl_lock *lock);
void rl_retry_grow(struct rl_lock *lock);

/* When to try again: after a random delay, at most half of the time that is left. */
uint64_t rl_retry_at(const struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns);

#endif
