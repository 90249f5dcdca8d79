/* SPDX-License-Identifier: MIT */
/* Threads that wait for a result: who leads, who sleeps. */
#ifndef RL_WAIT_H
#define RL_WAIT_H

#include "client.h"

/* Waits for the result of `lock`, whose waiter this thread is, leading or sleeping. Leaves the mutex. */
void rl_wait_for_result(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter);

/* Hands the lead to a thread that waits. */
void rl_wait_pass_lead(redlock_client *c);

/* Waits for a turn that another thread takes. As rl_turn_lead(). */
int rl_wait_for_turn(redlock_client *c);

#endif
