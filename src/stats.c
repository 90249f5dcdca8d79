/* SPDX-License-Identifier: MIT */
/* Counters: how steps of the core are counted, and what callers read. */
#include "stats.h"

#include <string.h>

#include "client.h"
#include "core/sized.h"

_Static_assert((int)REDLOCK_VOTE_COUNT <= (int)REDLOCK_STATS_VOTES, "a vote has a counter");

/* ---- counting ---- */

/* An acquire of which the caller learned too late was counted when it was granted, and one by a pass when the
 * lock was passed on. */
static void count_done(struct redlock_stats *s, const redlock_lock *lock, const struct rl_event *e,
                       const struct rl_effects *fx)
{
	if (fx->done == REDLOCK_OP_ACQUIRE && fx->result == 0 && e->kind != RL_EV_PASS) {
		rl_stats_acquired(s, e->now_ns, fx->began_ns);
		s->taken_over += lock->core.handed;
	} else if (fx->done == REDLOCK_OP_ACQUIRE && fx->result < 0 && e->kind != RL_EV_LATE) {
		s->acquires[-fx->result]++;
		rl_stats_add(&s->wait, rl_time_sub(e->now_ns, fx->began_ns));
	} else if (fx->done == REDLOCK_OP_EXTEND) {
		*(fx->result == 0 ? &s->extends : &s->failed_extends) += 1;
	} else if (fx->done == REDLOCK_OP_RELEASE) {
		s->releases[-fx->result]++;
	}
}

/* Renewals and losses. Seldom: this stays out of the way of acquires and releases. */
static __attribute__((noinline)) void count_hold(struct redlock_stats *s, const redlock_lock *lock,
                                                 const struct rl_event *e, uint32_t facts)
{
	bool expired = (facts & RL_COUNT_EXPIRED) != 0, leapt = (facts & RL_COUNT_LEAPT) != 0;
	s->renewals += (facts & RL_COUNT_RENEWED) != 0;
	s->failed_renewals += (facts & RL_COUNT_UNRENEWED) != 0;
	s->held += (facts & RL_COUNT_TAKEN_UP) != 0;
	if ((facts & (RL_COUNT_EXPIRED | RL_COUNT_LEAPT | RL_COUNT_GONE)) == 0)
		return;
	s->losses[expired ? REDLOCK_LOSS_EXPIRED : leapt ? REDLOCK_LOSS_LEAP : REDLOCK_LOSS_GONE]++;
	rl_stats_add(&s->hold, rl_time_sub(e->now_ns, lock->core.held_ns));
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

int redlock_stats(redlock_client *c, struct redlock_stats *ret)
{
	int error = ret != NULL ? rl_client_enter(c) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	struct redlock_stats stats = c->stats;
	rl_loop_leave(&c->loop);
	add_up(&stats.wait);
	add_up(&stats.hold);
	add_up(&stats.validity);
	stats.waiting -= stats.wait.count;
	stats.held -= stats.hold.count;
	return rl_sized_return(ret, &stats, sizeof stats);
}

static int tell_node(const struct rl_node *node, struct redlock_node_stats *ret)
{
	struct redlock_node_stats stats = {
	    .round_trip = node->round_trip,
	    .connects = node->link.connects,
	    .failed_connects = node->link.failures,
	    .lost_connections = node->link.losses,
	};
	memcpy(stats.votes, node->answered, sizeof stats.votes);
	add_up(&stats.round_trip);
	return rl_sized_return(ret, &stats, sizeof stats);
}

int redlock_node_stats(redlock_client *c, unsigned index, struct redlock_node_stats *ret)
{
	int error = ret != NULL ? rl_client_enter(c) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	error = index < c->nodes.count ? tell_node(&c->nodes.list[index], ret) : REDLOCK_E_INVAL;
	rl_loop_leave(&c->loop);
	return error;
}
