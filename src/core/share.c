/* SPDX-License-Identifier: MIT */
#include "core/share.h"

#include "core/acquire.h"
#include "core/fence.h"
#include "core/hold.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/round.h"

/* The gate is waited for as long as the others took once more, but this part of a node timeout at least. */
enum { GATE_PATIENCE = 8 };

/* The verdict of a node where no key keeps us out, but a waiter that goes first does. */
enum { KEPT_OUT = -1 };

/* Whether this is a first attempt: it has not been refused before, and asks all nodes. */
static bool is_first(const struct rl_lock *l)
{
	return l->stage == RL_STAGE_ALL && l->verdict == 0;
}

/* A key that is there alone may be left over, of a claim that was never given back. A waiter
 * that was refused before, and asks all nodes even so, does not count it. */
static bool is_in_the_way(const struct rl_lock *l)
{
	return rl_queue_gate_vote(l) == REDLOCK_KIND_NO && (l->stage != RL_STAGE_ALL || is_first(l));
}

enum rl_tally rl_share_weigh(const struct rl_lock *l)
{
	enum rl_tally tally = rl_quorum_for_claim(rl_round_count(l));
	bool refused = l->kept_out || is_in_the_way(l);
	return tally == RL_WON && refused ? RL_REFUSED : tally;
}

/* As long as not all nodes have said who they are, any of those that are still out may be the gate. */
bool rl_share_confirm(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	(void)fx;
	bool unsure = is_first(l) && !e->ordered && rl_round_count(l).out > 0;
	if (rl_queue_gate_vote(l) != REDLOCK_KIND_PENDING && !unsure)
		return true;
	uint64_t took = rl_time_sub(e->now_ns, l->round.t0_ns);
	uint64_t patience = rl_time_max(took, l->rules->node_timeout_ns / GATE_PATIENCE);
	l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, patience));
	return false;
}

void rl_share_keep(struct rl_lock *l, const struct rl_event *e)
{
	bool kept_out = e->vote.code == REDLOCK_VOTE_NO && e->vote.verdict == KEPT_OUT;
	if (l->claims && is_first(l))
		rl_queue_find_gate(l, e);
	if (l->claims) /* else it is late, and what is known came from the gate */
		rl_queue_learn(l, e);
	l->kept_out |= kept_out && (e->node == l->gate || l->stage == RL_STAGE_ALL);
}

/* ---- upgrade and downgrade ---- */

/* The lock is exclusive for as long as it is held. Later operations ask for the form that its keys have. */
int rl_share_turn(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (l->phase == RL_LOST)
		return REDLOCK_E_LOST;
	if (l->phase != RL_HELD || rl_policy_of(l)->upgrade.request == RL_OP_NONE)
		return REDLOCK_E_STATE;
	if (!e->up)
		l->alone = false;
	if (!l->alone)
		rl_acquire_forget_numbers(l);
	return rl_hold_turn(l, e->now_ns, e->up ? RL_TURN_UP : RL_TURN_DOWN, fx);
}

/* Undoes a partial upgrade at once, so that a rival finds a shared lock again. */
void rl_share_end(struct rl_lock *l, const struct rl_event *e, int result, struct rl_effects *fx)
{
	bool turned = l->round.turn == RL_TURN_UP;
	rl_round_end(l, result, fx);
	if (turned) /* it is held still: what is lost has no round */
		rl_hold_renew(l, e->now_ns, fx);
}

void rl_share_decide(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	const struct rl_ask *ask = rl_policy_ask(l);
	enum rl_tally tally = ask->weigh(l);
	if (ask->request == RL_OP_UPGRADE_FENCED && !rl_fence_confirm_upgrade(l, e, tally, fx))
		return;
	if (tally == RL_WON) {
		l->alone = true;
		rl_hold_confirm(l, e, fx);
	} else if (tally != RL_UNDECIDED) {
		rl_share_end(l, e, rl_policy_result(ask, tally), fx);
	}
}
