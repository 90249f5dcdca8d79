/* SPDX-License-Identifier: MIT */
/*
 * What follows an attempt that was refused: is the lock held, or are the votes split among contenders?
 *
 *     LOOKING     the nodes are asked whose key they have; a quorum that names one holder is "busy"
 *     INSISTING   the votes are split and we lead: the same token is asked for again where it was refused
 *     WATCHING    a pause, then the next look; whoever does not lead has given back before
 *
 * Who leads is the owner of the first node that has a key at all, in an order of nodes that all contenders
 * share. It keeps that node, and all others give back, so that it gets theirs. Should contenders not agree on
 * the order of nodes, that of their tokens decides later on. docs/design.md, "Split votes".
 */
#ifndef RL_CORE_CONTEND_H
#define RL_CORE_CONTEND_H

#include "core/lock.h"

/* ---- contend.c ---- */

/* A quorum has answered, and does not grant. */
void rl_contend_begin(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* A vote has come, or the time of a stage is over. */
void rl_contend_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* A node says whose key it has. */
void rl_contend_found(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* ---- lock.c ---- */

uint32_t rl_all_nodes(const struct rl_lock *lock);
uint32_t rl_next_seq(struct rl_lock *lock);

/* The votes of the round, by kind. */
struct rl_count rl_count_votes(const struct rl_lock *lock, unsigned *ret_fatal);

/* Until when the lock is held if the votes of the round grant it. */
uint64_t rl_round_validity_end(const struct rl_lock *lock);

/* A fresh token, asked for everywhere. */
void rl_begin_attempt(struct rl_lock *lock, uint64_t now_ns, struct rl_effects *effects);

/* Releases what the attempt may have left, once. From then on its votes count for nothing. */
void rl_give_back(struct rl_lock *lock, struct rl_effects *effects);

void rl_grant(struct rl_lock *lock, const struct rl_event *event, uint64_t valid_until_ns,
              struct rl_effects *effects);

/* Gives back, then pauses for a further attempt, or ends the acquire with `result`. */
void rl_fail_attempt(struct rl_lock *lock, const struct rl_event *event, int result, bool hopeless,
                     struct rl_effects *effects);

#endif
