/* SPDX-License-Identifier: MIT */
/*
 * Counts what happens to the handles and nodes of a client, for redlock_stats(). operate.c calls it: for each
 * vote, and for a step of the core only if the step reports something (rl_effects.observed). While counting,
 * `waiting` and `held` of the stats count the waits and holds that have begun, and the `count` of histograms
 * stays 0: redlock_stats() works out the values that it returns.
 */
#ifndef RL_STATS_H
#define RL_STATS_H

#include "handle.h"
#include "net/inside.h"

/* Adds a time to a histogram: the bucket is the number of its highest bit. */
void rl_stats_add(struct redlock_histogram *histogram, uint64_t ns);

/* Why a lock was lost, by the facts of a step that has RL_COUNT_LOSSES. */
static inline enum redlock_loss rl_stats_loss(uint32_t facts)
{
	return (facts & RL_COUNT_EXPIRED) != 0 ? REDLOCK_LOSS_EXPIRED
	       : (facts & RL_COUNT_LEAPT) != 0 ? REDLOCK_LOSS_LEAP
	                                       : REDLOCK_LOSS_GONE;
}

/* An acquire that began at `began_ns` has succeeded. */
void rl_stats_acquired(struct redlock_stats *stats, uint64_t now_ns, uint64_t began_ns);

/* Counts what a step of the handle's core has reported. */
void rl_stats_count(struct redlock_stats *stats, const redlock_lock *lock, const struct rl_event *event,
                    const struct rl_effects *effects);

#endif
