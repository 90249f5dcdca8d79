/* SPDX-License-Identifier: MIT */
/* How a client gives up what it has and pays its debts, as a one-shot command does before it exits. */
#include "client.h"
#include "world.h"

#define RETIRE_STEP_NS (10 * SIM_MS)

static struct redlock_node_status status_of(struct world *w, const struct actor *a, unsigned i)
{
	struct redlock_node_status status = {.size = sizeof status, .owed = 1};
	if (redlock_node_status(a->client, i, &status) != 0)
		check_fail(w, VIOLATION_RESULT, "redlock_node_status() failed");
	return status;
}

bool actor_owes(struct world *w, uint32_t actor, uint32_t node)
{
	const struct actor *a = &w->actors[actor];
	unsigned i = 0;
	while (a->order[i] != node)
		i++;
	actor_enter(w, actor);
	struct redlock_node_status status = status_of(w, a, i);
	actor_leave(w);
	return status.owed != 0 || status.lingering != 0;
}

/* A release for somebody else's token is owed to a node that lets nobody in until the process ends. So is a
 * release that had no room after its claim, which then never left. */
static bool never_payable(const struct world *w, unsigned node)
{
	return w->nodes[node].other_password || w->nodes[node].no_database;
}

uint32_t actor_debt(struct world *w, uint32_t actor)
{
	const struct actor *a = &w->actors[actor];
	for (unsigned i = 0; a->alive && i < a->node_count; i++)
		if (status_of(w, a, i).owed != 0 && !never_payable(w, a->order[i]))
			return a->order[i];
	return SIM_MAX_NODES;
}

void actor_unsettle(struct world *w, uint32_t actor)
{
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		check_owes(w, actor, i);
}

static bool has_own_release(const struct rl_outbox *outbox)
{
	for (unsigned i = 0; i < outbox->count; i++)
		if (rl_outbox_at(outbox, i)->own_value && rl_ops[rl_outbox_at(outbox, i)->operation].gives_back)
			return true;
	return false;
}

void actor_spoil(struct world *w, uint32_t actor, bool closes)
{
	struct actor *a = &w->actors[actor];
	bool late = false;
	for (unsigned i = 0; i < a->client->nodes.count; i++) {
		const struct rl_node *n = &a->client->nodes.list[i];
		late |= n->ledger.ghost_own || has_own_release(&n->link.outbox) || has_own_release(&n->talk.parked) ||
		        has_own_release(&n->ledger.debts);
	}
	for (unsigned i = 0; i < SIM_MAX_HANDLES && closes; i++)
		late |= a->handles[i].options.token != NULL &&
		        (a->handles[i].owned || a->handles[i].running != REDLOCK_OP_NONE);
	a->values += late && w->plan.broken != BREAK_OWN_VALUE;
}

bool actor_wind_down(struct world *w, uint32_t actor)
{
	struct actor *a = &w->actors[actor];
	bool quiet = true;
	if (!a->alive || a->paused)
		return false;
	actor_enter(w, actor);
	for (uint32_t i = 0; i < SIM_MAX_HANDLES; i++)
		quiet &= handle_wind_down(w, actor, i);
	bool settled = quiet;
	for (unsigned i = 0; quiet && i < a->node_count; i++) {
		struct redlock_node_status status = status_of(w, a, i);
		if (status.owed == 0 && status.lingering == 0)
			check_settled(w, actor, a->order[i]);
		else
			check_owes(w, actor, a->order[i]);
		settled &= status.owed == 0 || never_payable(w, a->order[i]);
	}
	actor_leave(w);
	return settled;
}

static void retire_step(struct world *w, uint32_t actor, uint64_t life)
{
	struct actor *a = &w->actors[actor];
	if (a->life != life || !a->alive || w->winding_down)
		return;
	bool settled = actor_wind_down(w, actor);
	if (settled)
		world_hit(w, COVER_SETTLED);
	if (settled || (w->now_ns >= a->retire_by_ns && !a->paused))
		actor_close(w, actor);
	else
		world_after(w, RETIRE_STEP_NS, retire_step, actor, life);
}

void actor_retire(struct world *w, uint32_t actor)
{
	struct actor *a = &w->actors[actor];
	TRACE(w, "c%u settles", actor);
	a->retiring = true;
	a->retire_by_ns = w->now_ns + 3 * SIM_SECOND;
	retire_step(w, actor, a->life);
}
