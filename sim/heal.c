/* SPDX-License-Identifier: MIT */
/* The first seconds after the faults. See heal.h. */
#include "heal.h"

#include "faults.h"
#include "world.h"

#define STEP_NS (20 * SIM_MS)

/* What the last restart may take, and the longest pause of a client: until then the faults are not over. */
#define LAST_FAULT_NS (5 * SIM_SECOND)

/* A connect that hangs is given up after 3 s, and the next one is made up to 3 s later. */
#define RECONNECT_NS (6 * SIM_SECOND)

/* Many clients that want one lock split the votes now and then, and wait for up to 160 ms before they try
 * again. */
#define CONTENTION_NS (2 * SIM_SECOND)

void heal_granted(struct world *w, unsigned resource)
{
	if (w->heal.on)
		w->heal.granted_ns[resource] = w->now_ns;
}

/* Of some seeds all holders die now. Their keys stay until the TTL, and block nobody for longer. */
static void kill_holders(struct world *w)
{
	for (uint32_t i = 0; i < w->plan.actors; i++) {
		bool holds = false;
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++)
			holds |= w->actors[i].handles[k].held;
		if (holds && !w->actors[i].paused)
			actor_crash(w, i, true);
	}
}

static bool faults_are_over(const struct world *w)
{
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		if (!w->nodes[i].up)
			return false;
	for (uint32_t i = 0; i < w->plan.actors; i++)
		if (w->actors[i].paused)
			return false;
	return true;
}

static bool all_granted(const struct world *w, uint64_t since_ns)
{
	for (unsigned i = 0; i < w->plan.resources; i++)
		if (w->heal.granted_ns[i] < since_ns)
			return false;
	return true;
}

static void wait_for_grants(struct world *w)
{
	uint64_t since_ns = w->now_ns, longest_ns = plan_longest_ttl_ns(&w->plan);
	uint64_t by_ns = since_ns + (longest_ns > RECONNECT_NS ? longest_ns : RECONNECT_NS) + CONTENTION_NS;
	while (!all_granted(w, since_ns) && !w->check.failed) {
		if (w->now_ns > by_ns)
			check_fail(w, VIOLATION_STANDSTILL, "nobody acquired a resource within %.3f ms",
			           (double)(w->now_ns - since_ns) / (double)SIM_MS);
		world_run(w, w->now_ns + STEP_NS);
	}
	if (w->now_ns - since_ns > w->cover->slowest_heal_ns)
		w->cover->slowest_heal_ns = w->now_ns - since_ns;
}

void heal_run(struct world *w)
{
	if (prng_chance(&w->work, 500))
		kill_holders(w);
	faults_end(w);
	for (uint32_t i = 0; i < w->links.count; i++)
		if (w->links.conns[i].silent && !w->links.conns[i].client_gone)
			link_reset(w, i, true);
	w->heal.on = true;
	for (uint32_t i = 0; i < w->plan.actors; i++)
		for (uint32_t k = 0; w->actors[i].alive && k < SIM_MAX_HANDLES; k++)
			handle_plan(w, i, k, prng_below(&w->work, 100) * SIM_MS);
	uint64_t by_ns = w->now_ns + LAST_FAULT_NS + 2 * plan_longest_ttl_ns(&w->plan);
	while (!faults_are_over(w) && w->now_ns < by_ns && !w->check.failed)
		world_run(w, w->now_ns + STEP_NS);
	wait_for_grants(w);
	w->heal.on = false;
}
