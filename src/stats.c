/* SPDX-License-Identifier: MIT */
/* Counters: how steps of the core are counted, and what callers read. */
#include "stats.h"

#include <stddef.h>
#include <string.h>

#include "client.h"
#include "core/sized.h"

_Static_assert((int)REDLOCK_VOTE_COUNT <= (int)REDLOCK_STATS_VOTES, "a vote has a counter");

/* ---- counting ---- */

void rl_stats_add(struct redlock_histogram *h, uint64_t ns)
{
	enum { LOWEST = 1023, HIGHEST_BIT = 63, FIRST = 9 };
	h->sum_ns += ns;
	h->buckets[(HIGHEST_BIT ^ (unsigned)__builtin_clzll(ns | LOWEST)) - FIRST]++;
}

void rl_stats_acquired(struct redlock_stats *stats, uint64_t now_ns, uint64_t began_ns)
{
	stats->acquires[0]++;
	stats->held++;
	rl_stats_add(&stats->wait, rl_time_sub(now_ns, began_ns));
}

/* An acquire of which the caller learned too late was counted when it was granted, and one by a pass when the
 * lock was passed on. */
static void count_done(struct redlock_stats *s, const redlock_lock *lock, const struct rl_event *e,
                       const struct rl_effects *fx)
{
	if (fx->done.operation == REDLOCK_OP_ACQUIRE && fx->done.result == 0 && e->kind != RL_EV_PASS) {
		rl_stats_acquired(s, e->now_ns, fx->done.began_ns);
		s->taken_over += lock->core.queue.handed;
	} else if (fx->done.operation == REDLOCK_OP_ACQUIRE && fx->done.result < 0 && e->kind != RL_EV_LATE) {
		s->acquires[-fx->done.result]++;
		rl_stats_add(&s->wait, rl_time_sub(e->now_ns, fx->done.began_ns));
	} else if (fx->done.operation == REDLOCK_OP_EXTEND) {
		*(fx->done.result == 0 ? &s->extends : &s->failed_extends) += 1;
	} else if (fx->done.operation == REDLOCK_OP_RELEASE) {
		s->releases[-fx->done.result]++;
	}
}

/* Renewals and losses. Seldom: this stays out of the way of acquires and releases. */
static __attribute__((noinline)) void count_hold(struct redlock_stats *s, const redlock_lock *lock,
                                                 const struct rl_event *e, uint32_t facts)
{
	s->renewals += (facts & RL_COUNT_RENEWED) != 0;
	s->failed_renewals += (facts & RL_COUNT_UNRENEWED) != 0;
	s->held += (facts & RL_COUNT_TAKEN_UP) != 0;
	if ((facts & RL_COUNT_LOSSES) == 0)
		return;
	s->losses[rl_stats_loss(facts)]++;
	/* A hold ends by the clock, also if nobody has driven the client since. */
	uint64_t end_ns = rl_time_min(e->now_ns, lock->core.hold.hold_until_ns);
	rl_stats_add(&s->hold, rl_time_sub(end_ns, lock->core.hold.held_ns));
}

void rl_stats_count(struct redlock_stats *s, const redlock_lock *lock, const struct rl_event *e,
                    const struct rl_effects *fx)
{
	const uint32_t of_hold = ~(RL_COUNT_ATTEMPT | RL_OBSERVE_EVENTS);
	uint32_t facts = fx->observed;
	if ((facts & RL_COUNT_ATTEMPT) != 0)
		s->attempts++;
	if ((facts & of_hold) != 0)
		count_hold(s, lock, e, facts);
	if ((facts & RL_OBSERVE_DONE) != 0)
		count_done(s, lock, e, fx);
}

/* ---- reading ---- */

static void add_up(struct redlock_histogram *h)
{
	h->count = 0;
	for (unsigned i = 0; i < REDLOCK_HISTOGRAM_BUCKETS; i++)
		h->count += h->buckets[i];
}

enum {
	NUMBERS = (sizeof(struct redlock_stats) - offsetof(struct redlock_stats, acquires)) / sizeof(uint64_t)
};

_Static_assert(offsetof(struct redlock_stats, acquires) + NUMBERS * sizeof(uint64_t) ==
                   sizeof(struct redlock_stats),
               "numbers of 64 bits follow the size");

static void add_part(struct redlock_stats *stats, redlock_client *part)
{
	uint64_t sum[NUMBERS], more[NUMBERS];
	memcpy(sum, (char *)stats + sizeof *stats - sizeof sum, sizeof sum);
	rl_loop_enter(&part->loop);
	memcpy(more, (char *)&part->stats + sizeof part->stats - sizeof more, sizeof more);
	rl_loop_leave(&part->loop);
	for (size_t i = 0; i < NUMBERS; i++)
		sum[i] += more[i];
	memcpy((char *)stats + sizeof *stats - sizeof sum, sum, sizeof sum);
}

int redlock_stats(redlock_client *c, struct redlock_stats *ret)
{
	struct redlock_stats stats = {0};
	int error = ret != NULL ? rl_client_check(c) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	for (unsigned i = 0; i < rl_client_count(c); i++)
		add_part(&stats, rl_client_part(c, i));
	add_up(&stats.wait);
	add_up(&stats.hold);
	add_up(&stats.validity);
	stats.waiting -= stats.wait.count;
	stats.held -= stats.hold.count;
	return rl_sized_return(ret, &stats, sizeof stats);
}

static void add_node(struct redlock_node_stats *stats, const struct rl_node *node)
{
	stats->connects += node->link.connects;
	stats->failed_connects += node->link.failures;
	stats->lost_connections += node->link.losses;
	for (unsigned i = 0; i < REDLOCK_STATS_VOTES; i++)
		stats->votes[i] += node->answered[i];
	for (unsigned i = 0; i < sizeof stats->round_trip.buckets / sizeof stats->round_trip.buckets[0]; i++)
		stats->round_trip.buckets[i] += node->round_trip.buckets[i];
	stats->round_trip.sum_ns += node->round_trip.sum_ns;
}

/* The counters of a cluster are the sums over its servers. */
static int tell_node(const struct rl_nodes *nodes, unsigned index, struct redlock_node_stats *ret)
{
	struct redlock_node_stats stats = {0};
	add_node(&stats, &nodes->list[index]);
	for (unsigned i = 0; i < rl_cluster_count(nodes->clusters); i++)
		if (nodes->clusters->servers[i]->id == index)
			add_node(&stats, nodes->clusters->servers[i]);
	add_up(&stats.round_trip);
	return rl_sized_return(ret, &stats, sizeof stats);
}

int redlock_node_stats(redlock_client *c, unsigned index, struct redlock_node_stats *ret)
{
	redlock_client *part;
	int error = ret != NULL ? rl_client_enter_node(c, index, &part, &index) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	error = tell_node(&part->nodes, index, ret);
	rl_loop_leave(&part->loop);
	return error;
}
