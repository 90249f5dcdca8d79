/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for a result. A waiting thread may drive the loop for all: one thread leads, that is, it
 * waits in the poller; the others sleep until their result is there or the lead is passed to them. So
 * concurrent callers share each node's connection, its pipeline, and the system calls of a turn.
 */
#include "wait.h"

#include "operate.h"
#include "turn.h"

void rl_wait_pass_lead(redlock_client *c)
{
	struct rl_loop *l = &c->loop;
	if (l->led)
		return;
	if (l->waiters != NULL) {
		if (l->waiters->asleep)
			rl_loop_will_wake(l, l->waiters);
	} else if (l->drainers > 0) {
		rl_loop_wake_drainers(l);
	} else if (l->keeper_runs) {
		pthread_cond_signal(&l->keeper_wake);
	} else if (atomic_load(&l->deferred)) {
		rl_turn_settle(c); /* nobody sees to it that they are sent in time */
	}
}

/* ---- waiting ---- */

/* The poller fails only when somebody closed its descriptor. Then nothing can be waited for. A release goes
 * on, and its result is an event: the waiter may be gone by then. */
static void give_up(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter)
{
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_SYSTEM});
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
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_INTERRUPTED});
	rl_turn_settle(c);
}

static void lead(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter)
{
	c->loop.leader = waiter;
	int got = rl_turn_lead(c);
	c->loop.leader = NULL;
	if (got < 0)
		give_up(c, lock, waiter);
	else if (got > 0)
		interrupt(c, lock, waiter);
}

/* Returns without the mutex. True: a signal came. Then the waiter is no longer asleep either: the thread that
 * has taken that word back before has posted, or is about to, and the post must not meet the next sleep. */
static bool sleep_until_woken(struct rl_loop *l, struct rl_waiter *waiter)
{
	waiter->served = false;
	waiter->asleep = true;
	rl_loop_leave(l);
	if (rl_thread_await(&waiter->wake, l->interruptible))
		return false;
	rl_loop_enter(l);
	bool posted = !waiter->asleep;
	waiter->asleep = false;
	rl_loop_leave(l);
	if (posted)
		rl_thread_await(&waiter->wake, false);
	return true;
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

void rl_wait_for_result(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter)
{
	struct rl_loop *l = &c->loop;
	rl_loop_join(l, waiter);
	while (!waiter->done) {
		if (!l->led) {
			lead(c, lock, waiter);
			continue;
		}
		bool signalled = sleep_until_woken(l, waiter);
		if (waiter->served) {
			leave_as_served(c);
			return;
		}
		rl_loop_enter(l);
		if (signalled)
			interrupt(c, lock, waiter);
	}
	rl_loop_quit(l, waiter);
	rl_wait_pass_lead(c);
	rl_loop_leave(l);
}

int rl_wait_for_turn(redlock_client *c)
{
	struct rl_loop *l = &c->loop;
	struct rl_drainer drainer = {.next = l->asleep_drainers};
	sem_init(&drainer.wake, 0, 0);
	// cppcheck-suppress autoVariables ; it leaves the list below, before it ends
	l->asleep_drainers = &drainer;
	rl_loop_leave(l);
	bool woken = rl_thread_await(&drainer.wake, l->interruptible);
	rl_loop_enter(l);
	for (struct rl_drainer **at = &l->asleep_drainers; *at != NULL; at = &(*at)->next)
		if (*at == &drainer) {
			*at = drainer.next;
			break;
		}
	sem_destroy(&drainer.wake);
	return woken ? 0 : 1;
}
