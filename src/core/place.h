/* SPDX-License-Identifier: MIT */
/* Our places in the queues of nodes, given up: at the gate, and beside it. */
#ifndef RL_CORE_PLACE_H
#define RL_CORE_PLACE_H

#include "core/state.h"

/* Only the place of this call: of the token, which may be held, nothing is released. */
void rl_place_give_up(const struct rl_lock *lock, uint32_t nodes, unsigned call, struct rl_effects *effects);

/* Give up the lock's places at nodes other than the gate: with the keys that the attempt gives back, and
 * after a grant. */
void rl_place_give_back(struct rl_lock *lock, struct rl_effects *effects);
void rl_place_tidy(struct rl_lock *lock, struct rl_effects *effects);

/* The acquire ends without the lock, or a release begins: what is sent wakes the next one, where others are
 * known to wait, and gives up our place. */
void rl_place_leave(struct rl_lock *lock, struct rl_effects *effects);

#endif
