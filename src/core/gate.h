/* SPDX-License-Identifier: MIT */
/*
 * The gate: the node where those who wait for a lock meet, and what it tells of them. It is the first one
 * that answers, in an order that all clients share, turned by the name so that the load spreads. enter.h says
 * how it is used.
 */
#ifndef RL_CORE_GATE_H
#define RL_CORE_GATE_H

#include "core/state.h"

/* The values of a gate's answer. */
enum { RL_GATE_VERDICT, RL_GATE_WAITING, RL_GATE_PTTL, RL_GATE_PLACE }; /* numbers */
enum { RL_GATE_TOKEN, RL_GATE_HOLDER };                                 /* texts */

/* Whether the answer to a release says that somebody waits: 2 if it was ours, else -1. Nobody: 1 and 0. */
static inline bool rl_gate_tells_of_others(int64_t answer)
{
	return answer > 1 || answer < 0;
}

/* What it has said in this round. */
static inline enum redlock_vote_kind rl_gate_vote(const struct rl_lock *lock)
{
	return redlock_vote_kind(lock->votes[lock->gate].code);
}

/* As a bit among those of the nodes. */
static inline uint32_t rl_gate_bit(const struct rl_lock *lock)
{
	return UINT32_C(1) << lock->gate;
}

/* A first attempt, which asks all nodes: the gate is the first one in their order that has not failed. What
 * that order is, their answers may say. */
void rl_gate_find(struct rl_lock *lock, const struct rl_event *event);

/* Who has passed one over comes back to it: others may not have. And the order changes when a node says who
 * it is. False: the gate has changed, and the old one still has our place, which is to be left first. */
bool rl_gate_choose(struct rl_lock *lock, const struct rl_event *event);

/* It was silent: the next one is the gate. */
void rl_gate_pass_over(struct rl_lock *lock, uint64_t now_ns);

/* One that was passed over has answered, if the node of this REPLY is one. */
void rl_gate_come_back(struct rl_lock *lock, const struct rl_event *event);

/* Takes what the gate's answer says besides yes and no; and what that of a release says. */
void rl_gate_learn(struct rl_lock *lock, const struct rl_event *event);
void rl_gate_learn_waiters(struct rl_lock *lock, const struct rl_event *event);

#endif
