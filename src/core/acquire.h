/* SPDX-License-Identifier: MIT */
/* From the call of an acquire to its result: attempts, and the pauses between them. */
#ifndef RL_CORE_ACQUIRE_H
#define RL_CORE_ACQUIRE_H

#include "core/state.h"

/* The call of an acquire: forgets the last one. The first attempt follows. */
void rl_acquire_begin(struct rl_lock *lock, uint64_t now_ns);

/* Forgets the numbers that nodes have told, as an attempt with a fresh token does. */
void rl_acquire_forget_numbers(struct rl_lock *lock);

/* An attempt: these nodes are asked for a key with a fresh token. */
void rl_acquire_ask(struct rl_lock *lock, uint64_t now_ns, uint32_t nodes, struct rl_effects *effects);

void rl_acquire_ask_all(struct rl_lock *lock, uint64_t now_ns, struct rl_effects *effects);

/* A vote has come, or the time of the attempt is over. REFUSED: a quorum has answered, and does not grant;
 * what follows is not decided here. */
enum rl_tally rl_acquire_decide(struct rl_lock *lock, const struct rl_event *event,
                                struct rl_effects *effects);

/* Decides an attempt whose fencing number is being raised (phase RAISING), at each vote. */
void rl_acquire_decide_raising(struct rl_lock *lock, const struct rl_event *event,
                               struct rl_effects *effects);

/* Whether the votes that the attempt has by now grant the lock; if so, it is held, or will be when its number
 * is confirmed. */
bool rl_acquire_grant(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* Asks these nodes for the same token, again or for the first time. */
void rl_acquire_again(struct rl_lock *lock, uint32_t nodes, uint64_t now_ns, struct rl_effects *effects);

/* Asks again for the same token where it was refused for certain. No release of the token was sent, and no
 * SET of it is on its way to these nodes, so the new SET counts as a late arrival of the first one, and
 * validity still counts from the first. False: there are no such nodes. */
bool rl_acquire_insist(struct rl_lock *lock, uint64_t now_ns, struct rl_effects *effects);

/* Releases what the attempt may have left, once. From then on its votes count for nothing. */
void rl_acquire_give_back(struct rl_lock *lock, struct rl_effects *effects);

/* Gives back, then pauses for a further attempt, or ends the acquire with `result`. */
void rl_acquire_fail(struct rl_lock *lock, const struct rl_event *event, int result, bool hopeless,
                     struct rl_effects *effects);

/* Until when an acquire whose last attempt had this result goes on. */
uint64_t rl_acquire_patience(struct rl_lock *lock, int result);

void rl_acquire_end(struct rl_lock *lock, int result, struct rl_effects *effects);

#endif
