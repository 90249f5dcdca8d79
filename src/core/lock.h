/* SPDX-License-Identifier: MIT */
/*
 * The decisions of one lock handle, as one pure step function over values.
 *
 *     rl_lock_step(lock, event, &effects)
 *
 * An event says what happened and when; effects say what the caller must do: send one operation to all nodes,
 * report a result, give notice. rl_lock_deadline() says when the next TICK is due. There is no clock, no I/O,
 * no memory allocation and no randomness in here: time and entropy come with the event. Every operation that
 * is sent has a sequence number, and a reply that carries an older one is ignored in one place.
 *
 * The files call only those in the lines below them (tests/layers.sh wants no circle):
 *
 *     lock.h        one step: which file an event is for
 *     enter.h       waiting at the gate            contend.h     locks whose votes are split
 *     acquire.h     attempts, and their end        kinds.h       the kinds of locks, a row each
 *     keep.h        locks that a client keeps      share.h       locks with several holders
 *     hold.h        renewal, extension, loss       fence.h       numbers that only rise
 *     pace.h        when a waiter asks             quarantine.h  nodes that may have forgotten
 *     round.h       one operation asked of nodes   many.h        several names at once
 *     queue.h       the gate, places and offers    slots.h       one of k names
 *     policy.h      the fields of a kind's row     finding.h     the keys that the nodes have
 *     vote.h        votes and answers              state.h       the data that all of these work on
 *
 * Rules: docs/states.md, docs/promises.md; redis.io, "Distributed Locks with Redis".
 */
#ifndef RL_CORE_LOCK_H
#define RL_CORE_LOCK_H

#include "core/state.h"

/* `rules` and `votes`, one for each node, stay where they are for the life of the lock. */
void rl_lock_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *votes);

/* Takes one event and fills `effects`, which count in any case. Returns 0, or the error of an operation that
 * cannot begin (STATE, LOST, LIMIT); then nothing is to be sent. */
int rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* When the next TICK is due; UINT64_MAX: never. */
uint64_t rl_lock_deadline(const struct rl_lock *lock);

/* Until when the lock may be relied on; 0 when it is not held at `now_ns`. */
uint64_t rl_lock_valid_until(const struct rl_lock *lock, uint64_t now_ns);

/* The fencing number of the current acquisition, or of the last one; 0: none. */
uint64_t rl_lock_fence(const struct rl_lock *lock);

#endif
