/* SPDX-License-Identifier: MIT */
/*
 * A lock that is held: its validity, what extends it, and its loss.
 *
 * A lock may be passed on, from a handle that releases it to another one of the same client that waits for
 * it. The servers are not asked: the claim, its token, its keys and what is left of its validity stay.
 * The shell exchanges the two handles' states (places.h), and both take the event PASS: the one that holds
 * has a new caller, who has acquired it; the one that waited has the caller who has released, and gives back
 * what it has asked for. So what is still out for the claim, a renewal or a late vote, stays with the claim.
 * Only for a short time after the nodes have granted the claim, and so many times: then the waiters of other
 * clients go first. docs/decisions/handing-over.md.
 */
#ifndef RL_CORE_HOLD_H
#define RL_CORE_HOLD_H

#include "core/state.h"

/* The lock is granted, or extended, until then. */
void rl_hold_until(struct rl_lock *lock, const struct rl_event *event, uint64_t valid_until_ns);

/* When the next renewal or notice of a held lock is due. */
uint64_t rl_hold_deadline(const struct rl_lock *lock);

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
void rl_hold_guard(struct rl_lock *lock, uint64_t now, uint64_t ttl);

/* `reason`: an RL_COUNT_ bit. */
void rl_hold_lose(struct rl_lock *lock, uint32_t reason, struct rl_effects *effects);

/* ---- passing on ---- */

/* So often a claim is passed on at most. */
#define RL_HOLD_PASSES_MOST 256

/* The nodes have granted a claim: it may be passed on from now on. */
void rl_hold_allow_pass(struct rl_lock *lock, uint64_t now_ns);

/* Until when the handles that wait for a holder of their client may hope that it passes the lock on; they ask
 * no node meanwhile. 0: not at all. */
uint64_t rl_hold_pass_until(const struct rl_lock *lock);

/* A claim by the one rules is what the other rules would have asked for, and goes on as both want it. */
bool rl_hold_are_alike(const struct rl_rules *one, const struct rl_rules *other);

/* Whether what `from` holds may be passed on to `to`, which waits for it. */
bool rl_hold_may_pass(const struct rl_lock *from, const struct rl_lock *to, uint64_t now_ns);

#endif
