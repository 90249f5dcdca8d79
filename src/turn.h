/* SPDX-License-Identifier: MIT */
/* One turn of the loop, and the thread that takes it for all. Each is under the mutex of the loop. */
#ifndef RL_TURN_H
#define RL_TURN_H

#include "client.h"

/* Sends what the last operations queued, and arms the timer. */
void rl_turn_settle(redlock_client *c);

/* Arms the timer, where an operation has queued nothing. */
void rl_turn_arm(redlock_client *c);

/* As rl_turn_settle(), unless another thread is expected: then that one sends for both. */
void rl_turn_settle_or_defer(redlock_client *c);

/* When the next turn is due; UINT64_MAX: when a socket is ready. */
uint64_t rl_turn_deadline(const redlock_client *c);

/* Looks at the sockets without waiting, unless a leader does that anyway, and takes a turn. -errno if the
 * poller fails. */
int rl_turn_poll(redlock_client *c);

/* Waits in the poller without the mutex, on behalf of all threads, then takes a turn. 1: a signal came
 * meanwhile. `signals`: those that are blocked while it waits; NULL: no signal is told of. -errno if the
 * poller fails. */
int rl_turn_lead(redlock_client *c, const sigset_t *signals);

/* Hands the lead to a thread that waits. */
void rl_turn_pass_lead(redlock_client *c);

#endif
