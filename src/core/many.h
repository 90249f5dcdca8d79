/* SPDX-License-Identifier: MIT */
/*
 * Several names at once: on each node all of them or none, by one script with one token. So a vote means what
 * that of one name means, for each of them: from now on, for the TTL, this node admits nobody who conflicts
 * (docs/decisions/many.md).
 *
 * Who waits stands in the queue of one of the names, and is woken when it is its turn there: it claims all
 * then. If another name is in the way at its turn, it is in no queue any more, and goes to that name's.
 */
#ifndef RL_CORE_MANY_H
#define RL_CORE_MANY_H

#include "core/state.h"

/* Where an answer says which name it is about, 1: the first. */
enum { RL_MANY_NAME = 1 };

/* Takes from a refusal which name it was that somebody else has, and what the gate says of its queue. */
void rl_many_keep(struct rl_lock *lock, const struct rl_event *reply);

/* Who has no place waits for the name that was in the way last. */
void rl_many_line_up(struct rl_lock *lock);

#endif
