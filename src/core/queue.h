/* SPDX-License-Identifier: MIT */
/*
 * The queue of the waiters for a lock, as one of them sees it. It stands at the gate: the first node that
 * answers, in an order that all clients share, turned by the name so that the load spreads. There a waiter
 * has a place, and may leave an offer:
 *
 *     a waiter     offers: its ENTER leaves, beside its place in the queue, the token and the TTL of the
 *                  attempt that is to be made in its name, and a number
 *     the holder   is told the first one's offer with its own grant, and hands over to it by its release
 *     the heir     hears of it from each node, and has the lock when a quorum of them has said so
 *
 * The release gives each node's key to the heir in the same step, so the heir has its votes one round trip
 * after the release. The number is the time, by the heir's own clock, at which it sent the offer. Each key
 * was set later than that, for a whole TTL: so validity counts from there. A message counts for the token
 * that it quotes, if that was never given back. A token that nobody wants is released. enter.h says how the
 * queue is used; docs/decisions/waiting.md, handing-over.md; spec/proof/lock.thm.
 */
#ifndef RL_CORE_QUEUE_H
#define RL_CORE_QUEUE_H

#include "core/state.h"

/* ---- the gate ---- */

/* Whether the verdict of a release says that somebody waits: 2 if it was ours, else -1. Nobody: 1 and 0. */
static inline bool rl_queue_tells_of_others(int32_t verdict)
{
	return verdict > 1 || verdict < 0;
}

/* The gate's vote in this round. */
static inline enum redlock_vote_kind rl_queue_gate_vote(const struct rl_lock *lock)
{
	return redlock_vote_kind(lock->votes[lock->queue.gate].code);
}

/* As a bit among those of the nodes. */
static inline uint32_t rl_queue_gate_bit(const struct rl_lock *lock)
{
	return UINT32_C(1) << lock->queue.gate;
}

/* Finds the gate for a first attempt, which asks all nodes: the first node in the agreed order that has not
 * failed. The nodes' answers may still change that order. */
void rl_queue_find_gate(struct rl_lock *lock, const struct rl_event *event);

/* Chooses the gate again. A waiter that has passed over a node returns to it, because other waiters may not
 * have passed it over; and the order changes when a node has reported its run_id. False: the gate has
 * changed, and the old one still has this waiter's place, which must be left first. */
bool rl_queue_choose_gate(struct rl_lock *lock, const struct rl_event *event);

/* The gate was silent, or won in vain: makes the next node the gate. */
void rl_queue_pass_over(struct rl_lock *lock, uint64_t now_ns);

/* The gate was won in vain: it is tried again later each time. That is forgotten when it refuses: then it has
 * a place for the waiter. */
void rl_queue_count_vain(struct rl_lock *lock);
void rl_queue_forget_vain(struct rl_lock *lock);

/* If the node of this REPLY was passed over, it has answered: it may be the gate again. */
void rl_queue_come_back(struct rl_lock *lock, const struct rl_event *event);

/* Takes what the gate's answer says besides yes and no; and what that of a release says (RL_TELLS_WAITERS).
 */
void rl_queue_learn(struct rl_lock *lock, const struct rl_event *event);
void rl_queue_learn_waiters(struct rl_lock *lock, const struct rl_event *event);

/* ---- places ---- */

/* Only the place of this call: of the token, which may be held, nothing is released. */
void rl_queue_give_up(const struct rl_lock *lock, uint32_t nodes, unsigned call, struct rl_effects *effects);

/* Give up the lock's places at nodes other than the gate: with the keys that the attempt gives back, and
 * after a grant. */
void rl_queue_give_back(struct rl_lock *lock, struct rl_effects *effects);
void rl_queue_tidy(struct rl_lock *lock, struct rl_effects *effects);

/* The acquire ends without the lock, or a release begins: what is sent wakes the next one, where others are
 * known to wait, and gives up our place. */
void rl_queue_leave(struct rl_lock *lock, struct rl_effects *effects);

/* ---- offers ---- */

/* Instead of the number of an offer: the waiter hears nothing and offers nothing. Its place lives for 2 s
 * after each question (ops/lib/queue.lua). */
#define RL_QUEUE_POLLS UINT64_C(1)

/* With an ENTER: if a quorum of nodes would be heard. */
void rl_queue_offer(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* The token is given back, or its attempt has ended: a holder that still has the offer must not use it. The
 * request goes to all nodes, releases the token, and bars it where it is not there. */
void rl_queue_revoke(struct rl_lock *lock, struct rl_effects *effects);

/* A release becomes a hand-over, if it is known who comes next. */
void rl_queue_hand_over(const struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* After a grant by a hand-over: what was offered long ago is renewed at once. */
void rl_queue_refresh(struct rl_lock *lock, uint64_t now_ns);

#endif
