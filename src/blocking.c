/* SPDX-License-Identifier: MIT */
/* The blocking calls. How they wait is in waiters.c. */
#include "client.h"
#include "options.h"
#include "os/clock.h"

/* After a pause of this length, what came in meanwhile is read first: a connection that was closed while
 * nobody looked must not cost a vote, and an answer that waits in the socket is not a stall. */
#define IDLE_NS (100 * RL_NS_PER_MS)

/* Enters. Whoever is about to send meanwhile leaves it to this thread. */
static int come_in(const redlock_lock *lock)
{
	if (lock == NULL)
		return REDLOCK_E_INVAL;
	redlock_client *c = lock->client;
	if (c == NULL)
		return REDLOCK_E_STATE;
	if (rl_forkmark_is_child(&c->forkmark))
		return REDLOCK_E_FORKED;
	atomic_fetch_add(&c->coming, 1);
	pthread_mutex_lock(&c->mutex);
	atomic_fetch_sub(&c->coming, 1);
	return 0;
}

/* 0: the operation has begun. */
static int begin(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	c->now_ns = rl_clock_now();
	if (c->now_ns - c->looked_ns > IDLE_NS && !c->led)
		(void)rl_poll_once(c);
	if (lock->waited || (lock->pending & RL_OBSERVE_DONE) != 0 || rl_lock_busy(&lock->core))
		return REDLOCK_E_STATE;
	lock->waited = true;
	lock->done = false;
	int error = rl_operate(c, lock, event);
	if (error < 0)
		lock->waited = false;
	return error;
}

static int run(redlock_lock *lock, struct rl_event *event)
{
	RL_NO_CANCEL;
	int error = come_in(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	error = begin(c, lock, event);
	rl_settle_together(c);
	if (error < 0) {
		rl_leave(c);
		return error;
	}
	rl_wait_done(c, lock);
	error = lock->done_result;
	lock->waited = false;
	return error;
}

int redlock_acquire(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_ACQUIRE});
}

int redlock_extend(redlock_lock *lock, uint64_t ttl_ms)
{
	uint64_t ttl_ns = lock != NULL ? rl_extend_ttl(&lock->core.rules, ttl_ms) : 0;
	return ttl_ns == 0 ? REDLOCK_E_INVAL
	                   : run(lock, &(struct rl_event){.kind = RL_EV_EXTEND, .ttl_ns = ttl_ns});
}

int redlock_release(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_RELEASE});
}

int redlock_query(redlock_lock *lock)
{
	int error = rl_handle_prepare_query(lock);
	return error < 0 ? error : run(lock, &(struct rl_event){.kind = RL_EV_QUERY});
}

int redlock_probe(redlock_lock *lock)
{
	int error = rl_handle_prepare_query(lock);
	return error < 0 ? error : run(lock, &(struct rl_event){.kind = RL_EV_QUERY, .probe = true});
}

int redlock_cancel(redlock_lock *lock)
{
	RL_NO_CANCEL;
	int error = rl_enter_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	c->now_ns = rl_clock_now();
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_CANCELLED});
	rl_settle(c);
	rl_leave(c);
	return 0;
}

static unsigned owed(const redlock_client *c)
{
	unsigned total = 0;
	for (unsigned i = 0; i < c->node_count; i++)
		total += rl_node_owed(&c->nodes[i]);
	return total;
}

int redlock_drain(redlock_client *c, uint64_t timeout_ms)
{
	RL_NO_CANCEL;
	int error = rl_enter(c);
	if (error < 0)
		return error;
	(void)rl_poll_once(c);
	uint64_t until = rl_time_add(c->now_ns, rl_ms(timeout_ms));
	c->drain_until_ns = c->drainers++ == 0 ? until : rl_time_min(until, c->drain_until_ns);
	rl_settle(c);
	while (owed(c) > 0 && c->now_ns < until && error == 0) {
		if (c->drain_until_ns <= c->now_ns || until < c->drain_until_ns)
			c->drain_until_ns = until; /* the drainer whose time it was has gone */
		error = c->led ? rl_wait_turn(c) : rl_lead(c);
	}
	c->drainers--;
	int left = (int)owed(c);
	rl_pass_lead(c);
	rl_leave(c);
	if (error < 0)
		return REDLOCK_E_SYSTEM;
	return error > 0 && left > 0 ? REDLOCK_E_INTERRUPTED : left;
}
