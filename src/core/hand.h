/* SPDX-License-Identifier: MIT */
/*
 * The lock is handed over: a release gives each node's key to the next waiter in the same step, and the node
 * tells it. So the next one has its votes one round trip after the release.
 *
 *     a waiter     offers: its ENTER leaves, beside its place in the queue, the token and the TTL of the
 *                  attempt that is to be made in its name, and a number
 *     the holder   is told the first one's offer with its own grant, and hands over to it by its release
 *     the heir     hears of it from each node, and has the lock when a quorum of them has said so
 *
 * The number is the time, by the heir's own clock, at which it sent the offer. Each key was set later than
 * that, for a whole TTL: so validity counts from there. A message counts for the token that it quotes, if
 * that was never given back. A token that nobody wants is released. docs/decisions/handing-over.md;
 * spec/proof/lock.thm.
 */
#ifndef RL_CORE_HAND_H
#define RL_CORE_HAND_H

#include "core/state.h"

/* Instead of the number of an offer: the waiter hears nothing and offers nothing. Its place lives for 2 s
 * after each question (ops/lib/queue.lua). */
#define RL_HAND_POLLS UINT64_C(1)

/* Whether an attempt is made with the token that is on offer. It was never given back; nodes may have it,
 * though no message says so: they are asked by ENTER, which knows it. */
static inline bool rl_hand_keeps_token(const struct rl_lock *lock)
{
	return lock->offered_ns != 0;
}

/* With an ENTER: if a quorum of nodes would be heard. */
void rl_hand_offer(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* The token is given back, or its attempt has ended: a holder that still has the offer must not use it. The
 * request goes to all nodes, releases the token, and bars it where it is not there. */
void rl_hand_revoke(struct rl_lock *lock, struct rl_effects *effects);

/* A release becomes a hand-over, if it is known who comes next. */
void rl_hand_over(const struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Behind a grant: what was offered long ago is renewed at once. */
void rl_hand_refresh(struct rl_lock *lock, uint64_t now_ns);

#endif
