/* SPDX-License-Identifier: MIT */
/*
 * One operation asked of the nodes, from the first request to the decision.
 *
 *     rl_round_open()    asks all nodes
 *     rl_round_again()   asks some of them once more, for the same round and the same token
 *     rl_round_cast()    takes a vote
 *     rl_round_count()   returns how many votes there are of each kind
 *     rl_round_end()     the decision: votes that come later are recorded, and decide nothing
 *
 * The contracts are proved (spec/proof/contracts).
 */
#ifndef RL_CORE_ROUND_H
#define RL_CORE_ROUND_H

#include "core/state.h"

/* ---- rounds ---- */

/* The number of the next operation that is sent. */
uint32_t rl_round_next_seq(struct rl_lock *lock);

void rl_round_open(struct rl_lock *lock, enum redlock_operation operation, uint64_t now_ns, uint64_t until_ns,
                   uint64_t ttl_ns, struct rl_effects *effects);

/* The round that was opened in this step also makes the lock exclusive, or shared again. */
void rl_round_turn(struct rl_lock *lock, enum rl_turn turn, struct rl_effects *effects);

/* The votes of `nodes` are out again, and may take a node timeout from now. Validity still counts from the
 * first request. The caller has made sure that nothing of the first one is on its way there any more. */
void rl_round_again(struct rl_lock *lock, uint32_t nodes, uint64_t now_ns, struct rl_effects *effects);

void rl_round_end(struct rl_lock *lock, int result, struct rl_effects *effects);

/* Pauses the acquire until then: no request is out meanwhile. */
void rl_round_pause(struct rl_lock *lock, uint64_t until_ns);

/* Before a renewal: keeps the votes of the caller's last operation, which tell why it failed. */
void rl_round_keep_votes(struct rl_lock *lock);

/* At the deadline of a round, silence is a vote. */
void rl_round_silence(struct rl_lock *lock);

/* Until when the lock is held if the votes of the round grant it. */
uint64_t rl_round_validity_end(const struct rl_lock *lock);

/* Whether enough of the validity would be left if they did so now. */
bool rl_round_is_in_time(const struct rl_lock *lock, uint64_t now_ns);

/* ---- votes ---- */

/* All nodes, as bits. */
uint32_t rl_round_nodes(const struct rl_lock *lock);

/* A node has voted so; a later word of the same node takes the place of the first. */
void rl_round_cast(struct rl_lock *lock, unsigned node, enum redlock_vote_code code, uint64_t rtt_ns);

/* The vote that a node casts with `code` while the nodes of the bits `twins` are the same server. One server
 * has one vote in a round, and a yes goes before a no: when a server is asked for a key under two names, it
 * refuses the second request because of the first. Returns DUPLICATE if a twin has the vote of the server.
 * Else returns `code`, and changes the vote of a twin that said no to DUPLICATE. */
enum redlock_vote_code rl_round_cast_once(struct rl_lock *lock, uint32_t twins, enum redlock_vote_code code);

struct rl_count rl_round_count(const struct rl_lock *lock);

/* Weigh the votes by the rule of an operation (quorum.h). */
enum rl_tally rl_round_weigh_claim(const struct rl_lock *lock);
enum rl_tally rl_round_weigh_extend(const struct rl_lock *lock);
enum rl_tally rl_round_weigh_check(const struct rl_lock *lock);
enum rl_tally rl_round_weigh_release(const struct rl_lock *lock);

/* The nodes that voted so. */
uint32_t rl_round_voted(const struct rl_lock *lock, enum redlock_vote_code code);

/* ---- delays ---- */

/* The shortest delay. With less time left no last try is made. */
#define RL_ROUND_RETRY_MIN_NS RL_NS_PER_MS

/* A pause that grows each time: 1 ms, 2 ms, 4 ms ..., up to an eighth of a node timeout. It begins anew when
 * look.pauses is 0. */
uint64_t rl_round_retry_pause(const struct rl_lock *lock);
void rl_round_retry_grow(struct rl_lock *lock);
/*@ requires \valid_read(lock) && \valid_read(lock->rules);
    assigns \nothing;
    ensures \result == lock->rules->node_timeout_ns / 8; */
uint64_t rl_round_retry_longest(const struct rl_lock *lock);

/* When to try again: after a random delay, at most half of the time that is left. */
/*@ requires \valid_read(lock) && \valid_read(lock->rules) && \valid_read(event);
    requires lock->rules->retry_min_ns <= lock->rules->retry_max_ns < UINT64_MAX;
    assigns \nothing;
    ensures \result == UINT64_MAX || \result >= event->now_ns + RL_ROUND_RETRY_MIN_NS;
    ensures \result <= event->now_ns
              + \max(RL_ROUND_RETRY_MIN_NS, \min(lock->rules->retry_max_ns, left_ns / 2)); */
uint64_t rl_round_retry_at(const struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns);

#endif
