/* SPDX-License-Identifier: MIT */
/* Carries out the decisions of the core: tokens, requests, answers, notices. All calls are under the mutex of
 * the loop. */
#ifndef RL_OPERATE_H
#define RL_OPERATE_H

#include "client.h"

/* Feeds one event to the core of `lock` and does what it decides. Returns what rl_lock_step() returns. */
int rl_operate(redlock_client *c, redlock_lock *lock, struct rl_event *event);

/* The two halves of rl_operate(): the step; then its votes that are known at once, and the handle that is
 * next. */
int rl_operate_step(redlock_client *c, redlock_lock *lock, struct rl_event *event);
void rl_operate_settle(redlock_client *c, redlock_lock *lock);

/* Tells the caller what the core has observed. */
void rl_operate_report(redlock_client *c, redlock_lock *lock, const struct rl_effects *effects);

/* Gives a lock back when it is not in use. `deaf`: nobody has asked for it, as requests no longer reach this
 * client. */
void rl_operate_recall(redlock_client *c, redlock_lock *lock, bool deaf);

/* Gives back all locks that the client keeps. */
void rl_operate_give_back_all(redlock_client *c);

/* Tells all handles of the time that has passed and that the clock does not show, if there is such time:
 * before an operation begins or a timer is looked at. */
void rl_operate_catch_up(redlock_client *c);

/* Tells all handles that the set, which was plain, is guarded. */
void rl_operate_notice(redlock_client *c);

/* Counts the answer of a node. */
void rl_operate_answer(redlock_client *c, struct rl_node *node, const struct rl_answer *answer);

/* Releases a lock that was handed over to a call that has ended; the handle may be gone, too. It does so only
 * if the token is of this client and nobody needs it: a user that may publish may send any message, and
 * others can read the token of a holder. */
void rl_operate_decline(redlock_client *c, struct rl_slice name, struct rl_slice token, unsigned node);

/* Gives back what the client keeps and cannot be asked for any more. */
void rl_operate_check_kept(redlock_client *c);

#endif
