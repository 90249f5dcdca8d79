/* SPDX-License-Identifier: MIT */
/* The votes of a round: one for each node, and how many there are of each kind. */
#ifndef RL_CORE_BALLOT_H
#define RL_CORE_BALLOT_H

#include "core/state.h"

/* All nodes, as bits. */
uint32_t rl_ballot_nodes(const struct rl_lock *lock);

/* A node has voted so; a later word of the same node takes the place of the first. */
void rl_ballot_cast(struct rl_lock *lock, unsigned node, enum redlock_vote_code code, uint64_t rtt_ns);

struct rl_count rl_ballot_count(const struct rl_lock *lock);

/* The nodes that voted so. */
uint32_t rl_ballot_voted(const struct rl_lock *lock, enum redlock_vote_code code);

#endif
