/* SPDX-License-Identifier: MIT */
#include "proof_clocks.h"

#include "proof_clients.h"

void proof_clocks_look(const struct world *w, struct proof_clocks *ret)
{
	ret->world_ns = w->now_ns;
	for (unsigned i = 0; i < w->plan.nodes; i++)
		ret->node_ns[i] = (int64_t)drift_local(&w->nodes[i].clock, w->now_ns);
	for (unsigned i = 0; i < w->plan.actors; i++) {
		ret->actor_ns[i] = proof_actor_ns(w, &w->actors[i]);
		ret->lives[i] = w->actors[i].life;
	}
}

bool proof_clocks_advance(const struct world *w, struct proof_clocks *clocks, uint32_t ppm,
                          struct proof_advance *ret)
{
	const struct proof_clocks was = *clocks;
	proof_clocks_look(w, clocks);
	*ret = (struct proof_advance){.world = (int64_t)(clocks->world_ns - was.world_ns) * UNIT};
	bool moved = ret->world != 0;
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		ret->node[i] = (clocks->node_ns[i] - was.node_ns[i]) * (UNIT - ppm);
		moved |= ret->node[i] != 0;
	}
	for (unsigned i = 0; i < w->plan.actors; i++) {
		if (clocks->lives[i] == was.lives[i])
			ret->actor[i] = (clocks->actor_ns[i] - was.actor_ns[i]) * UNIT;
		moved |= ret->actor[i] != 0;
	}
	return moved;
}

real proof_advance_of(const struct world *w, const struct proof_advance *advance, uint32_t actor,
                      uint32_t life, bool stranger)
{
	return !stranger && life == w->actors[actor].life ? advance->actor[actor] : advance->world;
}
