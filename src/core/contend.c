/* SPDX-License-Identifier: MIT */
#include "core/contend.h"
#include "core/round.h"

#include <assert.h>

#include "core/acquire.h"
#include "core/finding.h"
#include "core/policy.h"
#include "core/slots.h"

/* Votes that stay split for so many node timeouts are an answer: "busy". The slowest contender needs one for
 * its attempt and one for its look, then its release is on the way; the rest is for contenders that came
 * late. */
enum { CONTENTION = 5 };

/* By then those that agree on the order of nodes agree on the leader, too. From then on tokens decide. */
enum { AGREEMENT = 2 };

/* Places in the order of nodes that no node has. */
enum { NO_KEY = REDLOCK_MAX_NODES, NOT_LOOKED };

/* ---- time ---- */

/* So many node timeouts after the acquire was called: its wait is 0. */
static uint64_t after(const struct rl_lock *l, unsigned node_timeouts)
{
	return rl_time_add(l->wait_until_ns, node_timeouts * l->rules->node_timeout_ns);
}

/* ---- whose keys there are ---- */

/* A node that was silent this time counts with its answer to the SET. A key of ours that was given back is on
 * its way out, and counts like any other until then. */
static unsigned whose_key(const struct rl_lock *l, unsigned node)
{
	unsigned whose = l->votes[node].whose;
	enum redlock_vote_kind vote = redlock_vote_kind(l->votes[node].code);
	if (whose == RL_KEY_UNKNOWN && vote == REDLOCK_KIND_NO)
		return RL_KEY_OTHERS;
	if (whose == RL_KEY_UNKNOWN && vote == REDLOCK_KIND_YES && l->claim.open)
		return RL_KEY_OURS;
	return whose == RL_KEY_OURS && !l->claim.open ? RL_KEY_OTHERS : whose;
}

/* A quorum of nodes has the same key of somebody else. */
static bool holder_is_named(const struct rl_lock *l)
{
	unsigned count[RL_KEY_OTHERS + REDLOCK_MAX_NODES] = {0};
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (l->votes[i].whose >= RL_KEY_OTHERS && ++count[l->votes[i].whose] >= l->rules->quorum)
			return true;
	return false;
}

/* Nodes that failed when they were asked for a vote are not waited for. */
static bool misses_an_answer(const struct rl_lock *l)
{
	uint32_t out = l->look.out;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (redlock_vote_kind(l->votes[i].code) >= REDLOCK_KIND_MISSING)
			out &= ~(1u << i);
	return out != 0;
}

static bool nobody_tells(const struct rl_lock *l)
{
	unsigned known = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		known += l->votes[i].whose != RL_KEY_UNKNOWN;
	return known == 0;
}

/* The place of the first node that has a key, and in `whose` the one that it has. */
static unsigned first_key(const struct rl_lock *l, const uint8_t *order, unsigned *whose)
{
	for (unsigned place = 0; place < l->rules->node_count; place++) {
		*whose = whose_key(l, order != NULL ? order[place] : place);
		if (*whose > RL_KEY_NONE)
			return place;
	}
	*whose = RL_KEY_NONE;
	return NO_KEY;
}

/* ---- stages ---- */

static void look(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	l->phase = RL_LOOKING;
	l->round.deadline_ns = rl_time_add(now, l->rules->node_timeout_ns);
	l->look.seq = rl_round_next_seq(l);
	l->look.out = rl_round_nodes(l);
	l->look.before = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		l->votes[i].whose = RL_KEY_UNKNOWN;
	if (l->findings != NULL)
		rl_finding_forget(l);
	fx->send.operation = l->policy->asks[REDLOCK_OP_QUERY].request;
	fx->send.nodes = l->look.out;
	fx->send.seq = l->look.seq;
}

/* The leader gets what is given back within about the time that its pauses take. */
static void watch(struct rl_lock *l, uint64_t now)
{
	l->phase = RL_WATCHING;
	l->round.deadline_ns = rl_time_min(rl_time_add(now, rl_round_retry_pause(l)), after(l, CONTENTION));
	rl_round_retry_grow(l);
}

static void insist(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	if (rl_acquire_insist(l, now, fx))
		l->phase = RL_INSISTING;
	else
		watch(l, now);
}

static void ask_anew(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	l->round.open = false;
	rl_acquire_ask(l, now, rl_round_nodes(l), fx);
}

/* Somebody else leads. When the first key has gone without a holder, it is everybody's turn again. */
static void step_aside(struct rl_lock *l, const struct rl_event *e, unsigned place, struct rl_effects *fx)
{
	bool vanished = place == NO_KEY || (place > l->look.place && e->now_ns < after(l, AGREEMENT));
	l->look.place = (uint8_t)place;
	if (vanished && !l->claim.open) {
		ask_anew(l, e->now_ns, fx);
		return;
	}
	rl_acquire_give_back(l, fx);
	watch(l, e->now_ns);
}

/* ---- decisions ---- */

static void decide_look(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	unsigned whose;
	bool over = e->now_ns >= l->round.deadline_ns;
	bool named = holder_is_named(l);
	if (!named && !over && misses_an_answer(l))
		return;
	unsigned place = first_key(l, e->around.order, &whose);
	bool leads =
	    e->now_ns >= after(l, AGREEMENT) ? l->claim.open && l->look.before == 0 : whose == RL_KEY_OURS;
	if (named || e->now_ns >= after(l, CONTENTION) || (!leads && nobody_tells(l)))
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
	else if (leads && rl_round_is_in_time(l, e->now_ns))
		insist(l, e->now_ns, fx);
	else
		step_aside(l, e, place, fx);
}

static void decide_insisting(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (rl_round_count(l).out > 0)
		return;
	if (e->now_ns < after(l, CONTENTION))
		watch(l, e->now_ns);
	else
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
}

static void decide_watching(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (e->kind != RL_EV_TICK)
		return; /* a vote that comes late */
	if (l->policy->slots)
		ask_anew(l, e->now_ns, fx);
	else if (e->now_ns < after(l, CONTENTION))
		look(l, e->now_ns, fx);
	else
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
}

/* A vote of any stage is one for our token. */
void rl_contend_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	static void (*const stages[])(struct rl_lock *, const struct rl_event *, struct rl_effects *) = {
	    [RL_LOOKING] = decide_look, [RL_INSISTING] = decide_insisting, [RL_WATCHING] = decide_watching};
	if (!rl_acquire_grant(l, e, fx))
		stages[l->phase](l, e, fx);
}

void rl_contend_found(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint32_t bit = 1u << e->node;
	if ((l->look.out & bit) == 0)
		return;
	l->look.out &= ~bit;
	rl_finding_compare(l, e);
	if (!e->reply.more && l->phase == RL_LOOKING)
		decide_look(l, e, fx);
}

/* Each contender for a slot gives back what it got, and begins at another one after a pause: by chance, as
 * there is none that all of them would leave to one. */
static void spread(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_slots_turn(l, e);
	rl_acquire_give_back(l, fx);
	watch(l, e->now_ns);
	l->round.deadline_ns = rl_time_sub(l->round.deadline_ns, e->around.entropy % rl_round_retry_pause(l) / 2);
	l->round.deadline_ns = rl_time_max(l->round.deadline_ns, rl_time_add(e->now_ns, 1));
}

/* An attempt with the caller's own value is made once. An attempt that may wait for a holder gives back its
 * keys and joins the other waiters at the gate (enter.h). */
void rl_contend_begin(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_policy *policy = l->policy;
	bool slots = policy->slots;
	uint64_t until = after(l, slots ? rl_slots_patience(l, CONTENTION) : CONTENTION);
	if (!policy->contends || policy->shares || policy->several || l->rules->wait_ns > 0 ||
	    e->now_ns >= until || (slots && !rl_slots_are_split(l))) {
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
		return;
	}
	if (slots) {
		spread(l, e, fx);
		return;
	}
	l->look.place = NOT_LOOKED;
	look(l, e->now_ns, fx);
}
