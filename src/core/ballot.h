/* SPDX-License-Identifier: MIT */
/* The votes of a round: one for each node, and how many there are of each kind. */
#ifndef RL_CORE_BALLOT_H
#define RL_CORE_BALLOT_H

#include "core/state.h"

/* All nodes, as bits. */
uint32_t rl_ballot_nodes(const struct rl_lock *lock);

/* A node has voted so; a later word of the same node takes the place of the first. */
void rl_ballot_cast(struct rl_lock *lock, unsigned node, enum redlock_vote_code code, uint64_t rtt_ns);

/* The vote that a node casts with `code` while the nodes of the bits `twins` are the same server. One server
 * has one vote in a round, and a yes goes before a no: when a server is asked for a key under two names, it
 * refuses the second request because of the first. Returns DUPLICATE if a twin has the vote of the server.
 * Else returns `code`, and changes the vote of a twin that said no to DUPLICATE. */
enum redlock_vote_code rl_ballot_once(struct rl_lock *lock, uint32_t twins, enum redlock_vote_code code);

struct rl_count rl_ballot_count(const struct rl_lock *lock);

/* The nodes that voted so. */
uint32_t rl_ballot_voted(const struct rl_lock *lock, enum redlock_vote_code code);

#endif
