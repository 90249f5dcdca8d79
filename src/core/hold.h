/* SPDX-License-Identifier: MIT */
/* A lock that is held: its validity, what extends it, and its loss. */
#ifndef RL_CORE_HOLD_H
#define RL_CORE_HOLD_H

#include "core/state.h"

/* The lock is granted, or extended, until then. */
void rl_hold_until(struct rl_lock *lock, const struct rl_event *event, uint64_t valid_until_ns);

/* When notice is to be given that its validity ends soon; UINT64_MAX: it was, or none is wanted. */
static inline uint64_t rl_hold_danger_at(const struct rl_lock *lock)
{
	bool none = lock->warned || lock->rules->danger_ns == 0;
	return none ? RL_TIME_NEVER : rl_time_sub(lock->valid_until_ns, lock->rules->danger_ns);
}

/* The last renewal was shortened by a cap of its caller: no other one follows. */
bool rl_hold_is_capped(const struct rl_lock *lock);

/* Begins an extend. 0 or LIMIT. */
int rl_hold_extend(struct rl_lock *lock, uint64_t now_ns, uint64_t ttl_ns, struct rl_effects *effects);

/* Begins an extend that makes a shared lock exclusive, or an exclusive one shared. */
int rl_hold_turn(struct rl_lock *lock, uint64_t now_ns, enum rl_turn turn, struct rl_effects *effects);

/* A quorum has extended. */
void rl_hold_confirm(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Renews once soon after the grant, and then at the usual times. */
void rl_hold_renew_early(struct rl_lock *lock, uint64_t now_ns);

/* A vote of an extend has come, or its time is over. */
void rl_hold_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Nobody waits for a renewal; an operation that takes its place does what it would. */
bool rl_hold_renewal_is_due(const struct rl_lock *lock, uint64_t now_ns);
void rl_hold_renew(struct rl_lock *lock, uint64_t now_ns, struct rl_effects *effects);

/* The clock goes on: notices and renewals that are due. */
void rl_hold_tick(struct rl_lock *lock, uint64_t now_ns, struct rl_effects *effects);

/* More time has passed than the clock shows: what counts from a point in time ends so much sooner. */
void rl_hold_leap(struct rl_lock *lock, const struct rl_event *event);

/* The set is guarded, which was not known when the lock was granted: what is believed of it is no more than a
 * grant of now could promise, and is renewed at once. */
void rl_hold_guard(struct rl_lock *lock, const struct rl_event *event);

/* `reason`: an RL_COUNT_ bit. */
void rl_hold_lose(struct rl_lock *lock, uint32_t reason, struct rl_effects *effects);

#endif
