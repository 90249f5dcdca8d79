/* SPDX-License-Identifier: MIT */
#include "core/take.h"

#include "core/acquire.h"
#include "core/ballot.h"
#include "core/enter.h"

static bool is_ours(const struct rl_lock *l, const struct rl_event *e)
{
	return l->offered_ns != 0 && rl_slice_same(e->vote.token, e->token);
}

/* Nothing is sent: the votes come by themselves. */
static void begin(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	rl_acquire_ask(l, e->now_ns, rl_ballot_nodes(l), fx);
	*fx = (struct rl_effects){.send = RL_OP_NONE, .observed = fx->observed};
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
		l->contended = e->vote.waiting > 0;
	}
	if (l->round.operation == REDLOCK_OP_ACQUIRE)
		rl_ballot_cast(l, e->node, rl_ballot_once(l, e->twins, REDLOCK_VOTE_YES),
		               rl_time_sub(e->now_ns, l->round.t0_ns));
	l->owed |= 1u << e->node;
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
	rl_enter_wait_for_others(l, e->now_ns, 0);
	vote(l, e);
	rl_enter_decide(l, e, fx);
}

/* A lock that is handed over and not wanted is released; but never the token that this handle claims or
 * holds. */
void rl_take_message(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool in_time = l->offered_ns <= e->offered_ns && e->offered_ns <= e->now_ns;
	if (!is_ours(l, e))
		fx->declines = true;
	else if (l->phase == RL_HELD)
		vote(l, e); /* the others were a quorum */
	else if (rl_state_acquires(l) && in_time)
		take(l, e, fx);
}
