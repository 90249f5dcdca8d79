/* SPDX-License-Identifier: MIT */
/* By how much the clocks of nodes and clients have advanced, for the `tick` of theorems with clocks. */
#ifndef SIM_PROOF_CLOCKS_H
#define SIM_PROOF_CLOCKS_H

#include "theorem.h"
#include "world.h"

/* The clocks at the last tick. */
struct proof_clocks {
	uint64_t world_ns;
	int64_t node_ns[SIM_MAX_NODES], actor_ns[SIM_MAX_ACTORS];
	uint32_t lives[SIM_MAX_ACTORS];
};

/* Since then. A process that has begun meanwhile has lived through nothing. */
struct proof_advance {
	real world, node[SIM_MAX_NODES], actor[SIM_MAX_ACTORS];
};

void proof_clocks_look(const struct world *w, struct proof_clocks *ret);

/* Begins the next tick. `ppm`: what a node's clock may gain. False: no clock has advanced. */
bool proof_clocks_advance(const struct world *w, struct proof_clocks *clocks, uint32_t ppm,
                          struct proof_advance *ret);

/* By how much the clock has advanced that a claim goes by: that of its process, or that of the world once the
 * process has ended, and for a claim of a stranger. */
real proof_advance_of(const struct world *w, const struct proof_advance *advance, uint32_t actor,
                      uint32_t life, bool stranger);

#endif
