/* SPDX-License-Identifier: MIT */
/*
 * Shared locks: any number of holders, or one exclusive one. On each node the key is a set of tokens, each
 * with the time at which it ends by that node's clock. A yes means what it means for any lock: from now on,
 * for the TTL, this node admits nobody who conflicts, which is an exclusive holder
 * (docs/decisions/shared.md).
 *
 *     upgrade      each node makes the key the handle's own, if nobody else is in the set; without a quorum
 *                  the handle stays shared, and a renewal turns back what was turned. It is lost if a quorum
 *                  no longer has its token
 *     downgrade    the handle is shared from now on, and a renewal turns the keys
 */
#ifndef RL_CORE_SHARE_H
#define RL_CORE_SHARE_H

#include "core/state.h"

/* A quorum in time suffices unless the gate refused: a waiter that goes first may stand in line there. */
enum rl_tally rl_share_weigh(const struct rl_lock *lock);

/* Whether the gate has said so; else its vote is waited for, for as long again as the quorum took. */
bool rl_share_confirm(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Takes what an answer to a claim says besides yes and no. */
void rl_share_keep(struct rl_lock *lock, const struct rl_event *reply);

/* The event TURN: begins an upgrade or downgrade. 0, STATE, LOST or LIMIT. */
int rl_share_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Takes what a refusal of an upgrade says besides no. */
void rl_share_keep_turn(struct rl_lock *lock, const struct rl_event *reply);

/* An upgrade has a new vote, or its time is over. */
void rl_share_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Ends an operation that is neither an acquire nor a release; an upgrade has not succeeded then. */
void rl_share_end(struct rl_lock *lock, const struct rl_event *event, int result, struct rl_effects *effects);

#endif
