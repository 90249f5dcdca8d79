/* SPDX-License-Identifier: MIT */
#include "core/many.h"

void rl_many_keep(struct rl_lock *l, const struct rl_event *e)
{
	if (e->vote.code == REDLOCK_VOTE_NO && e->vote.number_count > RL_MANY_NAME)
		l->obstacle = (uint8_t)(e->vote.numbers[RL_MANY_NAME] & 0xff);
}
