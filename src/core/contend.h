/* SPDX-License-Identifier: MIT */
/*
 * After an attempt that was refused: is the lock held, or are the votes split among contenders?
 *
 *     LOOKING     the nodes are asked whose key they have; a quorum that names one holder is "busy"
 *     INSISTING   the votes are split and we lead: the same token is asked for again where it was refused
 *     WATCHING    a pause, then the next look; a contender that does not lead has given back before
 *
 * The leader is the owner of the first node that has a key at all, in an order of nodes that all contenders
 * share. It keeps that node, and all others give back, so that it gets theirs. Should contenders not agree on
 * the order of nodes, that of their tokens decides later on. docs/decisions/results.md.
 */
#ifndef RL_CORE_CONTEND_H
#define RL_CORE_CONTEND_H

#include "core/state.h"

/* A quorum has answered, and does not grant. */
void rl_contend_begin(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* A vote has come, or the time of a stage is over. */
void rl_contend_decide(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

/* A node says whose key it has, in time or late. */
void rl_contend_found(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

#endif
