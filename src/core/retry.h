/* SPDX-License-Identifier: MIT */
/* The delay before something is tried again: an attempt, or a renewal. */
#ifndef RL_CORE_RETRY_H
#define RL_CORE_RETRY_H

#include "core/lock.h"

/* The shortest delay; and for no less time a last try is begun. */
#define RL_RETRY_MIN_NS RL_NS_PER_MS

/* When to try again: after a random delay, at most half of the time that is left. */
uint64_t rl_retry_at(const struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns);

#endif
