/* SPDX-License-Identifier: MIT */
/*
 * Several names at once: on each node all of them or none, by one script with one token. So a vote means what
 * that of one name means, for each of them: from now on, for the TTL, this node admits nobody who conflicts
 * (docs/decisions/names-and-slots.md).
 *
 * A waiter stands in the queue of one of the names, and a release wakes it when it is its turn there: then it
 * claims all names. If another name is held at that time, the waiter has left its queue, and goes to that
 * name's.
 */
#ifndef RL_CORE_MANY_H
#define RL_CORE_MANY_H

#include "core/state.h"

/* Takes from a refusal which name it was that somebody else has, and what the gate says of its queue. */
void rl_many_keep(struct rl_lock *lock, const struct rl_event *reply);

/* Moves a waiter without a place to the line of the name that was held at its last turn. */
void rl_many_line_up(struct rl_lock *lock);

#endif
