/* SPDX-License-Identifier: MIT */
/*
 * Threads, mutexes and conditions: everything that src uses of pthreads. Threads of the library block all
 * signals; callers' threads are not cancelled inside of a call. A build without threads changes this file,
 * and what links pthreads.
 */
#ifndef RL_OS_THREAD_H
#define RL_OS_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* ---- threads ---- */

struct rl_thread {
	pthread_t id;
};

/* Sets which signals the calling thread blocks, as sigprocmask(2). */
static inline void rl_thread_mask(int how, const sigset_t *signals, sigset_t *before)
{
	pthread_sigmask(how, signals, before);
}

static inline int rl_thread_create(struct rl_thread *ret, const pthread_attr_t *attributes,
                                   void *(*run)(void *), void *argument)
{
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	rl_thread_mask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&ret->id, attributes, run, argument);
	rl_thread_mask(SIG_SETMASK, &before, NULL);
	return -error;
}

/* Starts a thread that rl_thread_join() waits for. Returns 0 or -errno. */
static inline int rl_thread_start(struct rl_thread *ret, void *(*run)(void *), void *argument)
{
	return rl_thread_create(ret, NULL, run, argument);
}

static inline void rl_thread_join(const struct rl_thread *thread)
{
	pthread_join(thread->id, NULL);
}

/* Starts a thread that nobody joins, with this much stack for its own functions. Returns 0 or -errno. */
static inline int rl_thread_detach(size_t stack_bytes, void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	struct rl_thread thread;
	int error = pthread_attr_init(&attributes);
	if (error != 0)
		return -error;
	long least = sysconf(_SC_THREAD_STACK_MIN); /* with what thread-local variables of the program need */
	(void)pthread_attr_setstacksize(&attributes, stack_bytes + (least > 0 ? (size_t)least : 0));
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = rl_thread_create(&thread, &attributes, run, argument);
	pthread_attr_destroy(&attributes);
	return error;
}

static inline int rl_thread_defer_cancel(void)
{
	int state;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void rl_thread_restore_cancel(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

/* pthread_cancel(3) waits until the function that has this among its variables returns. A thread that was
 * ended in the middle would take the mutex with it, or the lead. */
#define RL_NO_CANCEL                                                                                         \
	int rl_cancel_state __attribute__((cleanup(rl_thread_restore_cancel), unused)) = rl_thread_defer_cancel()

/* ---- mutexes ---- */

struct rl_mutex {
	pthread_mutex_t mutex;
};

/* clang-format off */ /* its versions do not agree on this */
#define RL_MUTEX_INITIALIZER {PTHREAD_MUTEX_INITIALIZER}
/* clang-format on */

static inline void rl_thread_init_mutex(struct rl_mutex *m)
{
	pthread_mutex_init(&m->mutex, NULL);
}

static inline void rl_thread_destroy_mutex(struct rl_mutex *m)
{
	pthread_mutex_destroy(&m->mutex);
}

/* Macros, because an acquire passes them several times, and counts no more functions for it
 * (tests/budget/passes.py). */
#define rl_thread_lock(m) ((void)pthread_mutex_lock(&(m)->mutex))
#define rl_thread_unlock(m) ((void)pthread_mutex_unlock(&(m)->mutex))

/* False: another thread has locked the mutex. */
static inline bool rl_thread_try_lock(struct rl_mutex *m)
{
	return pthread_mutex_trylock(&m->mutex) == 0;
}

/* ---- conditions ---- */

struct rl_condition {
	pthread_cond_t condition;
};

static inline void rl_thread_init_condition(struct rl_condition *c)
{
	pthread_cond_init(&c->condition, NULL);
}

static inline void rl_thread_destroy_condition(struct rl_condition *c)
{
	pthread_cond_destroy(&c->condition);
}

/* Wakes one thread that waits. */
static inline void rl_thread_signal(struct rl_condition *c)
{
	pthread_cond_signal(&c->condition);
}

/* Unlocks the mutex, waits for a signal, and locks the mutex again. May also return without a signal. */
static inline void rl_thread_wait(struct rl_condition *c, struct rl_mutex *m)
{
	pthread_cond_wait(&c->condition, &m->mutex);
}

#endif
