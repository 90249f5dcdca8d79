/* SPDX-License-Identifier: MIT */
/* Threads of the library: signals of the process are none of their business. */
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

#endif
