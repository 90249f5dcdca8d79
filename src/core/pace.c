/* SPDX-License-Identifier: MIT */
#include "core/pace.h"

#include "core/many.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/round.h"

/* A waiter with a place asks after a part of the time since something changed, for each place before its own.
 * The change may be of the key alone: users who may not wake anybody take the lock without the queue, and the
 * first in line would be too late again and again. A waiter without a place cannot see changes: it asks after
 * a part of the time that it has waited. */
enum { PART = 4, PART_BLIND = 64 };

/* Tries that begin within this many trips of the end of the wait are the last ones. */
enum { LAST_TRIPS = 4 };

static uint64_t clamp(uint64_t ns, uint64_t least)
{
	return rl_time_min(rl_time_max(ns, least), RL_PACE_MOST_NS);
}

static uint64_t interval(const struct rl_lock *l, uint64_t now)
{
	uint64_t since = rl_time_sub(now, l->queue.changed_ns);
	if (!l->queue.placed || l->queue.place == 0)
		return clamp(since / PART_BLIND, RL_PACE_BLIND_NS);
	since = rl_time_min(since, rl_time_ms(rl_time_stamp_ms(now) - l->queue.taken_ms));
	uint64_t delay = clamp(since / PART * l->queue.place, RL_PACE_LEAST_NS * l->queue.place);
	if (l->queue.polls) /* no message tells of its turn: until it asks, the lock is free */
		delay = rl_time_min(delay, RL_PACE_POLL_NS * l->queue.place);
	return rl_time_min(delay, rl_time_sub(l->queue.free_at_ns, now));
}

uint64_t rl_pace_about(uint64_t ns, uint64_t entropy)
{
	return ns / 2 + (ns > 0 ? entropy % ns : 0);
}

bool rl_pace_is_last(const struct rl_lock *l, uint64_t now)
{
	uint64_t trip = rl_time_max(l->wait.trip_ns, RL_ROUND_RETRY_MIN_NS);
	return rl_time_sub(l->wait_until_ns, now) < LAST_TRIPS * trip;
}

/* Whether the next step is due: it is our turn, or the waiter goes to the gate, or to the next one. */
static bool is_due(const struct rl_lock *l, uint64_t now)
{
	bool moved = l->queue.stage == RL_STAGE_ALL || rl_queue_gate_vote(l) > REDLOCK_KIND_NO;
	return (l->queue.woken || moved) && !rl_pace_is_last(l, now);
}

/* The gate was won and the other nodes were not: another client has another gate. A waiter that pauses leaves
 * the lock to that client. */
static bool is_divided(const struct rl_lock *l)
{
	return l->queue.stage == RL_STAGE_CLAIM && rl_queue_gate_vote(l) == REDLOCK_KIND_YES;
}

/* The gate can be won alone for three reasons. Slots: the holder has another slot, so the next one is asked
 * for soon. Several names: a rival has won another gate, so a waiter that asks more than a trip later finds
 * the rival's keys there. Otherwise the holder lacks the key of this gate: the longer that lasts, the longer
 * it is likely to last. */
static uint64_t divided_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	const struct rl_policy *policy = l->policy;
	uint64_t retry = rl_round_retry_at(l, e, left), pause = RL_PACE_BLIND_NS;
	if (policy->several)
		pause = rl_time_max(rl_time_max(pause, 2 * l->wait.trip_ns),
		                    rl_time_sub(e->now_ns, l->queue.changed_ns) / PART);
	if (policy->several || policy->slots)
		retry = rl_time_min(retry, rl_time_add(e->now_ns, rl_pace_about(pause, e->around.entropy)));
	return retry;
}

uint64_t rl_pace_next(struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	uint64_t now = e->now_ns;
	if (l->queue.stage == RL_STAGE_ALL && !l->queue.contended)
		l->queue.changed_ns = now;
	if (l->queue.stage == RL_STAGE_ALL)
		(void)rl_queue_choose_gate(l, e); /* where it is listened to; its place may still be at another one */
	l->queue.contended = true;
	rl_many_line_up(l);
	if (is_divided(l))
		return divided_at(l, e, left);
	if (is_due(l, now))
		return rl_time_add(now, 1);
	uint64_t delay = rl_pace_about(interval(l, now), e->around.entropy);
	if (l->queue.place == 1) /* the others come later by chance: one asks as soon as the key has expired */
		delay = rl_time_min(delay, rl_time_sub(l->queue.free_at_ns, now));
	delay = rl_time_max(delay, RL_ROUND_RETRY_MIN_NS);
	return rl_time_add(now, rl_time_min(delay, left / 2));
}
