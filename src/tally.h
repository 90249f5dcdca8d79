/* SPDX-License-Identifier: MIT */
/* The votes of the last operation of a handle, counted and grouped. No server is asked. */
#ifndef RL_TALLY_H
#define RL_TALLY_H

#include "handle.h"

enum redlock_vote_code rl_tally_vote(const redlock_lock *lock, unsigned node);
unsigned rl_tally_count(const redlock_lock *lock, enum redlock_vote_kind kind);

/* Calls `same` for pairs of nodes. Returns the nodes that are the same as `node`, a bit for each; 0: an
 * earlier node is. */
uint32_t rl_tally_group(const redlock_lock *lock, unsigned node,
                        bool (*same)(const redlock_lock *lock, unsigned a, unsigned b));

#endif
