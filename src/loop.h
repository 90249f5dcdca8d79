/* SPDX-License-Identifier: MIT */
/*
 * The loop of a client: its mutex and poller, its timers, and the threads that sleep until one of them has
 * taken a turn for all. turn.c has what a turn does, blocking.c decides which thread takes it.
 *
 * All of it is under the mutex, except the atomics.
 */
#ifndef RL_LOOP_H
#define RL_LOOP_H

#include <stdatomic.h>

#include <redlock/redlock.h>

#include "core/time.h"
#include "os/poller.h"
#include "os/thread.h"
#include "os/wake.h"
#include "schedule.h"

/* A thread that waits for a result. It lives on that thread's stack. */
struct rl_waiter {
	struct rl_waiter *previous;
	struct rl_waiter *next;
	struct rl_waiter *next_wake;
	int result; /* once it is `done` */
	bool done;
	bool asleep; /* it waits for `wake`: nobody has posted it, or is about to */
	bool served; /* woken with its result: nothing is left to be done for it under the mutex */
	struct rl_wake wake;
	const sigset_t *signals; /* blocked while it waits; NULL: no signal ends the wait */
};

/* A thread that waits in redlock_drain() for the turns of another one. */
struct rl_drainer {
	struct rl_drainer *next;
	struct rl_wake wake;
};

struct rl_loop {
	struct rl_mutex mutex;
	struct rl_poller poller;
	struct rl_schedule schedule;
	bool interruptible; /* blocking calls end when a signal handler has run in their thread */

	/* each turn */
	uint64_t now_ns; /* also set by threads that enter */
	/* Time that has passed although CLOCK_BOOTTIME does not show it: a virtual machine that was paused, or
	 * restored from a snapshot, and a process that was restored (CRIU) go on with the time that they had. The
	 * wall clock tells, as soon as it is set right: it leaps ahead. docs/decisions/time.md */
	int64_t ahead_ns;   /* so far the wall clock is ahead, as far as it is accounted for */
	uint64_t leap_ns;   /* what the handles have not been told of yet: rl_operate_catch_up() */
	uint64_t leapt_ns;  /* what they have, since the client was opened */
	uint64_t looked_ns; /* when the sockets were last looked at */

	/* the thread that leads: turn.c */
	bool led;                       /* a thread waits in the poller for all */
	const struct rl_waiter *leader; /* that thread waits for its result; NULL: none in particular */

	/* blocking.c: the waiting threads. A thread that has a result for one of them, or the lead, puts it on
	 * `to_wake` */
	struct rl_waiter *waiters; /* the longest first */
	struct rl_waiter *last_waiter;
	struct rl_waiter *to_wake; /* by the next thread that leaves the mutex */
	struct rl_waiter **to_wake_end;

	/* redlock_drain() */
	unsigned drainers;
	uint64_t drain_until_ns;
	struct rl_drainer *asleep_drainers;

	/* turn.c: who sends for the others, docs/decisions/threads.md */
	atomic_uint expected; /* threads on their way into the mutex, or woken with a result and not out yet */
	atomic_bool deferred; /* there may be bytes that one of them is to send */
	uint64_t deferred_since_ns;

	/* keeper.c */
	bool driven; /* the program has called redlock_process(), as event loops do */
	bool keeper_runs;
	bool keeper_stops;
	struct rl_thread keeper;
	struct rl_condition keeper_wake;
};

void rl_loop_init(struct rl_loop *loop, bool interruptible);

/* A `child` process does not touch what waiters in its parent have to do with. */
void rl_loop_close(struct rl_loop *loop, bool child);

/* Reads the time: sets `now_ns`, and adds to `leap_ns` by how much the wall clock has leapt ahead since the
 * last look. A clock that was set back is not reported, and counts against nothing: when it is set forward
 * again, that is a leap. */
void rl_loop_look(struct rl_loop *loop);

/* ---- in and out: the only ways ---- */

/* In a child process: whether no other thread was changing anything when the process was forked. If not, the
 * mutex stays locked for ever, and the data that it protects may be inconsistent. */
bool rl_loop_is_whole(struct rl_loop *loop);

/* `now_ns` stays what it was: for calls that need no time. */
void rl_loop_enter(struct rl_loop *loop);

/* Sets `now_ns` as well: for calls that do something. */
void rl_loop_enter_now(struct rl_loop *loop);

/* As rl_loop_enter(), for a thread that is expected meanwhile: others may leave it to this thread to send. */
void rl_loop_enter_expected(struct rl_loop *loop);

/* Unlocks, then wakes: who is woken finds the mutex free. */
void rl_loop_leave(struct rl_loop *loop);

/* Waits for one of the loop's conditions. */
void rl_loop_wait(struct rl_loop *loop, struct rl_condition *condition);

/* ---- waiters: on the list from the first to the last ---- */

void rl_loop_join(struct rl_loop *loop, struct rl_waiter *waiter);
void rl_loop_quit(struct rl_loop *loop, const struct rl_waiter *waiter);

/* The next thread that leaves the mutex will post this waiter. */
void rl_loop_will_wake(struct rl_loop *loop, struct rl_waiter *waiter);

/* Gives the waiter its result. */
void rl_loop_serve(struct rl_loop *loop, struct rl_waiter *waiter, int result);

/* A turn has ended, or the lead is free. */
void rl_loop_wake_drainers(struct rl_loop *loop);

#endif
