/* SPDX-License-Identifier: MIT */
#include "core/share.h"

#include "core/acquire.h"
#include "core/fence.h"
#include "core/hold.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/round.h"

/* A claim waits for the gate as long again as its quorum took, and for this part of a node timeout at least.
 */
enum { GATE_PATIENCE = 8 };

/* The verdict of a node where no key refuses us, but a waiter ahead of us does. */
enum { KEPT_OUT = -1 };

/* The verdict of a node that does not have the token that is to be upgraded. */
enum { GONE = -1 };

/* Whether this is a first attempt: it has not been refused before, and asks all nodes. */
static bool is_first(const struct rl_lock *l)
{
	return l->queue.stage == RL_STAGE_ALL && l->verdict == 0;
}

/* A key that only the gate has may remain from a claim that was never released. A waiter that was refused
 * before, and now asks all nodes, therefore ignores the gate's no. */
static bool is_in_the_way(const struct rl_lock *l)
{
	return rl_queue_gate_vote(l) == REDLOCK_KIND_NO && (l->queue.stage != RL_STAGE_ALL || is_first(l));
}

enum rl_tally rl_share_weigh(const struct rl_lock *l)
{
	enum rl_tally tally = rl_quorum_for_claim(rl_round_count(l));
	bool refused = l->queue.kept_out || is_in_the_way(l);
	return tally == RL_WON && refused ? RL_REFUSED : tally;
}

/* Until all nodes have told their run ids, any node that has not answered may be the gate. */
bool rl_share_confirm(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)fx;
	bool unsure = is_first(l) && !e->around.ordered && rl_round_count(l).out > 0;
	if (rl_queue_gate_vote(l) != REDLOCK_KIND_PENDING && !unsure)
		return true;
	uint64_t took = rl_time_sub(e->now_ns, l->round.t0_ns);
	uint64_t patience = rl_time_max(took, l->rules->node_timeout_ns / GATE_PATIENCE);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, patience));
	return false;
}

void rl_share_keep(struct rl_lock *l, const struct rl_event *e)
{
	bool kept_out = e->reply.vote.code == REDLOCK_VOTE_NO && e->reply.vote.verdict == KEPT_OUT;
	if (l->claim.open && is_first(l))
		rl_queue_find_gate(l, e);
	if (l->claim.open) /* else it is late, and what is known came from the gate */
		rl_queue_learn(l, e);
	l->queue.kept_out |= kept_out && (e->node == l->queue.gate || l->queue.stage == RL_STAGE_ALL);
}

/* ---- upgrade and downgrade ---- */

/* A downgrade makes the lock a shared one at once, an upgrade makes it exclusive when it is won. Later
 * operations use the scripts for the type of its keys. */
int rl_share_turn(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_LOST)
		return REDLOCK_E_LOST;
	if (l->phase != RL_HELD || l->policy->asks[RL_ASK_UPGRADE].request == RL_OP_NONE)
		return REDLOCK_E_STATE;
	if (!e->asked.up)
		l->policy = l->rules->policy;
	if (l->policy == l->rules->policy)
		rl_acquire_forget_numbers(l);
	return rl_hold_turn(l, e->now_ns, e->asked.up ? RL_TURN_UP : RL_TURN_DOWN, fx);
}

/* A fenced lock that was upgraded before has its number: a second upgrade draws none. */
void rl_share_keep_turn(struct rl_lock *l, const struct rl_event *e)
{
	l->votes[e->node].whose = e->reply.vote.verdict == GONE ? RL_KEY_NONE : RL_KEY_UNKNOWN;
	if (l->policy->asks[l->round.ask].draws)
		rl_fence_keep(l, e);
}

/* How many nodes no longer have our token. */
static unsigned count_gone(const struct rl_lock *l)
{
	unsigned gone = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		gone += l->votes[i].code == REDLOCK_VOTE_NO && l->votes[i].whose == RL_KEY_NONE;
	return gone;
}

/* Undoes a partial upgrade at once, so that a rival finds a shared lock again. */
void rl_share_end(struct rl_lock *l, const struct rl_event *e, int result, struct rl_effects *fx)
{
	bool turned = l->round.turn == RL_TURN_UP;
	rl_round_end(l, result, fx);
	if (turned) /* the lock is still held: a lost lock has no round */
		rl_hold_renew(l, e->now_ns, fx);
}

void rl_share_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_ask *ask = &l->policy->asks[l->round.ask];
	enum rl_tally tally = ask->weigh(l);
	if (ask->draws && !rl_fence_confirm_upgrade(l, e, tally, fx))
		return;
	bool refused = tally == RL_REFUSED;
	unsigned gone = count_gone(l);
	if (refused && (ask->refused == REDLOCK_E_LOST || gone >= l->rules->quorum)) {
		rl_hold_lose(l, RL_COUNT_GONE, fx);
	} else if (refused && gone + rl_round_count(l).out >= l->rules->quorum) {
		return;
	} else if (tally == RL_WON) {
		l->policy = l->policy->alone;
		rl_hold_confirm(l, e, fx);
	} else if (tally != RL_UNDECIDED) {
		rl_share_end(l, e, rl_policy_result(ask, tally), fx);
	}
}
