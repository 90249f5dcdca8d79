/* SPDX-License-Identifier: MIT */
/*
 * A lock that is passed on: from a handle that releases it to another one of the same client that waits for
 * it. The servers are not asked: the claim, its token, its keys and what is left of its validity stay.
 *
 * The shell exchanges the two handles' states (cohort.h), and both take the event PASS: the one that holds
 * has a new caller, who has acquired it; the one that waited has the caller who has released, and gives back
 * what it has asked for. So what is still out for the claim, a renewal or a late vote, stays with the claim.
 *
 * Only for a short time after the nodes have granted the claim, and so many times: then the waiters of other
 * clients go first. docs/decisions/handing-over.md.
 */
#ifndef RL_CORE_PASS_H
#define RL_CORE_PASS_H

#include "core/state.h"

/* So often a claim is passed on at most. */
#define RL_PASS_MOST 256

/* The nodes have granted a claim: it may be passed on from now on. */
void rl_pass_allow(struct rl_lock *lock, uint64_t now_ns);

/* Until when the handles that wait for a holder of their client may hope that it passes the lock on; they ask
 * no node meanwhile. 0: not at all. */
uint64_t rl_pass_until(const struct rl_lock *lock);

/* Whether what `from` holds may be passed on to `to`, which waits for it. */
bool rl_pass_fits(const struct rl_lock *from, const struct rl_lock *to, uint64_t now_ns);

#endif
