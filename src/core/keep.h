/* SPDX-License-Identifier: MIT */
/*
 * A lock that is kept: its caller has released it, and the client keeps the claim, so that its next acquire
 * of the name sends nothing. For the nodes the lock is held all the time: the token, the keys and the
 * deadline stay. It is not renewed while it is kept. The nodes get it back when a waiter of another client
 * asks for it, when nobody has used it for a moment, and when the client can no longer be asked (kept.h,
 * which also says whether the client may keep it). docs/decisions/sticky.md
 */
#ifndef RL_CORE_KEEP_H
#define RL_CORE_KEEP_H

#include "core/state.h"

/* The nodes have granted a claim: it may be kept from now on. */
void rl_keep_allow(struct rl_lock *lock, uint64_t now_ns);

/* Keeps what its caller releases. False: it cannot be kept, and the nodes are to have it back. */
bool rl_keep_begin(struct rl_lock *lock, uint64_t now_ns);

/* Whether what is kept may be held again, by a handle with these rules. */
bool rl_keep_may_enter(const struct rl_lock *lock, const struct rl_rules *rules, uint64_t now_ns);

/* A waiter of another client wants the lock, which is held: its next release is one at the nodes. */
void rl_keep_end(struct rl_lock *lock);

#endif
