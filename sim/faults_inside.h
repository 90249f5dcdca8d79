/* SPDX-License-Identifier: MIT */
/* Shared by the files of faults: faults.c (the table; connections, nodes, clients), faults_clock.c. */
#ifndef SIM_FAULTS_INSIDE_H
#define SIM_FAULTS_INSIDE_H

#include "faults.h"
#include "world.h"

static inline uint64_t between_ms(struct world *w, uint64_t low_ms, uint64_t high_ms)
{
	return prng_between(&w->chaos, low_ms, high_ms) * SIM_MS;
}

static inline uint32_t any_node(struct world *w)
{
	return (uint32_t)prng_below(&w->chaos, w->plan.nodes);
}

static inline uint32_t any_actor(struct world *w)
{
	return (uint32_t)prng_below(&w->chaos, w->plan.actors);
}

/* A client whose process runs; NULL: none at hand. */
static inline struct actor *any_process(struct world *w)
{
	struct actor *a = &w->actors[any_actor(w)];
	return a->alive && !a->paused && !a->retiring ? a : NULL;
}

/* faults_clock.c */
bool fault_node_drift(struct world *w, int unused);
bool fault_node_jump(struct world *w, int unused);
bool fault_node_step_back(struct world *w, int unused);
bool fault_client_drift(struct world *w, int unused);
bool fault_client_jump(struct world *w, int unused);
bool fault_client_freeze(struct world *w, int unused);

#endif
