/* SPDX-License-Identifier: MIT */
/* The blocking calls, and how their threads wait: who leads, who sleeps. */
#include "call.h"
#include "client.h"
#include "operate.h"
#include "os/signals.h"
#include "seen.h"
#include "turn.h"

/* ---- waiting ---- */

/*
 * A waiting thread may drive the loop for all: one thread leads, that is, it waits in the poller; the others
 * sleep until their result is there or the lead is passed to them. So concurrent callers share each node's
 * connection, its pipeline, and the system calls of a turn.
 */

/* The poller fails only when somebody closed its descriptor. Then nothing can be waited for. A release goes
 * on, and its result is an event: the waiter may be gone by then. */
static void give_up(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter)
{
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_SYSTEM});
	lock->waiter = NULL;
	waiter->done = true;
	waiter->result = REDLOCK_E_SYSTEM;
}

/* A result that is there already counts; and a release goes on, as it ends by itself. */
static void interrupt(redlock_client *c, redlock_lock *lock, const struct rl_waiter *waiter)
{
	if (waiter->done)
		return;
	rl_loop_look(&c->loop);
	rl_operate_catch_up(c);
	if (waiter->done)
		return;
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_INTERRUPTED});
	rl_turn_settle(c);
}

static void lead(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter)
{
	c->loop.leader = waiter;
	int got = rl_turn_lead(c, waiter->signals);
	c->loop.leader = NULL;
	if (got < 0)
		give_up(c, lock, waiter);
	else if (got > 0)
		interrupt(c, lock, waiter);
}

/* After a signal the waiter is no longer asleep either: the thread that has taken that word back before has
 * posted, or is about to, and the post must not come after the end of this sleep. */
static void get_up(struct rl_loop *l, struct rl_waiter *waiter)
{
	rl_loop_enter(l);
	bool posted = !waiter->asleep;
	waiter->asleep = false;
	rl_loop_leave(l);
	if (posted)
		rl_wake_await(&waiter->wake, NULL);
}

/* Returns without the mutex. 1: a signal came; negative: the thread cannot sleep. */
static int sleep_until_woken(struct rl_loop *l, struct rl_waiter *waiter)
{
	waiter->served = false;
	int error = rl_wake_open(&waiter->wake, waiter->signals);
	waiter->asleep = error == 0;
	rl_loop_leave(l);
	if (error < 0)
		return error;
	bool woken = rl_wake_await(&waiter->wake, waiter->signals);
	if (!woken)
		get_up(l, waiter);
	rl_wake_close(&waiter->wake);
	return woken ? 0 : 1;
}

/* A thread that was woken with its result may be the one that the others have left their bytes to. */
static void leave_as_served(redlock_client *c)
{
	struct rl_loop *l = &c->loop;
	if (atomic_fetch_sub(&l->expected, 1) > 1 || !atomic_load(&l->deferred))
		return;
	rl_loop_enter_now(l);
	if (atomic_load(&l->deferred))
		rl_turn_settle_or_defer(c);
	rl_loop_leave(l);
}

/* Waits for the result of `lock`, whose waiter this thread is, leading or sleeping. Leaves the mutex. */
static void wait_for_result(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter)
{
	struct rl_loop *l = &c->loop;
	rl_loop_join(l, waiter);
	while (!waiter->done) {
		if (!l->led) {
			lead(c, lock, waiter);
			continue;
		}
		int got = sleep_until_woken(l, waiter);
		if (waiter->served) {
			leave_as_served(c);
			return;
		}
		rl_loop_enter(l);
		if (got < 0)
			give_up(c, lock, waiter);
		else if (got > 0)
			interrupt(c, lock, waiter);
	}
	rl_loop_quit(l, waiter);
	rl_turn_pass_lead(c);
	rl_loop_leave(l);
}

/* Waits for a turn that another thread takes. As rl_turn_lead(). */
static int wait_for_turn(redlock_client *c, const sigset_t *signals)
{
	struct rl_loop *l = &c->loop;
	struct rl_drainer drainer = {.next = l->asleep_drainers};
	int error = rl_wake_open(&drainer.wake, signals);
	if (error < 0)
		return error;
	// cppcheck-suppress autoVariables ; it leaves the list below, before it ends
	l->asleep_drainers = &drainer;
	rl_loop_leave(l);
	bool woken = rl_wake_await(&drainer.wake, signals);
	rl_loop_enter(l);
	for (struct rl_drainer **at = &l->asleep_drainers; *at != NULL; at = &(*at)->next)
		if (*at == &drainer) {
			*at = drainer.next;
			break;
		}
	rl_wake_close(&drainer.wake);
	return woken ? 0 : 1;
}

/* ---- an operation ---- */

/* After a pause of this length, what came in meanwhile is read first: a connection that was closed while
 * nobody looked must not cost a vote, and an answer that waits in the socket is not a stall. */
#define IDLE_NS (100 * RL_NS_PER_MS)

/* So is who comes next, before a release hands the lock over; but where that is known, the next one waits for
 * what is sent, and not for what else there is to read. */
static bool reads_first(const redlock_client *c, const redlock_lock *lock, const struct rl_event *event)
{
	bool idle = c->loop.now_ns - c->loop.looked_ns > IDLE_NS;
	bool asks = event->kind == RL_EV_RELEASE && lock->core.queue.contended && rl_seen_heir_told(lock) == 0;
	return (idle || asks) && !c->loop.led;
}

/* A lock that nothing renews would end in silence. An event loop has shown itself by its first turn. */
static bool renews(const redlock_client *c)
{
	return c->loop.keeper_runs || c->loop.driven;
}

/* 0: the operation has begun. */
static int begin(redlock_client *c, redlock_lock *lock, struct rl_event *event, struct rl_waiter *waiter)
{
	if (reads_first(c, lock, event))
		(void)rl_turn_poll(c);
	rl_operate_catch_up(c);
	if (lock->waiter != NULL || (lock->pending & RL_OBSERVE_DONE) != 0 || rl_state_is_busy(&lock->core))
		return REDLOCK_E_STATE;
	if (event->kind == RL_EV_ACQUIRE && lock->core.rules->renew_ns > 0 && !renews(c))
		return REDLOCK_E_UNRENEWED;
	lock->waiter = waiter;
	int error = rl_call_begin(c, lock, event);
	if (error < 0)
		lock->waiter = NULL;
	return error;
}

/* A lock that was kept is acquired, or one is kept: nothing is to be sent, unless others have left it to us.
 */
static bool was_local(redlock_client *c)
{
	c->kept.asks_nobody = false;
	return !atomic_load(&c->loop.deferred);
}

/* `signals`: those that are blocked while the call waits; NULL: no signal ends it. */
static int operate(redlock_client *c, redlock_lock *lock, struct rl_event *event, const sigset_t *signals)
{
	struct rl_waiter waiter = {.signals = signals};
	rl_loop_enter_expected(&c->loop);
	int error = begin(c, lock, event, &waiter);
	if (c->kept.asks_nobody && was_local(c) && error == 0) {
		rl_turn_arm(c);
		lock->waiter = NULL;
		rl_loop_leave(&c->loop);
		return waiter.result;
	}
	rl_turn_settle_or_defer(c);
	if (error < 0) {
		rl_handle_note_refusal(lock, error, event);
		rl_loop_leave(&c->loop);
		return error;
	}
	wait_for_result(c, lock, &waiter);
	lock->waiter = NULL;
	return waiter.result;
}

static int run(redlock_lock *lock, struct rl_event *event)
{
	RL_NO_CANCEL;
	int error = rl_client_check_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	if (!c->loop.interruptible)
		return operate(c, lock, event, NULL);
	RL_HOLD_SIGNALS(before);
	return operate(c, lock, event, &before);
}

/* ---- calls ---- */

int redlock_acquire(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_ACQUIRE});
}

int redlock_extend(redlock_lock *lock, uint64_t ttl_ms)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_EXTEND, .asked.ttl_ns = rl_time_ms(ttl_ms)});
}

int redlock_upgrade(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_TURN, .asked.up = true});
}

int redlock_downgrade(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_TURN});
}

int redlock_release(redlock_lock *lock)
{
	return run(lock, &(struct rl_event){.kind = RL_EV_RELEASE, .asked.passes = true});
}

int redlock_query(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : run(lock, &(struct rl_event){.kind = RL_EV_QUERY});
}

int redlock_probe(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : run(lock, &(struct rl_event){.kind = RL_EV_QUERY, .asked.probe = true});
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
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_CANCELLED});
	rl_turn_settle(c);
	rl_loop_leave(&c->loop);
	return 0;
}

/* Returns what is owed, INTERRUPTED or SYSTEM. */
static int drain(redlock_client *c, uint64_t timeout_ms, const sigset_t *signals)
{
	int error = 0;
	rl_loop_enter(&c->loop);
	(void)rl_turn_poll(c);
	rl_operate_give_back_all(c);
	uint64_t until = rl_time_add(c->loop.now_ns, rl_time_ms(timeout_ms));
	c->loop.drain_until_ns = c->loop.drainers++ == 0 ? until : rl_time_min(until, c->loop.drain_until_ns);
	rl_turn_settle(c);
	while (rl_nodes_owed(&c->nodes) > 0 && c->loop.now_ns < until && error == 0) {
		if (c->loop.drain_until_ns <= c->loop.now_ns || until < c->loop.drain_until_ns)
			c->loop.drain_until_ns = until; /* the drainer whose time it was has gone */
		error = c->loop.led ? wait_for_turn(c, signals) : rl_turn_lead(c, signals);
	}
	c->loop.drainers--;
	int left = (int)rl_nodes_owed(&c->nodes);
	rl_turn_pass_lead(c);
	rl_loop_leave(&c->loop);
	if (error < 0)
		return REDLOCK_E_SYSTEM;
	return error > 0 && left > 0 ? REDLOCK_E_INTERRUPTED : left;
}

/* All parts send what they owe before one of them is waited for, so that they need the time of the slowest.
 */
static int drain_parts(redlock_client *c, uint64_t timeout_ms, const sigset_t *signals)
{
	int left = 0, got = 0;
	for (unsigned i = 0; i < c->parts->count && got >= 0; i++)
		got = drain(c->parts->list[i], 0, signals);
	rl_loop_enter_now(&c->loop);
	uint64_t until = rl_time_add(c->loop.now_ns, rl_time_ms(timeout_ms));
	for (unsigned i = 0; i < c->parts->count && got >= 0; i++) {
		uint64_t left_ns = rl_time_sub(until, c->loop.now_ns);
		rl_loop_leave(&c->loop);
		got = drain(c->parts->list[i], left_ns / RL_NS_PER_MS, signals);
		left += got > 0 ? got : 0;
		rl_loop_enter_now(&c->loop);
	}
	rl_loop_leave(&c->loop);
	return got < 0 ? got : left;
}

int redlock_drain(redlock_client *c, uint64_t timeout_ms)
{
	RL_NO_CANCEL;
	int error = rl_client_check(c);
	if (error < 0)
		return error;
	int (*all)(redlock_client *, uint64_t, const sigset_t *) = c->parts != NULL ? drain_parts : drain;
	if (!c->loop.interruptible)
		return all(c, timeout_ms, NULL);
	RL_HOLD_SIGNALS(before);
	return all(c, timeout_ms, &before);
}
