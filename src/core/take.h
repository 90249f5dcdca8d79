/* SPDX-License-Identifier: MIT */
/* Messages of nodes about a lock that is handed over (hand.h). They answer no request. */
#ifndef RL_CORE_TAKE_H
#define RL_CORE_TAKE_H

#include "core/state.h"

/* A node says that our token has its key now. */
void rl_take_message(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

#endif
