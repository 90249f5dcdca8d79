/* SPDX-License-Identifier: MIT */
#include "core/place.h"

#include "core/ballot.h"
#include "core/gate.h"
#include "core/hand.h"
#include "core/policy.h"

void rl_place_give_up(const struct rl_lock *l, uint32_t nodes, unsigned call, struct rl_effects *fx)
{
	const struct rl_policy *policy = rl_policy_of(l);
	fx->call = (uint16_t)call;
	fx->send =
	    policy->slots || policy->several ? policy->asks[REDLOCK_OP_RELEASE].request : (unsigned)RL_OP_LEAVE;
	fx->nodes = nodes;
	fx->seq = 0;
	fx->tidies = fx->quits = true;
}

void rl_place_give_back(struct rl_lock *l, struct rl_effects *fx)
{
	if (!l->beside)
		return;
	fx->send = RL_OP_LEAVE;
	fx->quits = fx->bars = fx->quiet = true;
	fx->call = l->call;
	l->beside = false;
}

void rl_place_tidy(struct rl_lock *l, struct rl_effects *fx)
{
	uint32_t nodes = l->asked & ~rl_ballot_voted(l, REDLOCK_VOTE_YES);
	if (l->beside && nodes != 0)
		rl_place_give_up(l, nodes, l->call, fx);
	l->beside = false;
}

/* To wake the next one is for who had the lock, or waits no longer. A failed attempt that is tried again only
 * gives back: the next one would find what it has found. */
void rl_place_leave(struct rl_lock *l, struct rl_effects *fx)
{
	if ((l->contended || l->placed) && fx->send == RL_OP_RELEASE)
		fx->send = RL_OP_LEAVE;
	rl_hand_revoke(l, fx);
	fx->quiet = false;
	if (!l->placed)
		return;
	l->placed = false;
	if (fx->send == RL_OP_NONE) {
		rl_place_give_up(l, rl_gate_bit(l), l->call, fx);
		return;
	}
	fx->quits = true;
	fx->call = l->call;
	fx->nodes |= rl_gate_bit(l);
}
