/* SPDX-License-Identifier: MIT */
#include "core/fence.h"

#include "core/many.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/round.h"

bool rl_fence_has_number(const struct rl_lock *l, unsigned node)
{
	return l->policy->asks[REDLOCK_OP_ACQUIRE].draws && l->numbers->of[node] != 0;
}

/* A yes without a number does not count as one. Nor does one with a number that scripts cannot count on from:
 * somebody has written it there, and it would be raised everywhere. */
void rl_fence_keep(struct rl_lock *l, const struct rl_event *e)
{
	if (l->policy->several)
		rl_many_keep(l, e);
	else
		rl_queue_learn(l, e);
	if (l->votes[e->node].code != REDLOCK_VOTE_YES)
		return;
	int64_t number = e->reply.vote.number;
	if (number > 0 && number < RL_FENCE_END)
		l->numbers->of[e->node] = (uint64_t)number;
	else
		rl_round_cast(l, e->node, REDLOCK_VOTE_GARBAGE, l->votes[e->node].rtt_ns);
}

static bool said_yes(const struct rl_lock *l, unsigned node)
{
	return l->votes[node].code == REDLOCK_VOTE_YES;
}

/* How many have told this number, or more. */
static unsigned count(const struct rl_lock *l, uint64_t number, bool more)
{
	unsigned n = 0;
	/*@ loop invariant n == told(l, number, more, i) && n <= i <= l->rules->node_count;
	    loop assigns i, n;
	    loop variant l->rules->node_count - i; */
	for (unsigned i = 0; i < l->rules->node_count; i++)
		n += said_yes(l, i) && (more ? l->numbers->of[i] > number : l->numbers->of[i] == number);
	return n;
}

/* The one that a quorum tells; else the highest one. */
static uint64_t choose(const struct rl_lock *l)
{
	uint64_t highest = 0;
	/*@ loop invariant i <= l->rules->node_count && is_highest(l, highest, i);
	    loop assigns i, highest;
	    loop variant l->rules->node_count - i; */
	for (unsigned i = 0; i < l->rules->node_count; i++) {
		if (!said_yes(l, i))
			continue;
		if (count(l, l->numbers->of[i], false) >= l->rules->quorum)
			return l->numbers->of[i];
		highest = rl_time_max(highest, l->numbers->of[i]);
	}
	return highest;
}

/* A node that reported a higher number has no vote; one that reported a lower number may still get one. */
enum rl_tally rl_fence_weigh(const struct rl_lock *l)
{
	struct rl_count c = rl_round_count(l);
	if (l->numbers->fence != 0) {
		unsigned confirmed = count(l, l->numbers->fence, false), ahead = count(l, l->numbers->fence, true);
		c.no += ahead;
		c.out += c.yes - confirmed - ahead;
		c.yes = confirmed;
	}
	return rl_quorum_for_claim(c);
}

void rl_fence_raise(struct rl_lock *l, uint64_t now, uint64_t until, struct rl_effects *fx)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (said_yes(l, i) && l->numbers->of[i] < l->numbers->fence)
			nodes |= 1u << i;
	if (nodes == 0)
		return;
	rl_round_again(l, nodes, now, fx);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, until);
	fx->send.operation = RL_OP_RAISE;
	fx->send.enter = 0;
	fx->queue.stands = false;
}

/* By a quorum: of the number that there is, or of the one to choose now. */
static bool is_confirmed(struct rl_lock *l)
{
	if (l->numbers->fence == 0)
		l->numbers->fence = choose(l);
	return rl_fence_weigh(l) == RL_WON;
}

bool rl_fence_confirm_upgrade(struct rl_lock *l, const struct rl_event *e, enum rl_tally tally,
                              struct rl_effects *fx)
{
	bool raising = l->numbers->fence != 0;
	if (tally == RL_REFUSED || tally == RL_NOQUORUM)
		return true;
	if (tally == RL_UNDECIDED && !raising)
		return false;
	if (is_confirmed(l))
		return true;
	rl_fence_raise(l, e->now_ns, raising ? l->round.deadline_ns : l->valid_until_ns, fx);
	return false;
}

bool rl_fence_confirm(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (is_confirmed(l))
		return true;
	l->phase = RL_RAISING;
	rl_fence_raise(l, e->now_ns, l->rules->wait_ns == 0 ? RL_TIME_NEVER : l->wait_until_ns, fx);
	return false;
}
