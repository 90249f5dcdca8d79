/* SPDX-License-Identifier: MIT */
/*
 * One operation asked of the nodes, from the first request to the decision.
 *
 *     rl_round_open()    asks all nodes
 *     rl_round_again()   asks some of them once more, for the same round and the same token
 *     rl_ballot_cast()   takes a vote                                ballot.h
 *     rl_ballot_count()  what was said so far
 *     rl_round_end()     the decision: votes that come later are recorded, and decide nothing
 */
#ifndef RL_CORE_ROUND_H
#define RL_CORE_ROUND_H

#include "core/state.h"

/* The number of the next operation that is sent. */
uint32_t rl_round_next_seq(struct rl_lock *lock);

void rl_round_open(struct rl_lock *lock, enum redlock_operation operation, uint64_t now_ns, uint64_t until_ns,
                   uint64_t ttl_ns, struct rl_effects *effects);

/* As rl_round_open(), for an extend that upgrades or downgrades. */
void rl_round_open_turn(struct rl_lock *lock, enum redlock_operation operation, enum rl_turn turn,
                        uint64_t now_ns, uint64_t until_ns, uint64_t ttl_ns, struct rl_effects *effects);

/* The votes of `nodes` are out again, and may take a node timeout from now. Validity still counts from the
 * first request. The caller has made sure that nothing of the first one is on its way there any more. */
void rl_round_again(struct rl_lock *lock, uint32_t nodes, uint64_t now_ns, struct rl_effects *effects);

void rl_round_end(struct rl_lock *lock, int result, struct rl_effects *effects);

/* Pauses the acquire until then: no request is out meanwhile. */
void rl_round_pause(struct rl_lock *lock, uint64_t until_ns);

/* At the deadline of a round, silence is a vote. */
void rl_round_silence(struct rl_lock *lock);

/* Until when the lock is held if the votes of the round grant it. */
uint64_t rl_round_validity_end(const struct rl_lock *lock);

/* Whether enough of the validity would be left if they did so now. */
bool rl_round_is_in_time(const struct rl_lock *lock, uint64_t now_ns);

#endif
