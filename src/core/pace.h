/* SPDX-License-Identifier: MIT */
/*
 * When a waiter asks by itself. Messages may be lost, and some waiters get none: so every waiter polls, and
 * backs off while nothing changes, the more the further back it is.
 */
#ifndef RL_CORE_PACE_H
#define RL_CORE_PACE_H

#include "core/state.h"

/* The shortest and the longest pause, and the shortest pause of a waiter without a place. */
#define RL_PACE_LEAST_NS (8 * RL_NS_PER_MS)
#define RL_PACE_MOST_NS (1000 * RL_NS_PER_MS)
#define RL_PACE_BLIND_NS (4 * RL_NS_PER_MS)

/* The longest pause, for each place, of a waiter that keeps its place by asking. */
#define RL_PACE_POLL_NS (50 * RL_NS_PER_MS)

/* When to try again after a refusal; `left_ns`: until the wait ends. */
uint64_t rl_pace_next(struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns);

/* A random time from half of `ns` to one and a half of it. */
/*@ requires ns <= UINT64_MAX / 2;
    assigns \nothing;
    ensures ns / 2 <= \result && (ns > 0 ==> \result < ns / 2 + ns); */
uint64_t rl_pace_about(uint64_t ns, uint64_t entropy);

/* The last tries ask all nodes: the result is to be what a quorum says. */
bool rl_pace_is_last(const struct rl_lock *lock, uint64_t now_ns);

#endif
