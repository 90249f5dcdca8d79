/* SPDX-License-Identifier: MIT */
/*
 * The keys that nodes have under the name of a lock, as a look or a query reports them, and whose they are.
 * They are kept in memory that the caller lends (lock->findings); without that memory, the owners of keys
 * stay unknown.
 */
#ifndef RL_CORE_FINDING_H
#define RL_CORE_FINDING_H

#include "core/state.h"

/* Forgets what was found before. */
void rl_finding_forget(struct rl_lock *lock);

/* The vote that a reply stands for. That of a query says yes where the key has our token. */
enum redlock_vote_code rl_finding_vote(const struct rl_event *event);

/* Keeps what the node of a reply has, for the caller. */
void rl_finding_keep(struct rl_lock *lock, const struct rl_event *event);

/* As rl_finding_keep(), for the reply to a look; also notes whose key it is. */
void rl_finding_compare(struct rl_lock *lock, const struct rl_event *event);

#endif
