/* SPDX-License-Identifier: MIT */
/* Begins an operation that a program calls on a handle. Asks the nodes, unless the client itself can answer:
 * by passing the lock to a waiting handle, by reusing a kept lock, or by counting entries of a reentrant
 * handle. */
#ifndef RL_CALL_H
#define RL_CALL_H

#include "client.h"

/* Feeds an event that a caller asked for: ACQUIRE, EXTEND and the like. Returns what
 * rl_operate() returns, BUSY if another handle of the client claims the same name with the same caller's
 * value, or INVAL if the TTL of an extend is not allowed. */
int rl_call_begin(redlock_client *c, redlock_lock *lock, struct rl_event *event);

#endif
