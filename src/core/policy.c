/* SPDX-License-Identifier: MIT */
#include "core/policy.h"

int rl_policy_result(const struct rl_ask *ask, enum rl_tally tally)
{
	return tally == RL_WON ? 0 : tally == RL_REFUSED ? ask->refused : REDLOCK_E_NOQUORUM;
}
