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
 * be lost: each waiter also asks by itself, the seldomer the longer nothing changes and the more are before
 * it. Nothing here decides who may hold: that is a quorum of keys, as ever. docs/decisions/waiting.md.
 */
#ifndef RL_CORE_ENTER_H
#define RL_CORE_ENTER_H

#include "core/lock.h"

/* Whether the answer to a release says that somebody waits: 2 if it was ours, else -1. Nobody: 1 and 0. */
static inline bool rl_enter_tells_of_others(int64_t answer)
{
	return answer > 1 || answer < 0;
}

/* Whether the answer to this operation tells of a queue. */
static inline bool rl_enter_asks_queue(unsigned operation)
{
	const uint64_t all = RL_OP_BIT(RL_OP_ENTER) | RL_OP_BIT(RL_OP_ENTER_ALL) | RL_OP_BIT(RL_OP_SLOT_ENTER) |
	                     RL_OP_BIT(RL_OP_SHARE);
	return (all >> operation & 1) != 0;
}

/* The values of a gate's answer. */
enum { RL_ENTER_VERDICT, RL_ENTER_WAITING, RL_ENTER_PTTL, RL_ENTER_PLACE }; /* numbers */
enum { RL_ENTER_TOKEN, RL_ENTER_HOLDER };                                   /* texts */

/* The acquire begins: with an attempt, or where others wait without a queue, with a pause. */
void rl_enter_begin(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Whether the caller of an acquire waits for its turn: the gate is listened to. */
bool rl_enter_waits(const struct rl_lock *lock);

/* An attempt: at the gate, or everywhere at first, when it is our turn, and at the end of the wait. */
void rl_enter_attempt(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* An attempt of the stage GATE or CLAIM has a new vote, or its time is over. */
void rl_enter_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* The time of a stage is over. False: nothing follows, and silent nodes have no vote. */
bool rl_enter_go_on(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* A first attempt, which asks all nodes: the gate is the first one in their order that has not failed. What
 * that order is, their answers may say. */
void rl_enter_find_gate(struct rl_lock *lock, const struct rl_event *event);

/* When to try again after a refusal; `left_ns`: until the wait ends. */
uint64_t rl_enter_at(struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns);

/* Takes what the gate's answer says besides yes and no; and what that of a release says. */
void rl_enter_learn(struct rl_lock *lock, const struct rl_event *event);
void rl_enter_learn_waiters(struct rl_lock *lock, const struct rl_event *event);

/* Whether it is worth while to hear of the end of the key at the gate: for the first in line, when that is
 * not about to change. Who has it may be of those who tell nobody. */
bool rl_enter_follows(const struct rl_lock *lock, uint64_t now_ns);

/* A gate that was passed over has answered, if the node of this REPLY is one. */
void rl_enter_come_back(struct rl_lock *lock, const struct rl_event *event);

/* A message: it is our turn. Or no message is heard any more (`deaf`), or the key is gone (`gone`). */
void rl_enter_wake(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Its places beside the gate are given up: with what the attempt gives back, and behind a grant. */
void rl_enter_give_back(struct rl_lock *lock, struct rl_effects *effects);
void rl_enter_tidy(struct rl_lock *lock, struct rl_effects *effects);

/* The acquire ends without the lock, or a release begins: what is sent wakes the next one, where others are
 * known to wait, and gives up our place. */
void rl_enter_leave(struct rl_lock *lock, struct rl_effects *effects);

#endif
