/* SPDX-License-Identifier: MIT */
#include "core/lock.h"

#include <assert.h>
#include <string.h>

#include "core/acquire.h"
#include "core/contend.h"
#include "core/enter.h"
#include "core/fence.h"
#include "core/finding.h"
#include "core/hold.h"
#include "core/keep.h"
#include "core/policy.h"
#include "core/quarantine.h"
#include "core/queue.h"
#include "core/round.h"
#include "core/share.h"
#include "core/slots.h"

/* ---- decisions ---- */

static void decide_acquire(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_RAISING)
		rl_acquire_decide_raising(l, e, fx);
	else if (l->phase != RL_ACQUIRING)
		rl_contend_decide(l, e, fx);
	else if (l->queue.stage != RL_STAGE_ALL)
		rl_enter_decide(l, e, fx);
	else if (rl_acquire_decide(l, e, fx) == RL_REFUSED)
		rl_contend_begin(l, e, fx);
}

static void decide_extend(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->round.turn == RL_TURN_UP)
		rl_share_decide(l, e, fx);
	else
		rl_hold_decide(l, e, fx);
}

/* For operations that only ask, or that end in any case: the tally is the result. */
static void decide_by_tally(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)e;
	const struct rl_ask *ask = &l->policy->asks[l->round.ask];
	enum rl_tally tally = ask->weigh(l);
	if (tally == RL_UNDECIDED || (ask->asks_all && rl_round_count(l).out > 0))
		return;
	if (l->phase == RL_RELEASING)
		l->phase = RL_IDLE;
	rl_round_end(l, rl_policy_result(ask, tally), fx);
}

static void decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	static void (*const decisions[])(struct rl_lock *, const struct rl_event *, struct rl_effects *) = {
	    [REDLOCK_OP_ACQUIRE] = decide_acquire,  [REDLOCK_OP_EXTEND] = decide_extend,
	    [REDLOCK_OP_RELEASE] = decide_by_tally, [REDLOCK_OP_QUERY] = decide_by_tally,
	    [REDLOCK_OP_PROBE] = decide_by_tally,
	};
	decisions[l->round.operation](l, e, fx);
}

/* ---- events ---- */

static void end_with(struct rl_effects *fx, enum redlock_operation operation, int result)
{
	fx->observed |= RL_OBSERVE_DONE;
	fx->done.operation = operation;
	fx->done.result = result;
}

/* This handle has acquired nothing, but another holder of its value may have: extend and release ask the
 * nodes. */
static bool is_attached(const struct rl_lock *l)
{
	return l->phase == RL_IDLE && l->policy->asks[RL_ASK_ATTACH].request != RL_OP_NONE;
}

/* Resets what is counted for each holder: the claim stays, and its new caller has acquired it. */
static void hold_on(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint64_t max_hold = l->rules->max_hold_ns, valid_until = l->valid_until_ns;
	l->extends = 0;
	l->hold.held_ns = e->now_ns;
	l->hold.hold_until_ns = max_hold > 0 ? rl_time_add(e->now_ns, max_hold) : RL_TIME_NEVER;
	l->valid_until_ns = 0;
	rl_hold_until(l, e, valid_until);
	end_with(fx, REDLOCK_OP_ACQUIRE, 0);
}

/* Nothing is asked. The turn of this caller is one of its own: the lock may be passed on from it, too. */
static void enter_kept(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	fx->done.began_ns = e->now_ns;
	hold_on(l, e, fx);
	rl_hold_allow_pass(l, e->now_ns);
}

static int on_acquire(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_KEPT && rl_keep_may_enter(l, l->rules, e->now_ns)) {
		enter_kept(l, e, fx);
		return 0;
	}
	if (l->phase != RL_IDLE || l->policy->asks[REDLOCK_OP_ACQUIRE].request == RL_OP_NONE)
		return REDLOCK_E_STATE;
	rl_acquire_begin(l, e->now_ns);
	bool may_wait = l->queue.contended || e->around.behind_ns > e->now_ns || l->policy->shares;
	if (may_wait)
		rl_enter_begin(l, e, fx);
	else
		rl_acquire_ask_all(l, e->now_ns, fx);
	return 0;
}

static int on_extend(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_LOST)
		return REDLOCK_E_LOST;
	if (l->phase != RL_HELD && !is_attached(l))
		return REDLOCK_E_STATE;
	return rl_hold_extend(l, e->now_ns, e->asked.ttl_ns, fx);
}

static int on_release(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool attached = is_attached(l), held = l->phase == RL_HELD;
	if (l->phase != RL_HELD && l->phase != RL_LOST && !attached)
		return REDLOCK_E_STATE;
	if (held && e->asked.keeps && rl_keep_begin(l, e->now_ns)) {
		end_with(fx, REDLOCK_OP_RELEASE, 0);
		return 0;
	}
	l->phase = RL_RELEASING;
	l->valid_until_ns = 0;
	rl_round_open(l, REDLOCK_OP_RELEASE, e->now_ns, RL_TIME_NEVER, 0, fx);
	fx->send.owed = attached ? rl_round_nodes(l) : l->claim.owed;
	l->claim.owed = 0;
	l->policy = l->rules->policy;
	if (!l->policy->signs && fx->send.operation == RL_OP_RELEASE)
		fx->send.operation = RL_OP_LEAVE; /* it wakes in the same step: see decisions/tokens.md */
	rl_queue_leave(l, fx);
	if (held)
		rl_queue_hand_over(l, e, fx);
	return 0;
}

/* The caller of a kept lock has had its answer, so nobody waits for that of the nodes: as after a failed
 * attempt, the handle is idle at once. */
static void give_up_kept(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	struct rl_event release = *e;
	release.asked.keeps = false;
	l->phase = RL_HELD;
	int error = on_release(l, &release, fx);
	assert(error == 0);
	(void)error;
	l->phase = RL_IDLE;
	l->round.open = false;
}

/* Gives back a lock that the client keeps. One that is held is given back by its next release. */
static int on_recall(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (!rl_state_holds(l))
		return REDLOCK_E_STATE;
	if (!e->message.deaf)
		rl_keep_end(l);
	if (l->phase == RL_KEPT)
		give_up_kept(l, e, fx);
	return 0;
}

/* The caller has never held the lock, so its acquire fails and no loss is notified. As after a failed
 * attempt, the handle is idle at once. */
static int on_late(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase != RL_LOST)
		return REDLOCK_E_STATE;
	int error = on_release(l, e, fx);
	assert(error == 0);
	l->phase = RL_IDLE;
	l->round.open = false;
	fx->observed &= ~RL_OBSERVE_EVENTS;
	end_with(fx, REDLOCK_OP_ACQUIRE, REDLOCK_E_LOST);
	return error;
}

/* A query begins at the end of a step in which nothing else is out: queries in a loop must not starve
 * renewal. The query waits for a renewal that is under way, whose deadline is that of a caller from now on. A
 * probe needs a fresh token, and so a handle that is idle. */
static int on_query(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)fx;
	enum redlock_operation operation = e->asked.probe ? REDLOCK_OP_PROBE : REDLOCK_OP_QUERY;
	bool possible = l->policy->asks[operation].request != RL_OP_NONE;
	if (!possible || l->phase == RL_KEPT || (e->asked.probe && l->phase != RL_IDLE))
		return REDLOCK_E_STATE;
	l->waiting = operation;
	if (l->findings != NULL)
		rl_finding_forget(l);
	if (l->round.open)
		l->round.deadline_ns =
		    rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, l->rules->node_timeout_ns));
	return 0;
}

static void begin_waiting(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	bool probe = l->waiting == REDLOCK_OP_PROBE;
	rl_round_open(l, l->waiting, now, RL_TIME_NEVER, probe ? l->rules->ttl_ns : 0, fx);
	l->waiting = REDLOCK_OP_NONE;
	fx->send.sign = probe;
	if (probe) /* what is late of the attempt before says nothing of this token */
		l->claim.refused = l->claim.seq = 0;
}

static void end_waiting(struct rl_lock *l, int result, struct rl_effects *fx)
{
	end_with(fx, l->waiting, result);
	l->waiting = REDLOCK_OP_NONE;
}

static int on_cancel(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_acquire_give_back(l, fx);
	if (l->phase == RL_KEPT)
		give_up_kept(l, e, fx);
	else if (rl_state_acquires(l))
		rl_acquire_end(l, e->asked.result, fx);
	else if (l->waiting != REDLOCK_OP_NONE)
		end_waiting(l, e->asked.result, fx);
	else if (rl_state_is_busy(l) && l->phase != RL_RELEASING)
		rl_share_end(l, e, e->asked.result, fx);
	return 0;
}

/* Whether a node that voted so, and not yes, may have the key. An error reply means that the SET was not
 * executed; CLOCK may have been a yes. */
static bool key_may_exist(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_TIMEOUT || vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE ||
	       vote == REDLOCK_VOTE_DUPLICATE || vote == REDLOCK_VOTE_CLOCK;
}

/* Where INFO is forbidden, a server that is listed twice is found by its keys: a node that has refused a
 * fresh token says yes for it later, because the server has accepted it as another node. A caller's own value
 * proves nothing, nor does a token that was on offer: the node may have been handed it after it refused. */
static void note_refusal(struct rl_lock *l, const struct rl_event *e)
{
	if (e->reply.seq == l->claim.seq && l->policy->signs && l->queue.heard == 0)
		l->claim.refused |= 1u << e->node;
}

/* A node that has refused the token says yes. */
static bool has_what_it_refused(const struct rl_lock *l, const struct rl_event *e)
{
	if (e->reply.identified)
		return false;
	if (l->policy->slots && e->reply.operation == l->policy->asks[REDLOCK_OP_RELEASE].request)
		return false;                                  /* whichever slot it was */
	return (int32_t)(e->reply.seq - l->claim.seq) > 0; /* not of the token before */
}

/* Silence may still be followed by a vote. */
static bool has_voted(const struct rl_lock *l, unsigned node)
{
	unsigned code = l->votes[node].code;
	return code != REDLOCK_VOTE_PENDING && code != REDLOCK_VOTE_TIMEOUT;
}

/* Takes an answer other than yes to the attempt, also long after the grant: whether the key exists. Where a
 * number came with a yes the key is there, even if raising that number fails later. */
static void note_missing_key(struct rl_lock *l, const struct rl_event *e, enum redlock_vote_code code)
{
	if (key_may_exist(code))
		return;
	if (code == REDLOCK_VOTE_NO || !rl_fence_has_number(l, e->node))
		l->claim.owed &= ~(1u << e->node);
}

/* Records an answer, of an operation that `tells` this. One that comes after the decision decides nothing. */
static void count(struct rl_lock *l, const struct rl_event *e, unsigned tells, enum redlock_vote_code code,
                  struct rl_effects *fx)
{
	const struct rl_ask *ask = &l->policy->asks[l->round.ask];
	if (e->reply.twins != 0)
		code = rl_round_cast_once(l, e->reply.twins, code);
	rl_round_cast(l, e->node, code, rl_time_sub(e->now_ns, l->round.t0_ns));
	if (code == REDLOCK_VOTE_QUARANTINE)
		rl_quarantine_keep(l, e);
	if (ask->keep != NULL && (ask->draws || (tells & RL_TELLS_DRAWN) == 0))
		ask->keep(l, e);
	if (l->round.open && !e->reply.more)
		decide(l, e, fx);
}

/* Quorums of two configurations of a node set need not have a node in common: all votes of a round are of
 * one. A yes of another one is like no answer, as the key may be there. */
static bool is_of_other_configuration(struct rl_lock *l, const struct rl_event *e)
{
	if (l->round.generation == 0)
		l->round.generation = e->reply.generation;
	return l->round.generation != e->reply.generation;
}

static int on_reply(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	unsigned tells = rl_state_tells(e->reply.operation);
	enum redlock_vote_code code = (tells & RL_TELLS_FINDING) != 0 ? rl_finding_vote(e) : e->reply.vote.code;
	bool current = e->reply.seq == l->round.seq;
	assert(e->node < l->rules->node_count && code != REDLOCK_VOTE_PENDING);
	if (l->queue.passed > 0)
		rl_queue_come_back(l, e);
	if (e->reply.seq == l->claim.seq)
		l->claim.unanswered &= ~(1u << e->node);
	if ((tells & RL_TELLS_WAITERS) != 0) /* also of a release long ago */
		rl_queue_learn_waiters(l, e);
	bool yes = code == REDLOCK_VOTE_YES, of_claim = e->reply.seq == l->claim.seq;
	bool other_slot = yes && l->rules->slots > 0 && rl_slots_is_other(l, e);
	if (code == REDLOCK_VOTE_NO || other_slot)
		note_refusal(l, e);
	fx->twin = yes && (l->claim.refused >> e->node & 1) != 0 && has_what_it_refused(l, e);
	if (e->reply.seq == l->look.seq) {
		rl_contend_found(l, e, fx);
		return 0;
	}
	if (fx->twin && l->round.operation == REDLOCK_OP_EXTEND)
		code = REDLOCK_VOTE_DUPLICATE;
	if (current && has_voted(l, e->node))
		return 0;
	if (current && code == REDLOCK_VOTE_YES && e->reply.generation != 0 && is_of_other_configuration(l, e))
		code = REDLOCK_VOTE_TIMEOUT;
	if (of_claim && code != REDLOCK_VOTE_YES)
		note_missing_key(l, e, code);
	if (of_claim && code == REDLOCK_VOTE_YES && other_slot)
		rl_slots_return(l, e->node, fx);
	if (current)
		count(l, e, tells, code, fx);
	return 0;
}

/* Asks a node for its key after the lock was granted, as no renewal makes a key. The vote is counted if no
 * other round has begun since. */
static int claim_late(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_ask *claim = &l->policy->asks[REDLOCK_OP_ACQUIRE];
	if (claim->request == RL_OP_NONE)
		return REDLOCK_E_STATE;
	fx->send.operation = claim->request;
	fx->send.draws = claim->draws;
	fx->send.nodes = 1u << e->node;
	fx->send.seq = e->reply.seq;
	fx->send.ttl_ns = l->rules->ttl_ns;
	fx->send.again = true;
	l->claim.owed |= fx->send.nodes;
	return 0;
}

/* The node set permits less than the TTL of this round, so the node was sent nothing. The rules follow the
 * set by now: asks the node for the TTL of the rules. A node that is heard of after the decision is asked
 * too, or the lock would lack a key there, or time, until its next renewal. An upgrade asks for what is left
 * of the shared lock at least, so that is cut to the maximum of the set first, as the notice of the guard
 * does, which may come later. Not where the caller asked for the TTL. */
static int on_shorter(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_round *r = &l->round;
	bool current = e->reply.seq == r->seq;
	if (current && has_voted(l, e->node))
		return REDLOCK_E_STATE;
	if (l->phase == RL_HELD && e->reply.seq == l->claim.seq)
		return claim_late(l, e, fx);
	bool acquires = l->phase == RL_ACQUIRING, other = r->open && r->operation != REDLOCK_OP_ACQUIRE;
	bool late = l->phase == RL_HELD && !r->open;
	bool upgrades = r->turn == RL_TURN_UP && r->open;
	bool possible = (r->turn == RL_TURN_NONE ? acquires || other || late : upgrades) && !r->asked_ttl;
	if (!possible || !current)
		return REDLOCK_E_STATE;
	if (upgrades)
		rl_hold_guard(l, e->now_ns, l->rules->ttl_ns);
	l->round.ttl_ns = rl_time_min(r->ttl_ns, l->rules->ttl_ns);
	(acquires ? rl_acquire_again : rl_round_again)(l, 1u << e->node, e->now_ns, fx);
	return 0;
}

static int on_tick(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool due = l->round.open && e->now_ns >= l->round.deadline_ns;
	if (due && !rl_enter_go_on(l, e, fx)) {
		rl_round_silence(l);
		decide(l, e, fx);
	}
	if (l->phase == RL_PAUSED && e->now_ns >= l->wait.retry_at_ns) {
		assert(fx->send.operation == RL_OP_NONE); /* a pause that begins in this step does not end in it */
		rl_enter_tick(l, e, fx);
	}
	if (l->phase == RL_HELD)
		rl_hold_tick(l, e->now_ns, fx);
	if (l->phase == RL_KEPT && e->now_ns >= l->hold.keep_until_ns)
		give_up_kept(l, e, fx);
	return 0;
}

void rl_lock_init(struct rl_lock *l, const struct rl_rules *rules, struct rl_ballot *votes)
{
	assert(rules->policy != NULL);
	assert(rules->node_count >= 1 && rules->node_count <= REDLOCK_MAX_NODES);
	assert(rules->quorum >= rl_quorum_least(rules->node_count) && rules->quorum <= rules->node_count);
	assert(rules->retry_min_ns <= rules->retry_max_ns);
	memset(l, 0, sizeof *l);
	memset(votes, 0, rules->node_count * sizeof *votes);
	l->rules = rules;
	l->policy = rules->policy;
	l->votes = votes;
	l->renew_at_ns = l->hold.hold_until_ns = RL_TIME_NEVER;
}

static int on_wake(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_enter_wake(l, e, fx);
	return 0;
}

static int on_hand(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_enter_take(l, e, fx);
	return 0;
}

static int on_leap(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_hold_leap(l, e);
	if (l->phase == RL_HELD && rl_lock_valid_until(l, e->now_ns) == 0)
		rl_hold_lose(l, RL_COUNT_LEAPT, fx);
	if (l->phase == RL_KEPT)
		give_up_kept(l, e, fx);
	return 0;
}

/* Nodes that said yes to this attempt may have forgotten locks, so the attempt fails, and the next one asks
 * them by their records. An attempt without a yes goes on: a yes that comes without the record does not
 * count, and its node is asked anew (net/node.c). An extend is asked again of all nodes. */
static int on_guarded(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool relies = rl_round_count(l).yes > 0;
	if (rl_state_acquires(l) && l->claim.open && relies)
		rl_acquire_fail(l, e, REDLOCK_E_NOQUORUM, false, fx);
	else if (l->round.open && l->round.operation == REDLOCK_OP_EXTEND)
		rl_round_again(l, rl_round_nodes(l), e->now_ns, fx);
	if (l->phase == RL_HELD)
		rl_hold_guard(l, e->now_ns, e->permitted_ns);
	if (l->phase == RL_KEPT)
		give_up_kept(l, e, fx);
	return 0;
}

static int on_pass(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_KEPT) {
		enter_kept(l, e, fx);
		return 0;
	}
	if (l->phase == RL_HELD) {
		l->passes++;
		hold_on(l, e, fx);
		return 0;
	}
	if (!rl_state_acquires(l))
		return REDLOCK_E_STATE;
	rl_acquire_give_back(l, fx);
	rl_acquire_end(l, 0, fx);
	end_with(fx, REDLOCK_OP_RELEASE, 0);
	return 0;
}

/* ---- a step ---- */

static int dispatch(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	static int (*const handlers[])(struct rl_lock *, const struct rl_event *, struct rl_effects *) = {
	    [RL_EV_ACQUIRE] = on_acquire, [RL_EV_EXTEND] = on_extend, [RL_EV_RELEASE] = on_release,
	    [RL_EV_QUERY] = on_query,     [RL_EV_CANCEL] = on_cancel, [RL_EV_REPLY] = on_reply,
	    [RL_EV_TICK] = on_tick,       [RL_EV_WAKE] = on_wake,     [RL_EV_HAND] = on_hand,
	    [RL_EV_LEAP] = on_leap,       [RL_EV_PASS] = on_pass,     [RL_EV_TURN] = rl_share_turn,
	    [RL_EV_GUARDED] = on_guarded, [RL_EV_LATE] = on_late,     [RL_EV_SHORTER] = on_shorter,
	    [RL_EV_RECALL] = on_recall};
	bool known = (unsigned)e->kind < sizeof handlers / sizeof handlers[0];
	return known ? handlers[e->kind](l, e, fx) : 0;
}

int rl_lock_step(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	memset(fx, 0, sizeof *fx);
	bool refused = e->kind < RL_EV_CANCEL && rl_state_is_busy(l); /* another operation is asked for */
	/* Validity ends by the clock, whatever the event is: an answer that comes later cannot bring it back. */
	if (l->phase == RL_HELD && e->now_ns >= l->valid_until_ns)
		rl_hold_lose(l, RL_COUNT_EXPIRED, fx);
	uint32_t extends = l->extends;
	int error = refused ? REDLOCK_E_STATE : dispatch(l, e, fx);
	/* Renewals go before a waiting query, but not two in a row: neither starves the other. */
	bool renewed = l->extends != extends;
	bool waits = l->waiting != REDLOCK_OP_NONE;
	if (waits && !l->round.open && rl_hold_renewal_is_due(l, e->now_ns) && !renewed)
		rl_hold_renew(l, e->now_ns, fx);
	if (waits && !l->round.open)
		begin_waiting(l, e->now_ns, fx);
	return error;
}

uint64_t rl_lock_deadline(const struct rl_lock *l)
{
	uint64_t next = l->round.open ? l->round.deadline_ns : RL_TIME_NEVER;
	if (l->phase == RL_PAUSED)
		next = rl_time_min(next, l->wait.retry_at_ns);
	if (l->phase == RL_KEPT)
		next = rl_time_min(next, l->hold.keep_until_ns);
	return l->phase == RL_HELD ? rl_time_min(next, rl_hold_deadline(l)) : next;
}

uint64_t rl_lock_valid_until(const struct rl_lock *l, uint64_t now_ns)
{
	return l->phase == RL_HELD && now_ns < l->valid_until_ns ? l->valid_until_ns : 0;
}

uint64_t rl_lock_fence(const struct rl_lock *l)
{
	bool none = l->claim.open || l->numbers == NULL || l->policy->shares;
	return none ? 0 : l->numbers->fence;
}
