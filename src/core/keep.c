/* SPDX-License-Identifier: MIT */
#include "core/keep.h"

#include "core/hold.h"
#include "core/policy.h"

/* A lock that nobody uses is kept for this long, or this part of the TTL: waiters that send no message wait
 * no longer for it. */
#define IDLE_NS (200 * RL_NS_PER_MS)
enum { IDLE_PART = 8 };

/* A caller that is handed a lock has five eighths of the TTL at least (queue.c), and so has one that enters a
 * kept lock. */
static bool has_time(const struct rl_lock *l, uint64_t now)
{
	return l->valid_until_ns > rl_time_add(now, l->rules->ttl_ns - 3 * (l->rules->ttl_ns / 8));
}

void rl_keep_allow(struct rl_lock *l, uint64_t now)
{
	l->hold.sticky_until_ns = rl_time_add(now, l->rules->sticky_ns);
}

/* A renewal that is out would hold the lock when it is answered. */
bool rl_keep_begin(struct rl_lock *l, uint64_t now)
{
	bool wanted = l->queue.contended || rl_hold_is_capped(l);
	if (wanted || l->round.open || now >= l->hold.sticky_until_ns || !has_time(l, now))
		return false;
	l->phase = RL_KEPT;
	l->hold.keep_until_ns = rl_time_min(rl_time_add(now, rl_time_min(IDLE_NS, l->rules->ttl_ns / IDLE_PART)),
	                                    l->hold.sticky_until_ns);
	return true;
}

bool rl_keep_may_enter(const struct rl_lock *l, const struct rl_rules *rules, uint64_t now)
{
	bool may = now < l->hold.keep_until_ns && has_time(l, now);
	return may && rules->sticky_ns > 0 && rl_hold_are_alike(l->rules, rules) &&
	       l->valid_until_ns > rl_time_add(now, rules->min_validity_ns);
}

void rl_keep_end(struct rl_lock *l)
{
	l->queue.contended = true;
	l->hold.sticky_until_ns = l->hold.pass_until_ns = 0;
}
