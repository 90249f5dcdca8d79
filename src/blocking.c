/* SPDX-License-Identifier: MIT */
/* The blocking calls. How they wait is in wait.c. */
#include "client.h"
#include "operate.h"
#include "seen.h"
#include "turn.h"
#include "wait.h"

/* After a pause of this length, what came in meanwhile is read first: a connection that was closed while
 * nobody looked must not cost a vote, and an answer that waits in the socket is not a stall. */
#define IDLE_NS (100 * RL_NS_PER_MS)

/* So is who comes next, before a release hands the lock over; but where that is known, the next one waits for
 * what is sent, and not for what else there is to read. */
static bool reads_first(const redlock_client *c, const redlock_lock *lock, const struct rl_event *event)
{
	bool idle = c->loop.now_ns - c->loop.looked_ns > IDLE_NS;
	bool asks = event->kind == RL_EV_RELEASE && lock->core.contended && rl_seen_heir_told(lock) == 0;
	return (idle || asks) && !c->loop.led;
}

/* A lock that nothing renews would end in silence. An event loop has shown itself by its first turn. */
static bool is_renewed(const redlock_client *c, const redlock_lock *lock)
{
	return lock->core.rules->renew_ns == 0 || c->loop.keeper_runs || c->loop.driven;
}

/* 0: the operation has begun. */
static int begin(redlock_client *c, redlock_lock *lock, struct rl_event *event, struct rl_waiter *waiter)
{
	if (reads_first(c, lock, event))
		(void)rl_turn_poll(c);
	rl_operate_catch_up(c);
	if (lock->waiter != NULL || (lock->pending & RL_OBSERVE_DONE) != 0 || rl_state_is_busy(&lock->core))
		return REDLOCK_E_STATE;
	if (event->kind == RL_EV_ACQUIRE && !is_renewed(c, lock))
		return REDLOCK_E_UNRENEWED;
	lock->waiter = waiter;
	int error = rl_operate_call(c, lock, event);
	if (error < 0)
		lock->waiter = NULL;
	return error;
}

static int run(redlock_lock *lock, struct rl_event *event)
{
	RL_NO_CANCEL;
	int error = rl_client_check_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	rl_loop_enter_expected(&c->loop);
	struct rl_waiter waiter = {.done = false};
	sem_init(&waiter.wake, 0, 0);
	error = begin(c, lock, event, &waiter);
	rl_turn_settle_or_defer(c);
	if (error < 0) {
		rl_handle_note(lock, error, true);
		rl_loop_leave(&c->loop);
		return error;
	}
	rl_wait_for_result(c, lock, &waiter);
	sem_destroy(&waiter.wake);
	lock->waiter = NULL;
	return waiter.result;
}

int redlock_acquire(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_ACQUIRE});
}

int redlock_extend(redlock_lock *lock, uint64_t ttl_ms)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_EXTEND, .ttl_ns = rl_time_ms(ttl_ms)});
}

int redlock_upgrade(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_TURN, .up = true});
}

int redlock_downgrade(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_TURN});
}

int redlock_release(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_RELEASE, .passes = true});
}

int redlock_query(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : run(lock, &(struct rl_event){.kind = RL_EV_QUERY});
}

int redlock_probe(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : run(lock, &(struct rl_event){.kind = RL_EV_QUERY, .probe = true});
}

int redlock_cancel(redlock_lock *lock)
{
	RL_NO_CANCEL;
	int error = rl_client_check_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	rl_loop_enter_now(&c->loop);
	rl_operate_catch_up(c);
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_CANCELLED});
	rl_turn_settle(c);
	rl_loop_leave(&c->loop);
	return 0;
}

int redlock_drain(redlock_client *c, uint64_t timeout_ms)
{
	RL_NO_CANCEL;
	int error = rl_client_enter(c);
	if (error < 0)
		return error;
	(void)rl_turn_poll(c);
	uint64_t until = rl_time_add(c->loop.now_ns, rl_time_ms(timeout_ms));
	c->loop.drain_until_ns = c->loop.drainers++ == 0 ? until : rl_time_min(until, c->loop.drain_until_ns);
	rl_turn_settle(c);
	while (rl_nodes_owed(&c->nodes) > 0 && c->loop.now_ns < until && error == 0) {
		if (c->loop.drain_until_ns <= c->loop.now_ns || until < c->loop.drain_until_ns)
			c->loop.drain_until_ns = until; /* the drainer whose time it was has gone */
		error = c->loop.led ? rl_wait_for_turn(c) : rl_turn_lead(c);
	}
	c->loop.drainers--;
	int left = (int)rl_nodes_owed(&c->nodes);
	rl_wait_pass_lead(c);
	rl_loop_leave(&c->loop);
	if (error < 0)
		return REDLOCK_E_SYSTEM;
	return error > 0 && left > 0 ? REDLOCK_E_INTERRUPTED : left;
}
