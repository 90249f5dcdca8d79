/* SPDX-License-Identifier: MIT */
/* Passes what happens on to the checker of each theorem, and tells what they say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/round.h"
#include "proof_all.h"
#include "proof_clients.h"
#include "theorem.h"
#include "world.h"

const char *const proof_theorems[PROOF_THEOREMS] = {"lock", "several", "fence", "guard", "shared", "members"};

void proof_print(const struct cover *cover)
{
	static const char *const *const actions[PROOF_THEOREMS] = {
	    [PROOF_LOCK] = plain_actions, [PROOF_SEVERAL] = several_names, [PROOF_FENCE] = fence_names,
	    [PROOF_GUARD] = guard_names,  [PROOF_SHARED] = shared_names,   [PROOF_MEMBERS] = members_names};
	printf("%" PRIu64 " histories of names, each from when it was free, are those of the theorems\n",
	       cover->histories);
	for (unsigned t = 0; t < PROOF_THEOREMS; t++) {
		if (actions[t] == NULL)
			continue;
		printf("actions of the theorem %s:\n", proof_theorems[t]);
		for (unsigned i = 0; actions[t][i] != NULL; i++)
			printf("  %12" PRIu64 "  %s\n", cover->proof[t][i], actions[t][i]);
	}
}

void proof_begin(struct world *w)
{
	if (w->plan.joins) /* the theorems are about one list of nodes */
		return;
	plain_begin(w);
	several_begin(w);
	fence_begin(w);
	guard_begin(w);
	shared_begin(w);
	members_begin(w);
}

void proof_end(struct world *w)
{
	plain_end(w);
	several_end(w);
	fence_end(w);
	guard_end(w);
	shared_end(w);
	members_end(w);
}

/* Compares what each client relies on now. */
static void look(struct world *w)
{
	struct proof_clients clients;
	guard_time(w);
	proof_clients(w, &clients);
	several_look(w, &clients);
	fence_look(w, &clients);
	guard_look(w, &clients);
	shared_look(w, &clients);
	members_look(w, &clients);
}

void proof_tick(struct world *w, bool all)
{
	plain_tick(w, all);
}

void proof_new(struct world *w, const struct rl_lock *lock)
{
	plain_new(w, lock);
}

struct proof_before proof_before(struct world *w, const struct rl_lock *l, const struct rl_event *e)
{
	look(w);
	plain_ready(w, l, e);
	return (struct proof_before){
	    .phase = l->phase,
	    .claims = l->claim.open,
	    .open = l->round.open,
	    .operation = l->round.operation,
	    .seq = l->round.seq,
	    .t0_ns = l->round.t0_ns,
	    .until_ns = l->valid_until_ns,
	    .yes = rl_round_voted(l, REDLOCK_VOTE_YES),
	};
}

void proof_step(struct world *w, const struct rl_lock *l, const struct proof_before *before,
                const struct rl_event *e, const struct rl_effects *fx)
{
	proof_told(w, l, e);
	plain_step(w, l, before, e, fx);
	several_step(w, l, before, e, fx);
	guard_step(w, l, before, e, fx);
	shared_step(w, l, before, e, fx);
	members_step(w, l, before, e, fx);
}

void proof_settle(struct world *w)
{
	plain_settle(w);
	look(w);
}

void proof_command(struct world *w, uint32_t node, const struct call *call, struct bytes answer)
{
	plain_command(w, node, call);
	look(w);
	several_command(w, node);
	fence_command(w, node, call);
	guard_command(w, node, call);
	shared_command(w, node, call);
	members_command(w, node, call, answer);
}

void proof_forgets(struct world *w, uint32_t node)
{
	plain_forgets(w, node);
	several_forgets(w, node);
	fence_forgets(w, node);
	guard_forgets(w, node);
	shared_forgets(w, node);
	members_forgets(w, node);
}

void proof_changed(struct world *w, uint32_t node, enum proof_change what)
{
	look(w);
	members_changed(w, node, what);
}
