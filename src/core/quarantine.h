/* SPDX-License-Identifier: MIT */
/*
 * Nodes that may have forgotten locks do not vote until none of those can be valid any more; their vote says
 * how long that is. An acquire that has no quorum because of them waits for it, as long as it may by
 * quarantine_wait_ns, which is beyond its other waits: these go on when the quarantine is over. Then nodes
 * are repaired by the client, which takes some round trips; for that it waits too.
 */
#ifndef RL_CORE_QUARANTINE_H
#define RL_CORE_QUARANTINE_H

#include "core/state.h"

/* Takes what the vote of a node in quarantine tells. */
void rl_quarantine_keep(struct rl_lock *lock, const struct rl_event *event);

/* An attempt found no quorum, and `left_ns` is left to wait for one. True: it is paused for nodes in
 * quarantine. */
bool rl_quarantine_pause(struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns);

/* When the quarantine is over that an acquire is paused for; 0: for none. */
uint64_t rl_quarantine_end(const struct rl_lock *lock);

#endif
