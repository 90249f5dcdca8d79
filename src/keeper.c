/* SPDX-License-Identifier: MIT */
/* The one opt-in thread. It leads while nobody else does, which is all that renewals and notices need: what
 * to renew and when is decided by the core. */
#include <signal.h>

#include "client.h"

static void *keep(void *argument)
{
	redlock_client *c = argument;
	pthread_mutex_lock(&c->mutex);
	while (!c->keeper_stops) {
		if (c->led || rl_lead(c) < 0)
			pthread_cond_wait(&c->keeper_wake, &c->mutex);
	}
	rl_leave(c);
	return NULL;
}

static int start_thread(redlock_client *c)
{
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&c->keeper, NULL, keep, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error == 0 ? 0 : REDLOCK_E_SYSTEM;
}

int redlock_keeper_start(redlock_client *c)
{
	int error = rl_enter(c);
	if (error < 0)
		return error;
	c->keeper_stops = false;
	error = c->keeper_runs ? REDLOCK_E_STATE : start_thread(c);
	if (error == 0)
		c->keeper_runs = true;
	rl_leave(c);
	return error;
}

void rl_keeper_end(redlock_client *c)
{
	pthread_mutex_lock(&c->mutex);
	bool runs = c->keeper_runs;
	c->keeper_stops = true;
	c->keeper_runs = false;
	pthread_cond_signal(&c->keeper_wake);
	if (runs)
		rl_poller_wake(&c->poller);
	rl_leave(c);
	if (runs)
		pthread_join(c->keeper, NULL);
}

int redlock_keeper_stop(redlock_client *c)
{
	if (rl_forkmark_is_child(&c->forkmark))
		return REDLOCK_E_FORKED;
	rl_keeper_end(c);
	return 0;
}
