/* SPDX-License-Identifier: MIT */
/* Carries out the decisions of the core: tokens, requests, answers, notices. All calls are under the mutex of
 * the loop. */
#ifndef RL_OPERATE_H
#define RL_OPERATE_H

#include "client.h"

/* Feeds one event to the core of `lock` and does what it decides. Returns what rl_lock_step() returns. */
int rl_operate(redlock_client *c, redlock_lock *lock, struct rl_event *event);

/* Feeds an event that a caller asked for: ACQUIRE, EXTEND and the like. As rl_operate(), and BUSY: another
 * handle of the client claims that value; INVAL: a TTL that an extend cannot have. */
int rl_operate_call(redlock_client *c, redlock_lock *lock, struct rl_event *event);

/* Tells all handles of the time that has passed and that the clock does not show. */
void rl_operate_leap(redlock_client *c);

/* Tells the core of a leap, if there is one: before an operation begins or a timer is looked at. */
static inline void rl_operate_catch_up(redlock_client *c)
{
	if (c->loop.leap_ns > 0)
		rl_operate_leap(c);
}

/* Tells all handles that the set, which was plain, is guarded. */
void rl_operate_notice(redlock_client *c);

/* Counts the answer of a node. */
void rl_operate_answer(redlock_client *c, struct rl_node *node, const struct rl_answer *answer);

/* A server has said that it is the turn of a place, or that it has handed its key over to it. */
void rl_operate_hear(redlock_client *c, const struct rl_heard *heard, unsigned node);

/* These nodes, a bit for each, are not heard any more. */
void rl_operate_deafen(redlock_client *c, uint32_t nodes);

#endif
