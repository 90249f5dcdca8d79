/* SPDX-License-Identifier: MIT */
#include "tally.h"

#include "client.h"

enum redlock_vote_code rl_tally_vote(const redlock_lock *lock, unsigned node)
{
	return (enum redlock_vote_code)rl_handle_votes(lock)[node].code;
}

unsigned rl_tally_count(const redlock_lock *lock, enum redlock_vote_kind kind)
{
	unsigned count = 0;
	for (unsigned i = 0; i < lock->client->nodes.count; i++)
		count += redlock_vote_kind(rl_tally_vote(lock, i)) == kind;
	return count;
}

uint32_t rl_tally_group(const redlock_lock *lock, unsigned node,
                        bool (*same)(const redlock_lock *lock, unsigned a, unsigned b))
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < lock->client->nodes.count; i++)
		nodes |= (uint32_t)same(lock, node, i) << i;
	return (nodes & ((1u << node) - 1)) == 0 ? nodes : 0;
}
