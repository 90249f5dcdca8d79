/* SPDX-License-Identifier: MIT */
/*
 * Counts what happens to the handles and nodes of a client, for redlock_stats(). operate.c calls it: for each
 * vote, and for a step of the core only if the step reports something (rl_effects.observed). While counting,
 * `waiting` and `held` of the stats are how many have begun, and the `count` of histograms stays 0: both are
 * worked out when somebody asks.
 */
#ifndef RL_STATS_H
#define RL_STATS_H

#include "handle.h"
#include "net/inside.h"

/* Adds a time to a histogram: the bucket is the number of its highest bit. */
static inline void rl_stats_add(struct redlock_histogram *h, uint64_t ns)
{
	enum { LOWEST = 1023, HIGHEST_BIT = 63, FIRST = 9 };
	h->sum_ns += ns;
	h->buckets[(HIGHEST_BIT ^ (unsigned)__builtin_clzll(ns | LOWEST)) - FIRST]++;
}

static inline void rl_stats_vote(struct rl_node *node, enum redlock_vote_code code)
{
	node->answered[code]++;
}

/* An acquire that began at `began_ns` has succeeded. */
static inline void rl_stats_acquired(struct redlock_stats *stats, uint64_t now_ns, uint64_t began_ns)
{
	stats->acquires[0]++;
	stats->held++;
	rl_stats_add(&stats->wait, rl_time_sub(now_ns, began_ns));
}

/* Counts what a step of the handle's core has reported. */
void rl_stats_count(struct redlock_stats *stats, const redlock_lock *lock, const struct rl_event *event,
                    const struct rl_effects *effects);

#endif
