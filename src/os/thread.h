/* SPDX-License-Identifier: MIT */
/* Threads of the library, which block all signals; and callers' threads, which are not cancelled inside of a
 * call. */
#ifndef RL_OS_THREAD_H
#define RL_OS_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(), with all signals blocked in the new thread. Returns 0 or -errno. */
static inline int rl_thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                                  void *argument)
{
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(ret, attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
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

#endif
