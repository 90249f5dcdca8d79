/* SPDX-License-Identifier: MIT */
#include "core/hand.h"

#include "core/acquire.h"
#include "core/ballot.h"
#include "core/enter.h"
#include "core/policy.h"
#include "core/retry.h"
#include "core/round.h"
#include "core/validity.h"

/* What is known for longer is not used: the heir may have died without a word, and its key would be there for
 * its whole TTL. A gate tells no offer that was not renewed for two seconds: so this costs one TTL once,
 * however many of those who wait die together. */
#define FRESH_NS (1000 * RL_NS_PER_MS)

/* Nor what is older than this part of the TTL: the heir's validity counts from before that. */
enum { OLD = 8 };

/* The messages of all nodes come within about one trip of each other. */
#define LEAST_PATIENCE_NS (5 * RL_NS_PER_MS)

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

/* What is handed over may be so old already: one part when the holder is told, one when it releases, and one
 * for the trips. Who needs more validity than is left then would get it in vain, and lose its place each
 * time. */
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

/* ---- revoking ---- */

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

/* ---- what a node says ---- */

static bool is_ours(const struct rl_lock *l, const struct rl_event *e)
{
	return l->offered_ns != 0 && rl_slice_same(e->vote.texts[0], e->token);
}

/* Nothing is sent: the votes come by themselves. */
static void begin(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_acquire_ask(l, e->now_ns, rl_ballot_nodes(l), fx);
	*fx = (struct rl_effects){.send = RL_OP_NONE};
	l->owed = l->unanswered = 0; /* yet */
	l->round.t0_ns = e->offered_ns;
}

static void go_on(struct rl_lock *l, const struct rl_event *e)
{
	l->asked = rl_ballot_nodes(l);
	l->round.t0_ns = rl_time_min(l->round.t0_ns, e->offered_ns);
}

/* The gate has taken our place out of its queue, and says how many are left. */
static void vote(struct rl_lock *l, const struct rl_event *e)
{
	if (e->node == l->gate) {
		l->placed = false;
		l->contended = e->vote.numbers[0] > 0;
	}
	if (l->round.operation == REDLOCK_OP_ACQUIRE)
		rl_ballot_cast(l, e->node, REDLOCK_VOTE_YES, rl_time_sub(e->now_ns, l->round.t0_ns));
	l->owed |= 1u << e->node;
}

static void wait_for_others(struct rl_lock *l, uint64_t now, uint64_t more)
{
	uint64_t patience = rl_time_max(2 * l->trip_ns, LEAST_PATIENCE_NS) + more;
	l->round.deadline_ns = rl_time_min(rl_time_add(now, patience), l->wait_until_ns);
}

/* Who has not answered yet is not asked once more: of two answers to one question the second may say no, as
 * the key is there, and the first one counts. */
bool rl_hand_go_on(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint32_t missing = rl_ballot_nodes(l) & ~rl_ballot_voted(l, REDLOCK_VOTE_YES) & ~l->unanswered;
	uint64_t until = rl_time_min(rl_time_add(l->changed_ns, l->rules->node_timeout_ns), l->wait_until_ns);
	if (now >= until || !rl_round_is_in_time(l, now))
		return false;
	if (missing != 0)
		rl_acquire_again(l, missing, now, fx);
	wait_for_others(l, now, rl_retry_pause(l));
	rl_retry_grow(l);
	return true;
}

static void take(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->claims)
		go_on(l, e);
	else
		begin(l, e, fx);
	if (!l->handed)
		l->look.pause_ns = 0;
	l->stage = RL_STAGE_CLAIM;
	l->handed = true;
	l->woken = false;
	l->changed_ns = e->now_ns;
	wait_for_others(l, e->now_ns, 0);
	vote(l, e);
	rl_enter_decide(l, e, fx);
}

/* What is not wanted is released: but never the token that we claim or hold. */
void rl_hand_take(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool in_time = l->offered_ns <= e->offered_ns && e->offered_ns <= e->now_ns;
	if (!is_ours(l, e))
		fx->declines = true;
	else if (l->phase == RL_HELD)
		vote(l, e); /* the others were a quorum */
	else if (rl_lock_acquires(l) && in_time)
		take(l, e, fx);
}
