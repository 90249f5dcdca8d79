/* SPDX-License-Identifier: MIT */
#include "core/policy.h"

const struct rl_ask *rl_policy_ask(const struct rl_lock *l)
{
	bool attaches = l->round.operation == REDLOCK_OP_EXTEND && l->phase != RL_HELD;
	const struct rl_policy *policy = rl_policy_of(l);
	if (l->round.turn == RL_TURN_UP)
		return &policy->upgrade;
	return attaches ? &policy->attach : &policy->asks[l->round.operation];
}

int rl_policy_result(const struct rl_ask *ask, enum rl_tally tally)
{
	return tally == RL_WON ? 0 : tally == RL_REFUSED ? ask->refused : REDLOCK_E_NOQUORUM;
}
