/* SPDX-License-Identifier: MIT */
#include "core/hand.h"

#include "core/ballot.h"
#include "core/policy.h"
#include "core/validity.h"

/* An offer that is known for longer is not used: the heir may have died without a word, and its key would
 * stay for its whole TTL. A gate reports no offer that was not renewed for two seconds, so this costs one TTL
 * once, however many of the waiters die together. */
#define FRESH_NS (1000 * RL_NS_PER_MS)

/* Nor what is older than this part of the TTL: the heir's validity counts from before that. */
enum { OLD = 8 };

static bool is_old(const struct rl_lock *l, uint64_t since, uint64_t now)
{
	return rl_time_sub(now, since) > l->rules->ttl_ns / OLD;
}

static unsigned count(uint32_t nodes)
{
	unsigned n = 0;
	for (; nodes != 0; nodes &= nodes - 1)
		n++;
	return n;
}

/* A lock that is handed over may be this old already: one part of the TTL when the holder learns of the
 * offer, one when it releases, and one for the trips. A heir that needs more validity than is left then would
 * get the lock in vain, and lose its place each time. */
static bool is_worth_it(const struct rl_rules *r)
{
	uint64_t drift = rl_validity_drift(r->ttl_ns, r->drift_ppm, r->drift_base_ns);
	return rl_time_add(r->min_validity_ns, drift) <= r->ttl_ns - 3 * (r->ttl_ns / OLD);
}

void rl_hand_offer(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (!fx->stands || !rl_policy_of(l)->heirs || count(e->hears) < l->rules->quorum ||
	    !is_worth_it(l->rules))
		return;
	fx->offered_ns = rl_time_max(l->round.t0_ns, l->offered_ns);
	if (l->offered_ns == 0)
		l->offered_ns = fx->offered_ns;
	l->heard |= e->hears & rl_ballot_nodes(l);
}

void rl_hand_over(const struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool fresh = e->heir_ns != 0 && rl_time_sub(e->now_ns, e->heir_ns) <= FRESH_NS;
	if (fx->send == RL_OP_LEAVE && fresh && !is_old(l, e->heir_ns, e->now_ns))
		fx->send = RL_OP_HAND;
}

void rl_hand_refresh(struct rl_lock *l, uint64_t now)
{
	bool counted = l->rules->max_extends > 0; /* by the caller: it is not for us to use one up */
	if (l->handed && !counted && is_old(l, l->round.t0_ns, now))
		l->renew_at_ns = now;
}

void rl_hand_revoke(struct rl_lock *l, struct rl_effects *fx)
{
	if (l->offered_ns == 0)
		return;
	if (fx->send == RL_OP_NONE)
		fx->owed = fx->seq = 0;
	fx->send = RL_OP_LEAVE;
	fx->nodes = rl_ballot_nodes(l);
	fx->owed |= l->heard; /* messages may have been lost: it is released there also when that is late */
	fx->bars = fx->quiet = true;
	l->handed = false;
	l->offered_ns = 0;
}
