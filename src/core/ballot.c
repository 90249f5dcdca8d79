/* SPDX-License-Identifier: MIT */
#include "core/ballot.h"

#define MAX_RTT_NS (((uint64_t)1 << 48) - 1)

uint32_t rl_ballot_nodes(const struct rl_lock *l)
{
	return (uint32_t)((1ull << l->rules->node_count) - 1);
}

void rl_ballot_cast(struct rl_lock *l, unsigned node, enum redlock_vote_code code, uint64_t rtt)
{
	struct rl_ballot *vote = &l->votes[node];
	bool first = vote->code == REDLOCK_VOTE_PENDING;
	l->round.votes[first ? REDLOCK_KIND_PENDING : redlock_vote_kind(vote->code)]--;
	l->round.votes[redlock_vote_kind(code)]++;
	vote->code = (uint8_t)code;
	vote->rtt_ns = rl_time_min(rtt, MAX_RTT_NS) & MAX_RTT_NS;
}

enum redlock_vote_code rl_ballot_once(struct rl_lock *l, uint32_t twins, enum redlock_vote_code code)
{
	bool yes = redlock_vote_kind(code) == REDLOCK_KIND_YES;
	if (redlock_vote_kind(code) > REDLOCK_KIND_NO)
		return code;
	for (; twins != 0; twins &= twins - 1) {
		unsigned twin = (unsigned)__builtin_ctz(twins);
		enum redlock_vote_kind other = redlock_vote_kind(l->votes[twin].code);
		if (other == REDLOCK_KIND_YES || (other == REDLOCK_KIND_NO && !yes))
			return REDLOCK_VOTE_DUPLICATE;
		if (other == REDLOCK_KIND_NO)
			rl_ballot_cast(l, twin, REDLOCK_VOTE_DUPLICATE, l->votes[twin].rtt_ns);
	}
	return code;
}

struct rl_count rl_ballot_count(const struct rl_lock *l)
{
	return (struct rl_count){.nodes = l->rules->node_count,
	                         .quorum = l->rules->quorum,
	                         .yes = l->round.votes[REDLOCK_KIND_YES],
	                         .no = l->round.votes[REDLOCK_KIND_NO],
	                         .out = l->round.votes[REDLOCK_KIND_PENDING],
	                         .fatal = l->round.votes[REDLOCK_KIND_FATAL]};
}

uint32_t rl_ballot_voted(const struct rl_lock *l, enum redlock_vote_code code)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		nodes |= (uint32_t)(l->votes[i].code == code) << i;
	return nodes;
}
