/* SPDX-License-Identifier: MIT */
#include "core/retry.h"

uint64_t rl_retry_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	uint64_t random = e->entropy % (l->rules->retry_max_ns - l->rules->retry_min_ns + 1);
	uint64_t delay = rl_time_min(l->rules->retry_min_ns + random, left / 2);
	return rl_time_add(e->now_ns, rl_time_max(delay, RL_RETRY_MIN_NS));
}
