/* SPDX-License-Identifier: MIT */
#include "core/enter.h"

#include "core/acquire.h"
#include "core/ballot.h"
#include "core/hand.h"
#include "core/many.h"
#include "core/policy.h"
#include "core/retry.h"
#include "core/round.h"
#include "core/slots.h"

/* A gate that is silent for this part of a node timeout is passed over; but it has twice as long as the last
 * attempt took: nodes may be far away. */
enum { GATE_PATIENCE = 2 };

/* How often a waiter asks by itself. Who has a place: after a part of the time since something changed, for
 * each of those before it. Who has none cannot see changes: after a part of the time that it has waited. */
#define LEAST_NS (8 * RL_NS_PER_MS)
#define LEAST_BLIND_NS (4 * RL_NS_PER_MS)
#define MOST_NS (1000 * RL_NS_PER_MS)
#define DEAF_NS (100 * RL_NS_PER_MS)
#define FOLLOWS_NS (100 * RL_NS_PER_MS)
enum { PART = 4, PART_BLIND = 64 };

/* The last tries ask all nodes: the result is to be what a quorum says. */
enum { LAST_TRIPS = 4 };

static uint32_t bit_of(unsigned node)
{
	return 1u << node;
}

static enum redlock_vote_kind vote_of_gate(const struct rl_lock *l)
{
	return redlock_vote_kind(l->votes[l->gate].code);
}

/* Whether others want it, and we may wait for them: what does not contend is never contended. */
static bool waits(const struct rl_lock *l)
{
	return l->contended && l->rules->wait_ns > 0;
}

bool rl_enter_waits(const struct rl_lock *l)
{
	return waits(l) && rl_lock_acquires(l);
}

/* ---- when ---- */

static uint64_t clamp(uint64_t ns, uint64_t least)
{
	return rl_time_min(rl_time_max(ns, least), MOST_NS);
}

static uint64_t interval(const struct rl_lock *l, uint64_t now)
{
	uint64_t since = rl_time_sub(now, l->changed_ns);
	if (!l->placed || l->place == 0)
		return clamp(since / PART_BLIND, LEAST_BLIND_NS);
	return rl_time_min(clamp(since / PART * l->place, LEAST_NS * l->place), rl_time_sub(l->free_at_ns, now));
}

/* By chance half of it more or less. */
static uint64_t about(uint64_t ns, uint64_t entropy)
{
	return ns / 2 + (ns > 0 ? entropy % ns : 0);
}

static bool is_last_try(const struct rl_lock *l, uint64_t now)
{
	uint64_t trip = rl_time_max(l->trip_ns, RL_RETRY_MIN_NS);
	return rl_time_sub(l->wait_until_ns, now) < LAST_TRIPS * trip;
}

/* In the next step: it is our turn, or those who wait are to be met at the gate, or at the next one. */
static bool is_due(const struct rl_lock *l, uint64_t now)
{
	bool moved = l->stage == RL_STAGE_ALL || vote_of_gate(l) > REDLOCK_KIND_NO;
	return (l->woken || moved) && !is_last_try(l, now);
}

/* The gate was won, and the rest was not: somebody else has another gate. Who pauses leaves it to him. */
static bool is_divided(const struct rl_lock *l)
{
	return l->stage == RL_STAGE_CLAIM && vote_of_gate(l) == REDLOCK_KIND_YES;
}

/* Or it has another slot: who asks for the next one does not wait for that. Those who want several names may
 * each have won a gate: who comes later by more than a trip finds that out there. Or the holder has not got
 * the gate: the longer that lasts, the less it is a matter of moments. */
static uint64_t divided_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	const struct rl_policy *policy = rl_policy_of(l);
	uint64_t retry = rl_retry_at(l, e, left), pause = LEAST_BLIND_NS;
	if (policy->several)
		pause = rl_time_max(rl_time_max(pause, 2 * l->trip_ns), rl_time_sub(e->now_ns, l->changed_ns) / PART);
	if (policy->several || policy->slots)
		retry = rl_time_min(retry, rl_time_add(e->now_ns, about(pause, e->entropy)));
	return retry;
}

uint64_t rl_enter_at(struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	uint64_t now = e->now_ns;
	if (l->stage == RL_STAGE_ALL && !l->contended)
		l->changed_ns = now;
	l->contended = true;
	rl_many_line_up(l);
	if (is_divided(l))
		return divided_at(l, e, left);
	if (is_due(l, now))
		return rl_time_add(now, 1);
	uint64_t delay = about(interval(l, now), e->entropy);
	if (l->place == 1) /* the others come later by chance: one asks as soon as the key has expired */
		delay = rl_time_min(delay, rl_time_sub(l->free_at_ns, now));
	delay = rl_time_max(delay, RL_RETRY_MIN_NS);
	return rl_time_add(now, rl_time_min(delay, left / 2));
}

/* ---- asking ---- */

static void ask_all(struct rl_lock *l, enum rl_stage stage, uint64_t now, struct rl_effects *fx)
{
	l->stage = (uint8_t)stage;
	rl_acquire_ask(l, now, rl_ballot_nodes(l), fx);
}

/* At the gate by its queue, where a place there is of use. */
static void register_place(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	fx->stands |= (e->hears & bit_of(l->gate)) != 0;
	fx->call = l->call;
	if (fx->stands)
		fx->enter |= bit_of(l->gate);
	l->placed |= fx->stands;
	rl_hand_offer(l, e, fx);
	if (!fx->stands)
		l->place = 0; /* nothing is known of it any more */
}

static void ask_gate(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint64_t patience = rl_time_max(l->rules->node_timeout_ns / GATE_PATIENCE, 2 * l->trip_ns);
	l->stage = RL_STAGE_GATE;
	rl_acquire_ask(l, e->now_ns, bit_of(l->gate), fx);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, patience));
	register_place(l, e, fx);
}

/* By how many of them are passed over. */
static uint8_t gate_at(const struct rl_lock *l, const struct rl_event *e, unsigned passed)
{
	unsigned at = (l->turn + passed) % l->rules->node_count;
	return e->order != NULL ? e->order[at] : (uint8_t)at;
}

/* Who has passed one over comes back to it: others may not have. And the order changes when a node says who
 * it is. False: it is another one, and at the old one there is a place. */
static bool choose_gate(struct rl_lock *l, const struct rl_event *e)
{
	if (rl_time_sub(e->now_ns, l->passed_ns) >= MOST_NS) {
		l->passed = 0;
		l->back = false;
	}
	uint8_t gate = gate_at(l, e, l->passed);
	if (l->placed && gate != l->gate)
		return false;
	l->gate = gate;
	return true;
}

void rl_enter_find_gate(struct rl_lock *l, const struct rl_event *e)
{
	unsigned passed = 0;
	do
		l->gate = gate_at(l, e, passed);
	while (redlock_vote_kind(l->votes[l->gate].code) > REDLOCK_KIND_NO && passed++ < l->rules->node_count);
}

/* Before the new one is asked: a place that is left behind keeps its queue alive, and a turn there waits for
 * nobody. */
static void leave_old_gate(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->woken = false;
	rl_enter_leave(l, fx);
	rl_acquire_pause(l, rl_time_add(e->now_ns, 1));
}

/* One place for each client: who is behind another handle is told when it is not any more. Behind one that
 * holds the lock, it is passed on, or the time for that is over. */
static void stand_behind(struct rl_lock *l, const struct rl_event *e)
{
	uint64_t until = rl_time_min(rl_time_add(e->now_ns, MOST_NS), l->wait_until_ns);
	l->contended = true;
	l->verdict = REDLOCK_E_BUSY;
	rl_acquire_pause(l, rl_time_min(until, e->behind_ns));
}

/* A gate may have the key of somebody who does not hold: of a claim that was never given back, or a release
 * that did not reach it. So the first in line asks all nodes too when nothing has changed for a while, and
 * again after as long; that is noted. */
static bool looks_past(struct rl_lock *l, uint64_t now)
{
	uint32_t now_ms = (uint32_t)(now / RL_NS_PER_MS);
	bool soon = now_ms - l->looked_ms < MOST_NS / RL_NS_PER_MS;
	if (l->place > 1 || l->woken || soon || rl_time_sub(now, l->changed_ns) < MOST_NS)
		return false;
	l->looked_ms = now_ms;
	return true;
}

void rl_enter_attempt(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (e->behind_ns > e->now_ns && l->rules->wait_ns > 0 && rl_policy_of(l)->contends) {
		stand_behind(l, e);
		return;
	}
	if (!waits(l) || l->verdict == REDLOCK_E_NOQUORUM || is_last_try(l, e->now_ns) ||
	    looks_past(l, e->now_ns)) {
		ask_all(l, RL_STAGE_ALL, e->now_ns, fx);
		return;
	}
	if (!choose_gate(l, e)) {
		leave_old_gate(l, e, fx);
		return;
	}
	if (!l->woken) {
		ask_gate(l, e, fx);
		return;
	}
	l->woken = false;
	l->look.pause_ns = 0;
	ask_all(l, RL_STAGE_CLAIM, e->now_ns, fx);
	register_place(l, e, fx);
}

/* Who has just released, and knows that others wait, does not overtake them. At a queue it is last by itself;
 * without one it pauses as they do, and so does who wants several names, which have queues of their own. */
void rl_enter_begin(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->woken = l->placed = l->behind_readers = false;
	l->offered_ns = 0;
	l->call = (uint16_t)((l->call + 1u) % RL_CALLS);
	l->passed = 0;
	l->back = false;
	l->place = 0;
	l->changed_ns = e->now_ns;
	l->free_at_ns = RL_TIME_NEVER;
	(void)choose_gate(l, e); /* there is no place */
	l->contended = waits(l); /* else it is not looked at; what is heard from now on is kept for the release */
	bool last = (e->hears & bit_of(l->gate)) != 0 && !rl_policy_of(l)->several;
	if (!waits(l) || e->behind_ns > e->now_ns || last) {
		rl_enter_attempt(l, e, fx);
		return;
	}
	l->verdict = REDLOCK_E_BUSY;
	rl_acquire_pause(l, rl_time_add(e->now_ns, about(LEAST_BLIND_NS, e->entropy)));
}

/* The gate is won. */
static void claim_the_rest(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint32_t rest = rl_ballot_nodes(l) & ~bit_of(l->gate);
	l->stage = RL_STAGE_CLAIM;
	l->asked |= rest;
	l->look.pause_ns = 0;
	rl_acquire_again(l, rest, now, fx);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, l->wait_until_ns);
}

/* ---- decisions ---- */

static bool in_time(const struct rl_lock *l, uint64_t now)
{
	return rl_round_is_in_time(l, now) && now < l->wait_until_ns;
}

/* Its no leaves nothing behind. */
static void leave_it(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->claims = false;
	l->owed = 0;
	rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
}

static void pass_over(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	l->passed = (uint8_t)((l->passed + 1) % l->rules->node_count);
	l->passed_ns = e->now_ns;
	rl_acquire_fail(l, e, l->passed == 0 ? REDLOCK_E_NOQUORUM : REDLOCK_E_BUSY, false, fx);
	if (l->placed)
		rl_enter_leave(l, fx); /* what is late of it takes no place */
}

static void decide_gate(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	enum redlock_vote_kind vote = vote_of_gate(l);
	if (vote == REDLOCK_KIND_YES && in_time(l, e->now_ns))
		claim_the_rest(l, e->now_ns, fx);
	else if (vote == REDLOCK_KIND_YES)
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
	else if (vote == REDLOCK_KIND_NO)
		leave_it(l, e, fx);
	else
		pass_over(l, e, fx);
}

/* Keys that are on their way out are asked for again, for a node timeout. Not for several names: others, who
 * have some of them in common, may have won a gate as well. */
static bool insists(const struct rl_lock *l, uint64_t now)
{
	uint64_t until = rl_time_add(l->round.t0_ns, l->rules->node_timeout_ns);
	struct rl_count c = rl_slots_count(l);
	bool possible = c.yes + c.no + c.out >= c.quorum;
	possible &= !l->handed && !rl_policy_of(l)->several;
	return vote_of_gate(l) == REDLOCK_KIND_YES && now < until && in_time(l, now) && possible;
}

static void look_again(struct rl_lock *l, uint64_t now, uint64_t until)
{
	uint64_t next = rl_time_add(now, rl_retry_pause(l));
	l->round.deadline_ns = rl_time_min(next, rl_time_min(until, l->wait_until_ns));
}

static void decide_claim(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	enum rl_tally tally = rl_policy_ask(l)->weigh(l);
	bool over = e->kind == RL_EV_TICK;
	if (!over && (l->handed || vote_of_gate(l) == REDLOCK_KIND_PENDING || insists(l, e->now_ns)))
		return;
	if (tally == RL_REFUSED || tally == RL_WON)
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
	else if (tally == RL_NOQUORUM)
		rl_acquire_fail(l, e, REDLOCK_E_NOQUORUM, false, fx);
}

void rl_enter_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (rl_acquire_grant(l, e, fx))
		return;
	if (l->stage == RL_STAGE_GATE)
		decide_gate(l, e, fx);
	else
		decide_claim(l, e, fx);
	if (l->stage == RL_STAGE_CLAIM && l->round.open && insists(l, e->now_ns))
		look_again(l, e->now_ns, l->round.deadline_ns);
}

/* Readers that will be refused at the gate have the other nodes for a round trip each, and there may always
 * be one more. So it stands in line at those nodes, too: who comes later is kept out there. */
static void stand_beside(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint32_t nodes = fx->nodes & e->hears;
	if (!l->behind_readers || nodes == 0)
		return;
	fx->enter |= nodes;
	fx->stands = fx->beside = l->beside = true;
	fx->call = l->call;
}

bool rl_enter_go_on(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->stage != RL_STAGE_CLAIM || l->phase != RL_ACQUIRING)
		return false;
	if (l->handed)
		return rl_hand_go_on(l, e->now_ns, fx);
	if (!insists(l, e->now_ns))
		return false;
	if (rl_acquire_insist(l, e->now_ns, fx))
		stand_beside(l, e, fx);
	rl_retry_grow(l);
	look_again(l, e->now_ns, RL_TIME_NEVER);
	return true;
}

/* ---- what is learnt ---- */

/* Of a key that is there no value is told: it is no string. */
static bool is_shared(const struct rl_event *e)
{
	return e->operation == RL_OP_ENTER && e->vote.code == REDLOCK_VOTE_NO &&
	       e->vote.text_count > RL_ENTER_HOLDER && e->vote.texts[RL_ENTER_HOLDER].size == 0 &&
	       e->vote.numbers[RL_ENTER_PTTL] >= 0;
}

void rl_enter_learn(struct rl_lock *l, const struct rl_event *e)
{
	const int64_t *numbers = e->vote.numbers;
	l->behind_readers |= is_shared(e);
	bool tells = rl_enter_asks_queue(e->operation) && redlock_vote_kind(e->vote.code) <= REDLOCK_KIND_NO;
	if (!tells || e->vote.number_count <= RL_ENTER_PLACE || e->node != l->gate)
		return; /* others are asked so, too: they have no queue of ours */
	if (numbers[RL_ENTER_WAITING] < 0)
		return; /* it was asked without its queue */
	l->contended = numbers[RL_ENTER_WAITING] > 0;
	if (e->vote.code == REDLOCK_VOTE_YES) {
		l->placed = false;
		return;
	}
	int64_t pttl = numbers[RL_ENTER_PTTL], place = numbers[RL_ENTER_PLACE];
	if (place > 0 && l->place != place) { /* 0: it was not asked for one */
		l->changed_ns = e->now_ns;        /* somebody before us has had his turn */
		l->place = (uint16_t)(place & 0xffff);
	}
	l->free_at_ns = pttl >= 0 ? rl_time_add(e->now_ns, rl_time_ms((uint64_t)pttl)) : RL_TIME_NEVER;
}

/* The others may be there, and get turn after turn. Not again and again: one that always answers too late is
 * no gate for us. */
void rl_enter_come_back(struct rl_lock *l, const struct rl_event *e)
{
	if (l->back || redlock_vote_kind(e->vote.code) > REDLOCK_KIND_NO)
		return;
	for (unsigned i = 0; i < l->passed; i++)
		if (gate_at(l, e, i) == e->node) {
			l->passed = (uint8_t)i;
			l->back = true;
		}
}

void rl_enter_learn_waiters(struct rl_lock *l, const struct rl_event *e)
{
	const uint64_t releases = RL_OP_BIT(RL_OP_RELEASE) | RL_OP_BIT(RL_OP_LEAVE) | RL_OP_BIT(RL_OP_HAND) |
	                          RL_OP_BIT(RL_OP_RELEASE_ALL) | RL_OP_BIT(RL_OP_SLOT_RELEASE) |
	                          RL_OP_BIT(RL_OP_SHARE_RELEASE);
	if ((releases >> e->operation & 1) != 0 && rl_enter_tells_of_others(e->vote.numbers[0]))
		l->contended = rl_policy_of(l)->contends;
}

/* ---- messages, and places that are given up ---- */

/* Only the place: of the token, which may be held, nothing is released. */
static void give_up_place(const struct rl_lock *l, uint32_t nodes, unsigned call, struct rl_effects *fx)
{
	const struct rl_policy *policy = rl_policy_of(l);
	fx->call = (uint16_t)call;
	fx->send =
	    policy->slots || policy->several ? policy->asks[REDLOCK_OP_RELEASE].request : (unsigned)RL_OP_LEAVE;
	fx->nodes = nodes;
	fx->seq = 0;
	fx->tidies = fx->quits = true;
}

void rl_enter_give_back(struct rl_lock *l, struct rl_effects *fx)
{
	if (!l->beside)
		return;
	fx->send = RL_OP_LEAVE;
	fx->quits = fx->bars = fx->quiet = true;
	fx->call = l->call;
	l->beside = false;
}

void rl_enter_tidy(struct rl_lock *l, struct rl_effects *fx)
{
	uint32_t nodes = l->asked & ~rl_ballot_voted(l, REDLOCK_VOTE_YES);
	if (l->beside && nodes != 0)
		give_up_place(l, nodes, l->call, fx);
	l->beside = false;
}

/* Not all who have lost messages ask at the same moment. And who has no place is not there first because the
 * holder was of this client. */
static uint64_t some_time(const struct rl_lock *l, const struct rl_event *e)
{
	if (e->deaf)
		return e->entropy % DEAF_NS;
	return (e->hears & bit_of(l->gate)) != 0 ? 0 : about(LEAST_BLIND_NS, e->entropy);
}

/* A message may have been lost, and its turn. Or it is time to take a place. */
static void ask_soon(struct rl_lock *l, const struct rl_event *e)
{
	if (!e->front && (!l->placed || e->node != l->gate))
		return;
	if (e->deaf)
		l->place = 0; /* it is there, but nothing is known of it any more */
	uint64_t soon = rl_time_add(e->now_ns, 1 + some_time(l, e));
	if (l->phase == RL_PAUSED)
		l->retry_at_ns = rl_time_min(l->retry_at_ns, rl_time_max(soon, e->behind_ns));
}

bool rl_enter_follows(const struct rl_lock *l, uint64_t now)
{
	return l->placed && l->place == 1 && rl_time_sub(now, l->changed_ns) >= FOLLOWS_NS;
}

/* Behind what else has come in this moment: a release says more. Only of a key that stood in our way, not of
 * one that we have given back; and not oftener than one without this would ask. */
static void ask_for_it(struct rl_lock *l, const struct rl_event *e)
{
	bool first = l->phase == RL_PAUSED && l->placed && l->place == 1 && e->node == l->gate;
	if (!first || vote_of_gate(l) != REDLOCK_KIND_NO)
		return;
	l->woken = true;
	l->retry_at_ns = rl_time_min(l->retry_at_ns, rl_time_add(l->round.t0_ns, LEAST_NS));
}

/* One that nobody waits for any more goes on to the next; an old one too: it may come after the acquire that
 * it was for, and would let us overtake. */
void rl_enter_wake(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (!rl_policy_of(l)->contends)
		return; /* it never has a place */
	if (e->gone) {
		ask_for_it(l, e);
		return;
	}
	if (e->deaf || e->front) {
		ask_soon(l, e);
		return;
	}
	if (l->beside && e->node != l->gate && e->call == l->call) {
		(void)rl_enter_go_on(l, e, fx); /* what was in its way there is gone */
		return;
	}
	if (!rl_lock_acquires(l) || !l->placed || e->node != l->gate || e->call != l->call) {
		give_up_place(l, bit_of(e->node), e->call, fx);
		return;
	}
	l->woken = true;
	l->changed_ns = e->now_ns;
	l->place = 1;
	if (l->phase == RL_PAUSED)
		rl_acquire_tick(l, e, fx);
}

/* To wake the next one is for who had the lock, or waits no longer. A failed attempt that is tried again only
 * gives back: the next one would find what it has found. */
void rl_enter_leave(struct rl_lock *l, struct rl_effects *fx)
{
	if ((l->contended || l->placed) && fx->send == RL_OP_RELEASE)
		fx->send = RL_OP_LEAVE;
	rl_hand_revoke(l, fx);
	fx->quiet = false;
	if (!l->placed)
		return;
	l->placed = false;
	if (fx->send == RL_OP_NONE) {
		give_up_place(l, bit_of(l->gate), l->call, fx);
		return;
	}
	fx->quits = true;
	fx->call = l->call;
	fx->nodes |= bit_of(l->gate);
}
