/* SPDX-License-Identifier: MIT */
/*
 * One of k slots, each of which is an exclusive name of its own: a node that says yes tells which one it
 * gave, and a quorum that gave the same one grants. So there are at most k holders, by the argument that
 * holds for each name, and no count is kept anywhere (docs/decisions/names-and-slots.md).
 *
 * Nodes give the first free one from the number on that they are told. As long as they have the same slots
 * taken they give the same one. Votes that are split among slots are tried again, from another number on.
 */
#ifndef RL_CORE_SLOTS_H
#define RL_CORE_SLOTS_H

#include "core/state.h"

/* The votes as those for the slot that most nodes gave: others are neither yes nor no. Of a lock without
 * slots all of them are. */
struct rl_count rl_slots_count(const struct rl_lock *lock);

/* Weighs the votes of an attempt: a yes for another slot does not count. */
enum rl_tally rl_slots_weigh(const struct rl_lock *lock);

/* Takes the slot that came with a yes. */
void rl_slots_keep(struct rl_lock *lock, const struct rl_event *event);

/* A quorum has granted: the lock has that slot. */
bool rl_slots_confirm(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* A yes for another slot than the one that is held has come: that one is given back at once. Else that
 * slot may stay blocked: where two holders have left keys of it, no quorum has it to give. */
void rl_slots_return(const struct rl_lock *lock, unsigned node, struct rl_effects *effects);

/* Whether this is a yes for another slot than the one that is held: of this one the node has nothing. */
bool rl_slots_is_other(const struct rl_lock *lock, const struct rl_event *event);

/* An attempt has failed: the next one begins at another slot, by chance. */
void rl_slots_turn(struct rl_lock *lock, const struct rl_event *event);

/* Whether votes that are split among slots may still come together: some node has one to give. */
bool rl_slots_are_split(const struct rl_lock *lock);

/* For so many node timeouts they are tried for again. When a quorum has none to give it is busy, or soon
 * will be. */
unsigned rl_slots_patience(const struct rl_lock *lock, unsigned most);

#endif
