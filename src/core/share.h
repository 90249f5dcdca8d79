/* SPDX-License-Identifier: MIT */
/*
 * Shared locks: any number of shared holders, or one exclusive holder. On each node the key is a set of
 * tokens, each with its end by that node's clock. A yes to a shared claim means that the node admits no
 * exclusive holder for the TTL (docs/decisions/shared.md).
 *
 *     upgrade      each node makes its key exclusive if the set has no other token. Without a quorum the
 *                  handle stays shared, and a renewal makes the upgraded keys shared again. If a quorum no
 *                  longer has the handle's token, the lock is lost
 *     downgrade    the handle is shared at once. The extend that the call begins makes the keys shared; a
 *                  later renewal does so at nodes that did not answer
 */
#ifndef RL_CORE_SHARE_H
#define RL_CORE_SHARE_H

#include "core/state.h"

/* Weighs the votes of a claim. A quorum wins unless the gate refused, because a waiting writer may be first
 * in the queue there. */
enum rl_tally rl_share_weigh(const struct rl_lock *lock);

/* Returns true when the gate has voted. Otherwise shortens the deadline, so that the claim waits for the gate
 * as long again as the quorum took, and returns false. */
bool rl_share_confirm(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Takes what an answer to a claim says besides yes and no. */
void rl_share_keep(struct rl_lock *lock, const struct rl_event *reply);

/* The event TURN: begins an upgrade or downgrade. 0, STATE, LOST or LIMIT. */
int rl_share_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Takes what a refusal of an upgrade says besides no. */
void rl_share_keep_turn(struct rl_lock *lock, const struct rl_event *reply);

/* Decides an upgrade, after each vote and at its deadline. */
void rl_share_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Ends an operation other than acquire and release. If the operation was an upgrade, the upgrade has failed:
 * begins a renewal, which makes the upgraded keys shared again. */
void rl_share_end(struct rl_lock *lock, const struct rl_event *event, int result, struct rl_effects *effects);

#endif
