/* SPDX-License-Identifier: MIT */
#include "core/pass.h"

#include "core/hold.h"
#include "core/policy.h"

/* A claim is passed on for this long after its grant, and this often. A waiter of another client waits no
 * longer than this and one hold more; and a hand-over to that client, some tenths of a millisecond, is a
 * small part of it. */
#define LONGEST_NS (5 * RL_NS_PER_MS)

/* Nor for more than this part of the TTL: who is passed the lock has that much less of it. */
enum { PART = 8 };

void rl_pass_allow(struct rl_lock *l, uint64_t now)
{
	l->passes = 0;
	l->pass_until_ns = rl_time_add(now, rl_time_min(LONGEST_NS, l->rules->ttl_ns / PART));
}

uint64_t rl_pass_until(const struct rl_lock *l)
{
	bool may = l->phase == RL_HELD && l->passes < RL_PASS_MOST && l->rules->slots == 0;
	return may ? l->pass_until_ns : 0;
}

/* The claim is what both would have asked for, and goes on as both want it. */
static bool are_alike(const struct rl_rules *a, const struct rl_rules *b)
{
	return a->policy == b->policy && a->ttl_ns == b->ttl_ns && a->drift_ppm == b->drift_ppm &&
	       a->drift_base_ns == b->drift_base_ns && a->renew_ns == b->renew_ns;
}

/* A caller's own value is known elsewhere. A fencing number is that of one turn: the next one needs a higher
 * one, which only the nodes have. */
bool rl_pass_fits(const struct rl_lock *from, const struct rl_lock *to, uint64_t now)
{
	bool may = now < rl_pass_until(from) && rl_policy_of(from)->heirs && !rl_state_is_busy(from) &&
	           !rl_hold_is_capped(from);
	bool wants = rl_state_acquires(to) && now < to->wait_until_ns;
	return may && wants && are_alike(from->rules, to->rules) &&
	       from->valid_until_ns > rl_time_add(now, to->rules->min_validity_ns);
}
