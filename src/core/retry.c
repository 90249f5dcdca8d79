/* SPDX-License-Identifier: MIT */
#include "core/retry.h"

uint64_t rl_retry_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	uint64_t random = e->entropy % (l->rules->retry_max_ns - l->rules->retry_min_ns + 1);
	uint64_t delay = rl_time_min(l->rules->retry_min_ns + random, left / 2);
	return rl_time_add(e->now_ns, rl_time_max(delay, RL_RETRY_MIN_NS));
}

uint64_t rl_retry_pause(const struct rl_lock *l)
{
	return rl_time_max(l->look.pause_ns, RL_RETRY_MIN_NS);
}

void rl_retry_grow(struct rl_lock *l)
{
	enum { LONGEST = 8 };
	l->look.pause_ns = rl_time_min(2 * rl_retry_pause(l), l->rules->node_timeout_ns / LONGEST);
}
