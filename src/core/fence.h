/* SPDX-License-Identifier: MIT */
/*
 * Fencing tokens: each lock has a number that is higher than those of all locks of the name before it.
 *
 * A node counts the claims that it grants, and its yes tells the count. The number of a lock is one that a
 * quorum of its nodes has counted up to while they had its key: where they report the same count, one round
 * is enough. Else the number is the highest count, and the nodes that reported less are asked to go on
 * counting from there, if they still have the key for this token:
 *
 *     CLAIM    yes 7, yes 5, yes 7      a quorum tells 7
 *              yes 7, yes 5             -> RAISING: the second one is asked to go on from 7
 *     RAISING  yes                      7 is confirmed by a quorum, and is the number of the lock
 *
 * An upgrade of a shared lock goes the same way, while the lock is held.
 *
 * A node that has counted further has no vote for the number. docs/decisions/fencing.md has the proof, and
 * shows how weaker rules fail.
 */
#ifndef RL_CORE_FENCE_H
#define RL_CORE_FENCE_H

#include "core/state.h"

/* Numbers are below it: so far scripts count exactly. */
#define RL_FENCE_END (INT64_C(1) << 53)

/* Whether the node has told a number with its yes to the token of this attempt. */
bool rl_fence_has_number(const struct rl_lock *lock, unsigned node);

/* Weighs the votes of an attempt: all of them, or, once the lock has a number, the votes for that number. */
enum rl_tally rl_fence_weigh(const struct rl_lock *lock);

/* Takes the number that came with a yes. */
void rl_fence_keep(struct rl_lock *lock, const struct rl_event *event);

/* A quorum has granted. False: its numbers differ, and RAISING begins. */
bool rl_fence_confirm(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Decides an upgrade that draws a number, at each vote; the lock is held meanwhile. False: not decided yet.
 */
bool rl_fence_confirm_upgrade(struct rl_lock *lock, const struct rl_event *event, enum rl_tally tally,
                              struct rl_effects *effects);

/* RAISING: those that have told less are asked to go on counting from the number, until then at most. */
void rl_fence_raise(struct rl_lock *lock, uint64_t now_ns, uint64_t until_ns, struct rl_effects *effects);

#endif
