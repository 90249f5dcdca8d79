/* SPDX-License-Identifier: MIT */
/*
 * Faults of clocks. What the library allows for is a node's clock that gets ahead of a client's by at most 2
 * ms and 1 % of the TTL during a lease, whether by its rate or by a jump. The other way round (a node that is
 * set back, a client that is ahead) costs time, never safety, so that any size is tried.
 */
#include "faults_inside.h"

static int32_t any_rate(struct world *w)
{
	return (int32_t)prng_between(&w->chaos, 0, 2 * (uint64_t)w->plan.rate_ppm) - w->plan.rate_ppm;
}

/* A jump of a size that is allowed once per lease: whether the last one is long enough ago. */
static bool is_due(const struct world *w, uint64_t *last_ns)
{
	if (*last_ns != 0 && w->now_ns - *last_ns < plan_longest_ttl_ns(&w->plan))
		return false;
	*last_ns = w->now_ns;
	return true;
}

/* Farther than any allowance reaches. */
static uint64_t beyond(struct world *w)
{
	return between_ms(w, w->plan.ttl_ms_min, 3 * w->plan.ttl_ms_max);
}

/* ---- nodes ---- */

static bool jump(struct world *w, uint32_t node, int64_t step_ns)
{
	TRACE(w, "n%u's clock jumps by %.3f ms", node, (double)step_ns / (double)SIM_MS);
	drift_jump(&w->nodes[node].clock, w->now_ns, step_ns);
	check_clocks(w);
	return true;
}

bool fault_node_drift(struct world *w, int unused)
{
	struct node *n = &w->nodes[any_node(w)];
	drift_set_rate(&n->clock, w->now_ns, any_rate(w));
	check_clocks(w);
	return true;
}

bool fault_node_jump(struct world *w, int unused)
{
	uint32_t node = any_node(w);
	if (w->plan.broken == BREAK_NODE_JUMP)
		return jump(w, node, (int64_t)beyond(w));
	uint64_t step_ns = prng_below(&w->chaos, w->plan.node_jump_ns + 1);
	return is_due(w, &w->nodes[node].jumped_ns) && jump(w, node, (int64_t)step_ns);
}

bool fault_node_step_back(struct world *w, int unused)
{
	uint32_t node = any_node(w);
	uint64_t step_ns = prng_below(&w->chaos, w->plan.step_back_ns + 1);
	return is_due(w, &w->nodes[node].stepped_back_ns) && jump(w, node, -(int64_t)step_ns);
}

/* ---- clients ---- */

bool fault_client_drift(struct world *w, int unused)
{
	uint32_t actor = any_actor(w);
	actor_set_rate(w, actor, any_rate(w));
	return true;
}

/* Time that the process did not live through: the host was suspended while nothing ran, or corrected itself.
 */
bool fault_client_jump(struct world *w, int unused)
{
	uint32_t actor = any_actor(w);
	actor_jump(w, actor, prng_below(&w->chaos, 2 * w->plan.ttl_ms_max * SIM_MS));
	return true;
}

/* A virtual machine that is stopped: its processes and its clock stand still. */
bool fault_client_freeze(struct world *w, int unused)
{
	struct actor *a = any_process(w);
	bool broken = w->plan.broken == BREAK_CLIENT_JUMP;
	uint64_t for_ns = broken ? beyond(w) : prng_below(&w->chaos, w->plan.client_freeze_ns + 1);
	if (a == NULL || (!broken && !is_due(w, &a->frozen_ns)))
		return false;
	actor_freeze(w, a->index, for_ns);
	return true;
}
