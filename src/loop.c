/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <stddef.h>

#include "core/time.h"
#include "os/clock.h"

void rl_loop_init(struct rl_loop *l, bool interruptible)
{
	rl_thread_init_mutex(&l->mutex);
	rl_thread_init_condition(&l->keeper_wake);
	l->poller = (struct rl_poller){.fd = -1, .timer_fd = -1, .wake_fd = -1, .set_fd = -1};
	l->to_wake_end = &l->to_wake;
	l->interruptible = interruptible;
}

bool rl_loop_is_whole(struct rl_loop *l)
{
	if (!rl_thread_try_lock(&l->mutex))
		return false;
	rl_thread_unlock(&l->mutex);
	return true;
}

/* Conditions are not destroyed in a child process: that waits for waiters, who live in the parent. */
void rl_loop_close(struct rl_loop *l, bool child)
{
	rl_poller_close(&l->poller);
	rl_schedule_free(&l->schedule);
	if (child)
		return;
	rl_thread_destroy_condition(&l->keeper_wake);
	rl_thread_destroy_mutex(&l->mutex);
}

/* ---- time ---- */

/* A thousand times what lies between two readings. */
#define NOISE_NS 50000

/* An interruption between the two readings makes the wall clock seem too early: of several readings, the one
 * that is farthest ahead is right. */
enum { READINGS = 4 };

/* The wall clock seems to be elsewhere. Returns by how much it has leapt ahead. Both clocks run at the same
 * rate, whatever disciplines them, so that a difference means that the wall clock was set. A difference below
 * the noise is added to the next one, since the account stays as it is. */
static uint64_t settle_leap(struct rl_loop *l, int64_t ahead_ns)
{
	for (unsigned i = 0; i < READINGS; i++) {
		int64_t again_ns;
		l->now_ns = rl_clock_read(&again_ns);
		if (again_ns > ahead_ns)
			ahead_ns = again_ns;
	}
	int64_t moved_ns = ahead_ns - l->ahead_ns;
	if (moved_ns < -NOISE_NS || moved_ns > NOISE_NS)
		l->ahead_ns = ahead_ns;
	return moved_ns > NOISE_NS ? (uint64_t)moved_ns : 0;
}

void rl_loop_look(struct rl_loop *l)
{
	int64_t ahead_ns;
	l->now_ns = rl_clock_read(&ahead_ns);
	int64_t moved_ns = ahead_ns - l->ahead_ns;
	bool same = -NOISE_NS <= moved_ns && moved_ns <= NOISE_NS;
	if (!same)
		l->leap_ns = rl_time_add(l->leap_ns, settle_leap(l, ahead_ns));
}

/* ---- in and out ---- */

/* Once somebody is posted, the waiter is its thread's own again, and may be gone. */
static void wake_all(struct rl_waiter *first)
{
	while (first != NULL) {
		struct rl_waiter *next = first->next_wake;
		rl_wake_post(&first->wake);
		first = next;
	}
}

static struct rl_waiter *take_to_wake(struct rl_loop *l)
{
	struct rl_waiter *first = l->to_wake;
	l->to_wake = NULL;
	l->to_wake_end = &l->to_wake;
	return first;
}

void rl_loop_enter(struct rl_loop *l)
{
	rl_thread_lock(&l->mutex);
}

void rl_loop_enter_now(struct rl_loop *l)
{
	rl_loop_enter(l);
	rl_loop_look(l);
}

void rl_loop_enter_expected(struct rl_loop *l)
{
	atomic_fetch_add(&l->expected, 1);
	rl_loop_enter_now(l);
	atomic_fetch_sub(&l->expected, 1);
}

void rl_loop_leave(struct rl_loop *l)
{
	struct rl_waiter *woken = l->to_wake != NULL ? take_to_wake(l) : NULL;
	rl_thread_unlock(&l->mutex);
	if (woken != NULL)
		wake_all(woken);
}

void rl_loop_wait(struct rl_loop *l, struct rl_condition *condition)
{
	wake_all(take_to_wake(l));
	rl_thread_wait(condition, &l->mutex);
}

/* ---- waiters ---- */

void rl_loop_join(struct rl_loop *l, struct rl_waiter *waiter)
{
	waiter->next = NULL;
	waiter->previous = l->last_waiter;
	*(l->last_waiter != NULL ? &l->last_waiter->next : &l->waiters) = waiter;
	l->last_waiter = waiter;
}

void rl_loop_quit(struct rl_loop *l, const struct rl_waiter *waiter)
{
	*(waiter->previous != NULL ? &waiter->previous->next : &l->waiters) = waiter->next;
	*(waiter->next != NULL ? &waiter->next->previous : &l->last_waiter) = waiter->previous;
}

void rl_loop_will_wake(struct rl_loop *l, struct rl_waiter *waiter)
{
	waiter->asleep = false;
	waiter->next_wake = NULL;
	*l->to_wake_end = waiter;
	l->to_wake_end = &waiter->next_wake;
}

void rl_loop_serve(struct rl_loop *l, struct rl_waiter *waiter, int result)
{
	waiter->result = result;
	waiter->done = true;
	if (waiter->asleep) {
		rl_loop_quit(l, waiter);
		waiter->served = true;
		atomic_fetch_add(&l->expected, 1);
		rl_loop_will_wake(l, waiter);
	} else if (l->led && l->leader == waiter) {
		rl_poller_wake(&l->poller); /* decided by another thread's turn, a cancel or a timer */
	}
}

void rl_loop_wake_drainers(struct rl_loop *l)
{
	while (l->asleep_drainers != NULL) {
		struct rl_drainer *drainer = l->asleep_drainers;
		l->asleep_drainers = drainer->next;
		rl_wake_post(&drainer->wake); /* under the mutex, without which it does not go on, and end */
	}
}
