/* SPDX-License-Identifier: MIT */
/* The seam: the clock of the client whose calls run. */
#include "os/clock.h"

#include "world.h"

uint64_t rl_clock_now(void)
{
	return actor_now(sim_world, sim_world->current);
}
