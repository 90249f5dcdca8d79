/* SPDX-License-Identifier: MIT */
#include "core/gate.h"

#include "core/policy.h"
#include "core/time.h"

/* A gate that was passed over is tried again after this time. */
#define COMES_BACK_NS (1000 * RL_NS_PER_MS)

/* A key that ends later by more than the way of an answer was renewed, or is another one. */
#define ENDS_LATER_NS (5 * RL_NS_PER_MS)

/* The gate, when the first `passed` nodes are passed over. */
static uint8_t gate_at(const struct rl_lock *l, const struct rl_event *e, unsigned passed)
{
	unsigned at = (l->turn + passed) % l->rules->node_count;
	return e->order != NULL ? e->order[at] : (uint8_t)at;
}

bool rl_gate_choose(struct rl_lock *l, const struct rl_event *e)
{
	if (rl_time_stamp_ms(e->now_ns) - l->passed_ms >= COMES_BACK_NS / RL_NS_PER_MS) {
		l->passed = 0;
		l->back = false;
	}
	uint8_t gate = gate_at(l, e, l->passed);
	if (l->placed && gate != l->gate)
		return false;
	l->gate = gate;
	return true;
}

void rl_gate_pass_over(struct rl_lock *l, uint64_t now)
{
	l->passed = (uint8_t)((l->passed + 1) % l->rules->node_count);
	l->passed_ms = rl_time_stamp_ms(now);
}

void rl_gate_find(struct rl_lock *l, const struct rl_event *e)
{
	unsigned passed = 0;
	do
		l->gate = gate_at(l, e, passed);
	while (redlock_vote_kind(l->votes[l->gate].code) > REDLOCK_KIND_NO && passed++ < l->rules->node_count);
}

/* The others may be there, and get turn after turn. Not again and again: one that always answers too late is
 * no gate for us. */
void rl_gate_come_back(struct rl_lock *l, const struct rl_event *e)
{
	if (l->back || redlock_vote_kind(e->vote.code) > REDLOCK_KIND_NO)
		return;
	for (unsigned i = 0; i < l->passed; i++)
		if (gate_at(l, e, i) == e->node) {
			l->passed = (uint8_t)i;
			l->back = true;
		}
}

/* ---- what it tells ---- */

/* Recognises a shared lock: its key exists, but has no string value that the gate could report. */
static bool is_shared(const struct rl_event *e)
{
	return e->operation == RL_OP_ENTER && e->vote.code == REDLOCK_VOTE_NO &&
	       rl_vote_tells(&e->vote, RL_FIELD_VALUE) && e->vote.value.size == 0 && e->vote.pttl_ms >= 0;
}

void rl_gate_learn(struct rl_lock *l, const struct rl_event *e)
{
	const struct rl_vote *vote = &e->vote;
	l->behind_readers |= is_shared(e);
	bool tells =
	    rl_state_tells(e->operation, RL_TELLS_QUEUE) && redlock_vote_kind(e->vote.code) <= REDLOCK_KIND_NO;
	if (!tells || !rl_vote_tells(vote, RL_FIELD_WAITING) || e->node != l->gate)
		return; /* others are asked so, too: they have no queue of ours */
	if (vote->waiting < 0)
		return; /* it was asked without its queue */
	l->contended = vote->waiting > 0;
	if (e->vote.code == REDLOCK_VOTE_YES) {
		l->placed = false;
		return;
	}
	int64_t pttl = vote->pttl_ms, place = vote->place;
	if (place > 0 && l->place != place) { /* 0: it was not asked for one */
		l->changed_ns = e->now_ns;        /* somebody before us has had his turn */
		l->place = (uint16_t)(place & 0xffff);
	}
	uint64_t free_at_ns = pttl >= 0 ? rl_time_add(e->now_ns, rl_time_ms((uint64_t)pttl)) : RL_TIME_NEVER;
	if (l->free_at_ns != RL_TIME_NEVER && free_at_ns > rl_time_add(l->free_at_ns, ENDS_LATER_NS))
		l->taken_ms = rl_time_stamp_ms(e->now_ns);
	l->free_at_ns = free_at_ns;
}

void rl_gate_learn_waiters(struct rl_lock *l, const struct rl_event *e)
{
	if (rl_state_tells(e->operation, RL_TELLS_WAITERS) && rl_gate_tells_of_others(e->vote.verdict))
		l->contended = rl_policy_of(l)->contends;
}
