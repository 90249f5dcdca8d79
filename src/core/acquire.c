/* SPDX-License-Identifier: MIT */
#include "core/acquire.h"

#include <assert.h>
#include <string.h>

#include "core/fence.h"
#include "core/finding.h"
#include "core/hold.h"
#include "core/keep.h"
#include "core/pace.h"
#include "core/policy.h"
#include "core/quarantine.h"
#include "core/queue.h"
#include "core/round.h"
#include "core/slots.h"

/* Forgets what the last call knew of other waiters, but not that there are some, if this call may wait. */
static void forget_waiting(struct rl_lock *l, uint64_t now)
{
	l->queue.woken = l->queue.placed = l->queue.polls = l->queue.behind_readers = l->queue.back = false;
	l->queue.contended &= l->rules->wait_ns > 0;
	l->queue.offered_ns = 0;
	l->queue.call = (uint16_t)((l->queue.call + 1u) % RL_CALLS);
	l->queue.passed = l->queue.vain = 0;
	l->queue.place = 0;
	l->queue.changed_ns = now;
	l->queue.free_at_ns = RL_TIME_NEVER;
}

void rl_acquire_forget_numbers(struct rl_lock *l)
{
	if (l->numbers == NULL)
		return;
	l->numbers->fence = 0;
	memset(l->numbers->of, 0, l->rules->node_count * sizeof l->numbers->of[0]);
}

void rl_acquire_begin(struct rl_lock *l, uint64_t now)
{
	l->wait.began_ns = now;
	l->wait_until_ns = rl_time_add(now, l->rules->wait_ns);
	l->wait.quorum_until_ns = 0;
	l->verdict = 0;
	l->wait.trip_ns = 0;
	l->look.pauses = 0;
	l->queue.obstacle = l->claim.slot = l->claim.first = 0;
	if (l->numbers != NULL) {
		l->numbers->fence = l->numbers->quarantine_ns = 0;
		l->numbers->patience_ns = l->rules->quarantine_wait_ns;
	}
	forget_waiting(l, now);
}

/* A node may have handed the lock over though its message was lost: it is asked by ENTER, which knows the
 * token that is on offer. */
static void enter_with_offer(const struct rl_lock *l, struct rl_effects *fx)
{
	fx->send.enter = fx->send.nodes & l->queue.heard;
	/* Without `stands` at the gate its own place would keep it out. */
	fx->queue.stands = l->queue.placed && (fx->send.enter >> l->queue.gate & 1) != 0;
	fx->queue.call = l->queue.call;
}

void rl_acquire_ask(struct rl_lock *l, uint64_t now, uint32_t nodes, struct rl_effects *fx)
{
	uint64_t until = l->rules->wait_ns == 0 ? RL_TIME_NEVER : l->wait_until_ns;
	l->phase = RL_ACQUIRING;
	l->claim.open = true;
	l->queue.handed = false;
	l->queue.kept_out = false;
	l->claim.refused = 0;
	if (l->findings != NULL)
		rl_finding_forget(l);
	if (l->numbers != NULL)
		rl_acquire_forget_numbers(l);
	rl_round_open(l, REDLOCK_OP_ACQUIRE, now, until, l->rules->ttl_ns, fx);
	l->claim.seq = l->round.seq;
	fx->observed |= RL_COUNT_ATTEMPT;
	l->claim.owed = l->claim.asked = l->claim.unanswered = fx->send.nodes = nodes;
	fx->send.sign = l->policy->signs && l->queue.offered_ns == 0;
	if (fx->send.sign)
		l->queue.heard = 0;
	if (l->queue.offered_ns != 0)
		enter_with_offer(l, fx);
}

void rl_acquire_ask_all(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	l->queue.stage = RL_STAGE_ALL;
	rl_acquire_ask(l, now, rl_round_nodes(l), fx);
}

void rl_acquire_again(struct rl_lock *l, uint32_t nodes, uint64_t now, struct rl_effects *fx)
{
	assert(l->claim.open);
	l->claim.owed |= nodes;
	l->claim.unanswered |= nodes;
	l->claim.refused &= ~nodes; /* they may have it from now on, also if the answer gets lost */
	rl_round_again(l, nodes, now, fx);
	if (l->queue.offered_ns != 0)
		enter_with_offer(l, fx);
}

bool rl_acquire_insist(struct rl_lock *l, uint64_t now, struct rl_effects *fx)
{
	uint32_t nodes = rl_round_voted(l, REDLOCK_VOTE_NO);
	if (nodes != 0)
		rl_acquire_again(l, nodes, now, fx);
	return nodes != 0;
}

void rl_acquire_give_back(struct rl_lock *l, struct rl_effects *fx)
{
	const struct rl_policy *policy = l->policy;
	if (!l->claim.open)
		return;
	l->claim.open = false;
	if (l->numbers != NULL)
		l->numbers->fence = 0;
	fx->send.operation = policy->asks[REDLOCK_OP_RELEASE].request;
	fx->send.seq = 0;
	policy->give_back(l, fx);
	l->claim.owed = 0;
	rl_queue_give_back(l, fx);
	rl_queue_revoke(l, fx);
}

void rl_acquire_end(struct rl_lock *l, int result, struct rl_effects *fx)
{
	l->phase = RL_IDLE;
	l->wait.quorum_until_ns = 0;
	fx->done.began_ns = l->wait.began_ns;
	rl_queue_leave(l, fx);
	rl_round_end(l, result, fx);
}

uint64_t rl_acquire_patience(struct rl_lock *l, int result)
{
	if (result != REDLOCK_E_NOQUORUM) {
		l->wait.quorum_until_ns = 0;
		return l->wait_until_ns;
	}
	if (l->wait.quorum_until_ns == 0)
		l->wait.quorum_until_ns = rl_time_add(l->round.t0_ns, l->rules->noquorum_wait_ns);
	return rl_time_min(l->wait_until_ns, l->wait.quorum_until_ns);
}

/* The result of an attempt. An attempt that was cut short by the end of the wait, before its votes were in,
 * is weaker evidence than the previous one: a lock that was busy all the time does not become "no quorum"
 * because the last try was too short. */
static int verdict_of(struct rl_lock *l, const struct rl_event *e, int result)
{
	bool cut_off = l->round.deadline_ns < rl_time_add(l->round.t0_ns, l->rules->node_timeout_ns);
	bool silent = result == REDLOCK_E_NOQUORUM && e->now_ns >= l->round.deadline_ns;
	if (!cut_off || !silent || l->verdict == 0)
		l->verdict = (int8_t)result;
	return l->verdict;
}

/* The attempt was not granted: give back, then try again after a delay if there is time for it. The delay is
 * at most half of what is left, so that a last try is made before the deadline and none beyond it; the other
 * half must be enough for a round as long as the last one. */
void rl_acquire_fail(struct rl_lock *l, const struct rl_event *e, int result, bool hopeless,
                     struct rl_effects *fx)
{
	result = verdict_of(l, e, result);
	if (!l->queue.handed)
		l->wait.trip_ns = rl_time_max(RL_ROUND_RETRY_MIN_NS, rl_time_sub(e->now_ns, l->round.t0_ns));
	rl_slots_turn(l, e);
	rl_acquire_give_back(l, fx);
	uint64_t left = rl_time_sub(rl_acquire_patience(l, result), e->now_ns);
	bool again = !hopeless && l->policy->tries_again;
	if (again && result == REDLOCK_E_NOQUORUM && rl_quarantine_pause(l, e, left))
		return;
	bool by_gate = l->queue.stage == RL_STAGE_GATE; /* one gate proves little */
	uint64_t least = by_gate ? RL_ROUND_RETRY_MIN_NS : l->wait.trip_ns;
	if (!again || left / 2 < least) {
		rl_acquire_end(l, result, fx);
		return;
	}
	bool queues = result == REDLOCK_E_BUSY && l->policy->contends;
	rl_round_pause(l, queues ? rl_pace_next(l, e, left) : rl_round_retry_at(l, e, left));
}

bool rl_acquire_grant(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	uint64_t valid_until = rl_round_validity_end(l);
	uint64_t max_hold = l->rules->max_hold_ns;
	if (!l->claim.open || l->policy->asks[l->round.ask].weigh(l) != RL_WON ||
	    valid_until <= rl_time_add(e->now_ns, l->rules->min_validity_ns))
		return false;
	const struct rl_policy *policy = l->policy;
	if (policy->confirm != NULL && !policy->confirm(l, e, fx))
		return true; /* not yet */
	l->claim.open = false;
	l->extends = 0;
	fx->done.began_ns = l->wait.began_ns;
	l->hold.held_ns = e->now_ns;
	l->hold.hold_until_ns =
	    max_hold > 0 ? rl_time_sub(rl_time_add(l->round.t0_ns, max_hold), l->round.leapt_ns) : RL_TIME_NEVER;
	l->hold.sticky_until_ns = 0;
	rl_hold_until(l, e, valid_until);
	if (policy->renews_early)
		rl_hold_renew_early(l, e->now_ns);
	if (l->queue.handed)
		rl_queue_refresh(l, e->now_ns);
	if (l->queue.beside)
		rl_queue_tidy(l, fx);
	rl_hold_allow_pass(l, e->now_ns);
	if (l->rules->sticky_ns > 0)
		rl_keep_allow(l, e->now_ns);
	rl_round_end(l, 0, fx);
	return true;
}

/* More nodes than a quorum can spare need an operator: waiting would not help. */
static bool is_hopeless(struct rl_count count)
{
	return count.fatal > count.nodes - count.quorum;
}

/* So many nodes are the servers of other nodes that all servers together are fewer than a quorum. */
static bool is_listed_twice(const struct rl_lock *l)
{
	unsigned duplicates = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		duplicates += l->votes[i].code == REDLOCK_VOTE_DUPLICATE;
	return duplicates > l->rules->node_count - l->rules->quorum;
}

enum rl_tally rl_acquire_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_ask *ask = &l->policy->asks[l->round.ask];
	enum rl_tally tally = ask->weigh(l);
	if (tally == RL_WON && !rl_acquire_grant(l, e, fx))
		rl_acquire_fail(l, e, ask->refused, false, fx);
	if (tally == RL_NOQUORUM)
		rl_acquire_fail(l, e, is_listed_twice(l) ? REDLOCK_E_DUPLICATE : REDLOCK_E_NOQUORUM,
		                is_hopeless(rl_round_count(l)), fx);
	return tally;
}

void rl_acquire_decide_raising(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (rl_acquire_decide(l, e, fx) == RL_REFUSED)
		rl_acquire_fail(l, e, REDLOCK_E_BUSY, false, fx);
	else if (l->phase == RL_RAISING)
		rl_fence_raise(l, e->now_ns, l->round.deadline_ns, fx); /* a claim was granted meanwhile */
}
