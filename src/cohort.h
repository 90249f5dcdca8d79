/* SPDX-License-Identifier: MIT */
/*
 * The handles of one client that want one name pass it on among themselves (core/hold.h). "Lock cohorting",
 * Dice, Marathe, Shavit, 2012.
 */
#ifndef RL_COHORT_H
#define RL_COHORT_H

#include "handle.h"
#include "places.h"
#include "registry.h"

/* The handle that gets the lock when this one releases it. NULL: the servers have it back. */
redlock_lock *rl_cohort_next(const struct rl_places *places, const redlock_lock *lock, uint64_t now_ns);

/* Exchanges all that belongs to the claim of the one and to the attempt of the other: the core's state, votes
 * and token, and the slot, by which late answers and messages find them. The callers' settings and operations
 * stay. */
void rl_cohort_exchange(struct rl_registry *handles, redlock_lock *lock, redlock_lock *next);

#endif
