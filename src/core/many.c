/* SPDX-License-Identifier: MIT */
#include "core/many.h"

#include "core/enter.h"
#include "core/policy.h"

/* A gate says by its verdict which name it is, below that of a node that has no vote. */
static uint8_t name_in(const struct rl_event *e)
{
	int64_t name = e->operation == RL_OP_ENTER_ALL ? -1 - e->vote.numbers[RL_ENTER_VERDICT]
	                                               : e->vote.numbers[RL_MANY_NAME];
	return (uint8_t)(name & 0xff);
}

void rl_many_keep(struct rl_lock *l, const struct rl_event *e)
{
	rl_enter_learn(l, e);
	if (e->vote.code != REDLOCK_VOTE_NO || e->vote.number_count <= RL_ENTER_PLACE)
		return;
	l->obstacle = name_in(e);
	if (e->operation != RL_OP_ENTER_ALL)
		return; /* what follows, the gate alone says */
	l->contended = true;
	if (e->vote.numbers[RL_ENTER_PLACE] == 0) {
		l->placed = false;
		l->place = 0;
	}
}

void rl_many_line_up(struct rl_lock *l)
{
	if (rl_policy_of(l)->several && !l->placed && l->obstacle > 0)
		l->line = (uint8_t)(l->obstacle - 1);
}
