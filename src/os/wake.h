/* SPDX-License-Identifier: MIT */
/*
 * How a thread sleeps until another one wakes it: by a semaphore; where signals are to end the sleep, by a
 * descriptor, as no call lets signals in and waits for a semaphore in one step.
 */
#ifndef RL_OS_WAKE_H
#define RL_OS_WAKE_H

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>

struct rl_wake {
	sem_t semaphore;
	int bell; /* -1: the semaphore is used */
};

/* For one sleep, before anybody may post: `signals` as for rl_wake_await(). Returns 0 or -errno; then there
 * is nothing to close. */
int rl_wake_open(struct rl_wake *wake, const sigset_t *signals);
void rl_wake_close(struct rl_wake *wake);

/* Any thread. Once it is posted, the sleeper may be gone. */
void rl_wake_post(struct rl_wake *wake);

/* Sleeps until a post. False: a signal handler has run instead. `signals`: those that are blocked meanwhile;
 * NULL: no signal ends the sleep. */
bool rl_wake_await(struct rl_wake *wake, const sigset_t *signals);

#endif
