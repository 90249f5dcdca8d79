/* SPDX-License-Identifier: MIT */
/* The one opt-in thread. It leads while nobody else does, which is all that renewals and notices need: what
 * to renew and when is decided by the core. */
#include "keeper.h"

#include "client.h"
#include "operate.h"
#include "os/thread.h"
#include "turn.h"

static void *keep(void *argument)
{
	redlock_client *c = argument;
	rl_loop_enter(&c->loop);
	while (!c->loop.keeper_stops) {
		if (!c->loop.led && rl_turn_lead(c, NULL) >= 0)
			continue;
		rl_turn_pass_lead(c);
		rl_loop_wait(&c->loop, &c->loop.keeper_wake);
	}
	rl_turn_pass_lead(c); /* another thread may have waited for this one */
	rl_loop_leave(&c->loop);
	return NULL;
}

/* The keeper counts as running until it is joined, so that no second one is started meanwhile; only one
 * caller joins it. */
void rl_keeper_end(redlock_client *c)
{
	rl_loop_enter(&c->loop);
	bool ours = c->loop.keeper_runs && !c->loop.keeper_stops;
	struct rl_thread keeper = c->loop.keeper;
	if (ours) {
		c->loop.keeper_stops = true;
		rl_thread_signal(&c->loop.keeper_wake);
		rl_poller_wake(&c->loop.poller);
	}
	rl_loop_leave(&c->loop);
	if (!ours)
		return;
	rl_thread_join(&keeper);
	rl_loop_enter(&c->loop);
	c->loop.keeper_runs = c->loop.keeper_stops = false;
	rl_loop_look(&c->loop);
	rl_operate_check_kept(c);
	rl_turn_settle(c);
	rl_loop_leave(&c->loop);
}

static int start(redlock_client *c)
{
	int error = 0;
	rl_loop_enter(&c->loop);
	if (c->loop.keeper_runs)
		error = REDLOCK_E_STATE;
	else if (rl_thread_start(&c->loop.keeper, keep, c) < 0)
		error = REDLOCK_E_SYSTEM;
	else
		c->loop.keeper_runs = true;
	rl_loop_leave(&c->loop);
	return error;
}

int redlock_keeper_start(redlock_client *c)
{
	int error = rl_client_check(c);
	unsigned started = 0;
	while (error == 0 && started < rl_client_count(c)) {
		error = start(rl_client_part(c, started));
		started += error == 0;
	}
	while (error < 0 && started > 0)
		rl_keeper_end(rl_client_part(c, --started));
	return error;
}

int redlock_keeper_stop(redlock_client *c)
{
	RL_NO_CANCEL;
	int error = rl_client_check(c);
	for (unsigned i = 0; error == 0 && i < rl_client_count(c); i++)
		rl_keeper_end(rl_client_part(c, i));
	return error;
}
