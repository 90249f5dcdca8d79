/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for a result. Whoever waits drives the loop for all: one thread leads, that is, it waits
 * in the poller; the others sleep until their result is there or the lead is passed to them. So concurrent
 * callers share each node's connection, its pipeline, and the system calls of a turn.
 */
#include "client.h"
#include "os/clock.h"

/* ---- the list ---- */

static void join(redlock_client *c, redlock_lock *lock)
{
	lock->next_waiter = NULL;
	lock->previous_waiter = c->last_waiter;
	if (c->last_waiter != NULL)
		c->last_waiter->next_waiter = lock;
	else
		c->waiters = lock;
	c->last_waiter = lock;
}

static void quit(redlock_client *c, const redlock_lock *lock)
{
	if (lock->previous_waiter != NULL)
		lock->previous_waiter->next_waiter = lock->next_waiter;
	else
		c->waiters = lock->next_waiter;
	if (lock->next_waiter != NULL)
		lock->next_waiter->previous_waiter = lock->previous_waiter;
	else
		c->last_waiter = lock->previous_waiter;
}

/* ---- waking ---- */

/* Once somebody is posted, the handle is its own again, and may be gone. */
static void wake_all(redlock_lock *first)
{
	while (first != NULL) {
		redlock_lock *next = first->next_wake;
		sem_post(&first->wake);
		first = next;
	}
}

static void will_wake(redlock_client *c, redlock_lock *lock)
{
	lock->asleep = false;
	lock->next_wake = NULL;
	*c->to_wake_end = lock;
	c->to_wake_end = &lock->next_wake;
}

static redlock_lock *take_to_wake(redlock_client *c)
{
	redlock_lock *first = c->to_wake;
	c->to_wake = NULL;
	c->to_wake_end = &c->to_wake;
	return first;
}

void rl_leave(redlock_client *c)
{
	redlock_lock *woken = take_to_wake(c);
	pthread_mutex_unlock(&c->mutex);
	wake_all(woken);
}

void rl_wait(redlock_client *c, pthread_cond_t *condition)
{
	wake_all(take_to_wake(c));
	pthread_cond_wait(condition, &c->mutex);
}

void rl_wake_done(redlock_client *c, redlock_lock *lock)
{
	if (lock->asleep) {
		quit(c, lock);
		lock->served = true;
		atomic_fetch_add(&c->coming, 1);
		will_wake(c, lock);
	} else if (c->led && c->leader == lock) {
		rl_poller_wake(&c->poller); /* decided by another thread's turn, a cancel or a timer */
	}
}

void rl_pass_lead(redlock_client *c)
{
	if (c->led)
		return;
	if (c->waiters != NULL) {
		if (c->waiters->asleep)
			will_wake(c, c->waiters);
	} else if (c->drainers > 0) {
		rl_wake_drainers(c);
	} else if (c->keeper_runs) {
		pthread_cond_signal(&c->keeper_wake);
	} else if (atomic_load(&c->left)) {
		rl_settle(c); /* nobody sees to it that they are sent in time */
	}
}

/* ---- waiting ---- */

/* The poller fails only when somebody closed its descriptor. Then nothing can be waited for. */
static void give_up(redlock_client *c, redlock_lock *lock)
{
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_SYSTEM});
	lock->done = true;
	lock->done_result = REDLOCK_E_SYSTEM;
}

/* What is there already, counts; and a release goes on, as it ends by itself. */
static void interrupt(redlock_client *c, redlock_lock *lock)
{
	if (lock->done)
		return;
	c->now_ns = rl_clock_now();
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_INTERRUPTED});
	rl_settle(c);
}

static void lead(redlock_client *c, redlock_lock *lock)
{
	c->leader = lock;
	int got = rl_lead(c);
	c->leader = NULL;
	if (got < 0)
		give_up(c, lock);
	else if (got > 0)
		interrupt(c, lock);
}

/* Returns without the mutex. True: a signal came. Then the handle is no longer asleep either: whoever has
 * taken that word back before has posted, or is about to, and the post must not meet the next sleep. */
static bool sleep_until_woken(redlock_client *c, redlock_lock *lock)
{
	lock->served = false;
	lock->asleep = true;
	rl_leave(c);
	if (rl_semaphore_wait(&lock->wake, c->interruptible))
		return false;
	pthread_mutex_lock(&c->mutex);
	bool posted = !lock->asleep;
	lock->asleep = false;
	rl_leave(c);
	if (posted)
		rl_semaphore_wait(&lock->wake, false);
	return true;
}

/* A thread that was woken with its result may be the one that the others have left their bytes to. */
static void go(redlock_client *c)
{
	if (atomic_fetch_sub(&c->coming, 1) > 1 || !atomic_load(&c->left))
		return;
	pthread_mutex_lock(&c->mutex);
	c->now_ns = rl_clock_now();
	if (atomic_load(&c->left))
		rl_settle_together(c);
	rl_leave(c);
}

void rl_wait_done(redlock_client *c, redlock_lock *lock)
{
	join(c, lock);
	while (!lock->done) {
		if (!c->led) {
			lead(c, lock);
			continue;
		}
		bool signalled = sleep_until_woken(c, lock);
		if (lock->served) {
			go(c);
			return;
		}
		pthread_mutex_lock(&c->mutex);
		if (signalled)
			interrupt(c, lock);
	}
	quit(c, lock);
	rl_pass_lead(c);
	rl_leave(c);
}

/* ---- drainers ---- */

void rl_wake_drainers(redlock_client *c)
{
	while (c->asleep_drainers != NULL) {
		struct rl_drainer *drainer = c->asleep_drainers;
		c->asleep_drainers = drainer->next;
		sem_post(&drainer->wake); /* under the mutex, without which it does not go on, and end */
	}
}

int rl_wait_turn(redlock_client *c)
{
	struct rl_drainer drainer = {.next = c->asleep_drainers};
	sem_init(&drainer.wake, 0, 0);
	// cppcheck-suppress autoVariables ; it leaves the list below, before it ends
	c->asleep_drainers = &drainer;
	rl_leave(c);
	bool woken = rl_semaphore_wait(&drainer.wake, c->interruptible);
	pthread_mutex_lock(&c->mutex);
	for (struct rl_drainer **at = &c->asleep_drainers; *at != NULL; at = &(*at)->next)
		if (*at == &drainer) {
			*at = drainer.next;
			break;
		}
	sem_destroy(&drainer.wake);
	return woken ? 0 : 1;
}
