/* SPDX-License-Identifier: MIT */
#include "core/quorum.h"

#include <stdbool.h>

unsigned rl_quorum_least(unsigned node_count)
{
	return node_count / 2 + 1;
}

enum rl_tally rl_quorum_for_claim(struct rl_count c)
{
	if (c.yes >= c.quorum)
		return RL_WON;
	if (c.yes + c.out >= c.quorum)
		return RL_UNDECIDED;
	if (c.yes + c.no >= c.quorum)
		return RL_REFUSED;
	return c.yes + c.no + c.out >= c.quorum ? RL_UNDECIDED : RL_NOQUORUM;
}

enum rl_tally rl_quorum_for_extend(struct rl_count c)
{
	enum rl_tally tally = rl_quorum_for_claim(c);
	return tally == RL_REFUSED && c.no < c.quorum ? RL_NOQUORUM : tally;
}

enum rl_tally rl_quorum_for_check(struct rl_count c)
{
	unsigned spare = c.nodes - c.quorum;
	if (c.yes >= c.quorum)
		return RL_WON;
	if (c.no > spare)
		return RL_REFUSED;
	return c.yes + c.out >= c.quorum || c.no + c.out > spare ? RL_UNDECIDED : RL_NOQUORUM;
}

enum rl_tally rl_quorum_for_release(struct rl_count c)
{
	unsigned spare = c.nodes - c.quorum;
	if (c.no >= c.quorum)
		return RL_REFUSED;
	if (c.yes > spare && c.yes + c.no >= c.quorum)
		return RL_WON;
	bool may_win = c.yes + c.out > spare && c.yes + c.no + c.out >= c.quorum;
	return may_win || c.no + c.out >= c.quorum ? RL_UNDECIDED : RL_NOQUORUM;
}
