/* SPDX-License-Identifier: MIT */
/* The one opt-in thread. It leads while nobody else does, which is all that renewals and notices need: what
 * to renew and when is decided by the core. */
#include "client.h"
#include "os/thread.h"

static void *keep(void *argument)
{
	redlock_client *c = argument;
	pthread_mutex_lock(&c->loop.mutex);
	while (!c->loop.keeper_stops) {
		if (!c->loop.led && rl_turn_lead(c) >= 0)
			continue;
		rl_wait_pass_lead(c);
		rl_loop_wait(&c->loop, &c->loop.keeper_wake);
	}
	rl_wait_pass_lead(c); /* somebody may have waited behind this thread */
	rl_client_leave(c);
	return NULL;
}

int redlock_keeper_start(redlock_client *c)
{
	int error = rl_client_enter(c);
	if (error < 0)
		return error;
	if (c->loop.keeper_runs)
		error = REDLOCK_E_STATE;
	else if (rl_thread_start(&c->loop.keeper, NULL, keep, c) < 0)
		error = REDLOCK_E_SYSTEM;
	else
		c->loop.keeper_runs = true;
	rl_client_leave(c);
	return error;
}

/* It runs until it is joined, so that no second one is started meanwhile; only one caller joins it. */
void rl_keeper_end(redlock_client *c)
{
	pthread_mutex_lock(&c->loop.mutex);
	bool ours = c->loop.keeper_runs && !c->loop.keeper_stops;
	pthread_t keeper = c->loop.keeper;
	if (ours) {
		c->loop.keeper_stops = true;
		pthread_cond_signal(&c->loop.keeper_wake);
		rl_poller_wake(&c->loop.poller);
	}
	rl_client_leave(c);
	if (!ours)
		return;
	pthread_join(keeper, NULL);
	pthread_mutex_lock(&c->loop.mutex);
	c->loop.keeper_runs = c->loop.keeper_stops = false;
	rl_client_leave(c);
}

int redlock_keeper_stop(redlock_client *c)
{
	RL_NO_CANCEL;
	if (c == NULL)
		return REDLOCK_E_INVAL;
	if (rl_forkmark_is_child(&c->forkmark))
		return REDLOCK_E_FORKED;
	rl_keeper_end(c);
	return 0;
}
