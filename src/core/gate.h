/* SPDX-License-Identifier: MIT */
/*
 * The gate: the node where the waiters for a lock meet, and its reports about them. It is the first one that
 * answers, in an order that all clients share, turned by the name so that the load spreads. enter.h says how
 * it is used.
 */
#ifndef RL_CORE_GATE_H
#define RL_CORE_GATE_H

#include "core/state.h"

/* Whether the verdict of a release says that somebody waits: 2 if it was ours, else -1. Nobody: 1 and 0. */
static inline bool rl_gate_tells_of_others(int32_t verdict)
{
	return verdict > 1 || verdict < 0;
}

/* The gate's vote in this round. */
static inline enum redlock_vote_kind rl_gate_vote(const struct rl_lock *lock)
{
	return redlock_vote_kind(lock->votes[lock->gate].code);
}

/* As a bit among those of the nodes. */
static inline uint32_t rl_gate_bit(const struct rl_lock *lock)
{
	return UINT32_C(1) << lock->gate;
}

/* Finds the gate for a first attempt, which asks all nodes: the first node in the agreed order that has not
 * failed. The nodes' answers may still change that order. */
void rl_gate_find(struct rl_lock *lock, const struct rl_event *event);

/* Chooses the gate again. A waiter that has passed over a node returns to it, because other waiters may not
 * have passed it over; and the order changes when a node has reported its run_id. False: the gate has
 * changed, and the old one still has this waiter's place, which must be left first. */
bool rl_gate_choose(struct rl_lock *lock, const struct rl_event *event);

/* The gate was silent: makes the next node the gate. */
void rl_gate_pass_over(struct rl_lock *lock, uint64_t now_ns);

/* If the node of this REPLY was passed over, it has answered: it may be the gate again. */
void rl_gate_come_back(struct rl_lock *lock, const struct rl_event *event);

/* Takes what the gate's answer says besides yes and no; and what that of a release says. */
void rl_gate_learn(struct rl_lock *lock, const struct rl_event *event);
void rl_gate_learn_waiters(struct rl_lock *lock, const struct rl_event *event);

#endif
