/* SPDX-License-Identifier: MIT */
#include "core/slots.h"

#include <assert.h>

#include "core/policy.h"
#include "core/queue.h"
#include "core/round.h"

/* The slot of a yes, plus 1; 0: it has not said yes. */
static uint64_t given(const struct rl_lock *l, unsigned node)
{
	return l->votes[node].code == REDLOCK_VOTE_YES ? l->numbers->of[node] : 0;
}

static unsigned count(const struct rl_lock *l, uint64_t slot)
{
	unsigned n = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		n += given(l, i) == slot;
	return n;
}

/* The one that most have given, plus 1; 0: none has. */
static uint64_t leading(const struct rl_lock *l)
{
	uint64_t slot = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (given(l, i) != 0 && (slot == 0 || count(l, given(l, i)) > count(l, slot)))
			slot = given(l, i);
	return slot;
}

struct rl_count rl_slots_count(const struct rl_lock *l)
{
	struct rl_count c = rl_round_count(l);
	if (l->policy->slots && c.yes > 0)
		c.yes = count(l, leading(l));
	return c;
}

enum rl_tally rl_slots_weigh(const struct rl_lock *l)
{
	struct rl_count c = rl_slots_count(l);
	c.no += l->round.votes[REDLOCK_KIND_YES] - c.yes;
	return rl_quorum_for_claim(c);
}

/* A yes without one of our slots does not count. A client that has won the gate asks the other nodes for the
 * slot that the gate gave. */
void rl_slots_keep(struct rl_lock *l, const struct rl_event *e)
{
	rl_queue_learn(l, e);
	if (l->votes[e->node].code != REDLOCK_VOTE_YES)
		return;
	int64_t slot = rl_vote_tells(&e->reply.vote, RL_FIELD_SLOT) ? e->reply.vote.slot : -1;
	if (slot < 0 || (uint64_t)slot >= l->rules->slots) {
		rl_round_cast(l, e->node, REDLOCK_VOTE_GARBAGE, l->votes[e->node].rtt_ns);
		return;
	}
	l->numbers->of[e->node] = (uint64_t)slot + 1;
	l->claim.first = (uint8_t)(leading(l) - 1);
}

bool rl_slots_confirm(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)e;
	uint64_t slot = leading(l);
	l->claim.slot = (uint8_t)(slot - 1);
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (given(l, i) != 0 && given(l, i) != slot) {
			l->claim.refused |= 1u << i;
			rl_slots_return(l, i, fx);
		}
	return true;
}

void rl_slots_return(const struct rl_lock *l, unsigned node, struct rl_effects *fx)
{
	/* Neither a grant nor a late vote sends anything else. */
	assert(fx->send.operation == RL_OP_NONE || fx->send.keeps);
	fx->send.operation = l->policy->asks[REDLOCK_OP_RELEASE].request;
	fx->send.seq = 0;
	fx->send.nodes |= 1u << node;
	fx->send.owed |= 1u << node;
	fx->send.keeps = true;
}

bool rl_slots_is_other(const struct rl_lock *l, const struct rl_event *e)
{
	bool gives = l->phase == RL_HELD && rl_vote_tells(&e->reply.vote, RL_FIELD_SLOT);
	return gives && e->reply.vote.slot != l->claim.slot;
}

void rl_slots_turn(struct rl_lock *l, const struct rl_event *e)
{
	if (l->rules->slots > 0)
		l->claim.first = (uint8_t)(e->around.entropy % l->rules->slots);
}

bool rl_slots_are_split(const struct rl_lock *l)
{
	return rl_round_count(l).yes > 0;
}

unsigned rl_slots_patience(const struct rl_lock *l, unsigned most)
{
	return rl_round_count(l).no >= l->rules->quorum ? 1 : most;
}
