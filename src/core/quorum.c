/* SPDX-License-Identifier: MIT */
#include "core/quorum.h"

#include <stdbool.h>

unsigned rl_majority(unsigned node_count)
{
	return node_count / 2 + 1;
}

uint64_t rl_drift(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns)
{
	/* Whole millions first: ttl * ppm does not fit into 64 bits for a TTL of days. */
	uint64_t whole = ttl_ns / 1000000 * ppm;
	uint64_t rest = (ttl_ns % 1000000 * ppm + 999999) / 1000000;
	return rl_time_add(rl_time_add(whole, rest), base_ns);
}

uint64_t rl_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns)
{
	return drift_ns >= ttl_ns ? t0_ns : rl_time_add(t0_ns, ttl_ns - drift_ns);
}

enum rl_tally rl_tally_claim(struct rl_count c)
{
	if (c.yes >= c.quorum)
		return RL_WON;
	if (c.yes + c.out >= c.quorum)
		return RL_UNDECIDED;
	if (c.yes + c.no >= c.quorum)
		return RL_REFUSED;
	return c.yes + c.no + c.out >= c.quorum ? RL_UNDECIDED : RL_NOQUORUM;
}

enum rl_tally rl_tally_extend(struct rl_count c)
{
	enum rl_tally tally = rl_tally_claim(c);
	return tally == RL_REFUSED && c.no < c.quorum ? RL_NOQUORUM : tally;
}

enum rl_tally rl_tally_check(struct rl_count c)
{
	unsigned spare = c.nodes - c.quorum;
	if (c.yes >= c.quorum)
		return RL_WON;
	if (c.no > spare)
		return RL_REFUSED;
	return c.yes + c.out >= c.quorum || c.no + c.out > spare ? RL_UNDECIDED : RL_NOQUORUM;
}

enum rl_tally rl_tally_release(struct rl_count c)
{
	unsigned spare = c.nodes - c.quorum;
	if (c.no >= c.quorum)
		return RL_REFUSED;
	if (c.yes > spare && c.yes + c.no >= c.quorum)
		return RL_WON;
	bool may_win = c.yes + c.out > spare && c.yes + c.no + c.out >= c.quorum;
	return may_win || c.no + c.out >= c.quorum ? RL_UNDECIDED : RL_NOQUORUM;
}
