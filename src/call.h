/* SPDX-License-Identifier: MIT */
/* Begins what a caller asks of a handle: at the nodes, or with another handle of the client, which passes a
 * lock on or keeps one. */
#ifndef RL_CALL_H
#define RL_CALL_H

#include "client.h"

/* Feeds an event that a caller asked for: ACQUIRE, EXTEND and the like. As rl_operate(), and BUSY: another
 * handle of the client claims that value; INVAL: a TTL that an extend cannot have. */
int rl_call_begin(redlock_client *c, redlock_lock *lock, struct rl_event *event);

#endif
