/* SPDX-License-Identifier: MIT */
/*
 * How a lock that others want is entered: by one node, the gate, and after that by the rest.
 *
 * A first attempt asks all nodes at once. Once it was refused, and there is time to wait, the waiters meet at
 * the gate: the first node that answers, in an order that all of them share, turned by the name so that the
 * load spreads.
 *
 *     ALL      all nodes are asked at once, and a quorum decides: quorum.h
 *     GATE     the gate alone is asked; its no costs nobody else anything, and leaves nothing behind
 *     CLAIM    the gate is won, or a message says that it will be: all nodes are asked, and where a key is
 *              still on its way out, again
 *
 * A gate with a queue tells a waiter its place, and wakes it when it is its turn (RL_EV_WAKE). Messages may
 * be lost: each waiter also asks by itself, less often the longer nothing changes and the more are before it.
 * Nothing here decides who may hold: that is a quorum of keys, as ever. docs/decisions/waiting.md.
 */
#ifndef RL_CORE_ENTER_H
#define RL_CORE_ENTER_H

#include "core/state.h"

/* The call of an acquire that others may have to go before: it begins with an attempt, or where others wait
 * without a queue, with a pause. */
void rl_enter_begin(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* The pause may be over: an attempt at the gate, or everywhere at first, when it is our turn, and at the end
 * of the wait. */
void rl_enter_tick(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Whether the caller of an acquire waits for its turn: the gate is listened to. */
bool rl_enter_waits(const struct rl_lock *lock);

/* An attempt of the stage GATE or CLAIM has a new vote, or its time is over. */
void rl_enter_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* The time of a stage is over. False: nothing follows, and silent nodes have no vote. */
bool rl_enter_go_on(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Called when the lock was handed over and some nodes have not confirmed it yet: waits for those a while
 * longer, by `more_ns`. */
void rl_enter_wait_for_others(struct rl_lock *lock, uint64_t now_ns, uint64_t more_ns);

/* Whether to subscribe to the end of the key at the gate: only the first in line does, and only if its place
 * is not about to change. The holder may be a program that notifies no waiter. */
bool rl_enter_follows(const struct rl_lock *lock, uint64_t now_ns);

/* A message: it is our turn. Or no message is heard any more (`deaf`), or the key is gone (`gone`). */
void rl_enter_wake(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* ---- a lock that is handed over ---- */

/* A node says that our token has its key now. */
void rl_enter_take(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

#endif
