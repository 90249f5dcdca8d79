/* SPDX-License-Identifier: MIT */
#include "core/queue.h"

#include "core/policy.h"
#include "core/round.h"
#include "core/time.h"
#include "core/validity.h"

/* ---- the gate ---- */

/* A gate that was passed over is tried again after this time, and after twice that for each time that it was
 * won in vain. */
#define COMES_BACK_NS (1000 * RL_NS_PER_MS)
enum { MOST_VAIN = 3 };

/* A key that ends later by more than the way of an answer was renewed, or is another one. */
#define ENDS_LATER_NS (5 * RL_NS_PER_MS)

/* The gate, when the first `passed` nodes are passed over. */
static uint8_t gate_at(const struct rl_lock *l, const struct rl_event *e, unsigned passed)
{
	unsigned at = (l->queue.turn + passed) % l->rules->node_count;
	return e->around.order != NULL ? e->around.order[at] : (uint8_t)at;
}

bool rl_queue_choose_gate(struct rl_lock *l, const struct rl_event *e)
{
	if (rl_time_stamp_ms(e->now_ns) - l->queue.passed_ms >= COMES_BACK_NS / RL_NS_PER_MS << l->queue.vain) {
		l->queue.passed = 0;
		l->queue.back = false;
	}
	uint8_t gate = gate_at(l, e, l->queue.passed);
	if (l->queue.placed && gate != l->queue.gate)
		return false;
	l->queue.gate = gate;
	return true;
}

void rl_queue_pass_over(struct rl_lock *l, uint64_t now)
{
	l->queue.passed = (uint8_t)((l->queue.passed + 1) % l->rules->node_count);
	l->queue.passed_ms = rl_time_stamp_ms(now);
}

void rl_queue_count_vain(struct rl_lock *l)
{
	if (l->queue.vain < MOST_VAIN)
		l->queue.vain++;
}

void rl_queue_forget_vain(struct rl_lock *l)
{
	if (l->queue.passed == 0)
		l->queue.vain = 0;
}

void rl_queue_find_gate(struct rl_lock *l, const struct rl_event *e)
{
	unsigned passed = 0;
	do
		l->queue.gate = gate_at(l, e, passed);
	while (redlock_vote_kind(l->votes[l->queue.gate].code) > REDLOCK_KIND_NO &&
	       passed++ < l->rules->node_count);
}

/* The others may be there, and get turn after turn. Not again and again: one that always answers too late is
 * no gate for us. */
void rl_queue_come_back(struct rl_lock *l, const struct rl_event *e)
{
	if (l->queue.back || redlock_vote_kind(e->reply.vote.code) > REDLOCK_KIND_NO)
		return;
	for (unsigned i = 0; i < l->queue.passed; i++)
		if (gate_at(l, e, i) == e->node) {
			l->queue.passed = (uint8_t)i;
			l->queue.back = true;
		}
}

/* ---- what it tells ---- */

/* Recognises a shared lock: its key exists, but has no string value that the gate could report. */
static bool is_shared(const struct rl_event *e)
{
	const struct rl_vote *vote = &e->reply.vote;
	return e->reply.operation == RL_OP_ENTER && vote->code == REDLOCK_VOTE_NO &&
	       rl_vote_tells(vote, RL_FIELD_VALUE) && vote->value.size == 0 && vote->pttl_ms >= 0;
}

void rl_queue_learn(struct rl_lock *l, const struct rl_event *e)
{
	const struct rl_vote *vote = &e->reply.vote;
	l->queue.behind_readers |= is_shared(e);
	bool tells = (rl_state_tells(e->reply.operation) & RL_TELLS_QUEUE) != 0 &&
	             redlock_vote_kind(vote->code) <= REDLOCK_KIND_NO;
	if (!tells || !rl_vote_tells(vote, RL_FIELD_WAITING) || e->node != l->queue.gate)
		return; /* others are asked so, too: they have no queue of ours */
	if (vote->waiting < 0)
		return; /* it was asked without its queue */
	l->queue.contended = vote->waiting > 0;
	if (vote->code == REDLOCK_VOTE_YES) {
		l->queue.placed = false;
		return;
	}
	int64_t pttl = vote->pttl_ms, place = vote->place;
	if (place > 0 && l->queue.place != place) { /* 0: it was not asked for one */
		l->queue.changed_ns = e->now_ns;        /* somebody before us has had his turn */
		l->queue.place = (uint16_t)(place & 0xffff);
	}
	uint64_t free_at_ns = pttl >= 0 ? rl_time_add(e->now_ns, rl_time_ms((uint64_t)pttl)) : RL_TIME_NEVER;
	if (l->queue.free_at_ns != RL_TIME_NEVER && free_at_ns > rl_time_add(l->queue.free_at_ns, ENDS_LATER_NS))
		l->queue.taken_ms = rl_time_stamp_ms(e->now_ns);
	l->queue.free_at_ns = free_at_ns;
}

void rl_queue_learn_waiters(struct rl_lock *l, const struct rl_event *e)
{
	if (rl_queue_tells_of_others(e->reply.vote.verdict))
		l->queue.contended = l->policy->contends;
}

/* ---- places ---- */

void rl_queue_give_up(const struct rl_lock *l, uint32_t nodes, unsigned call, struct rl_effects *fx)
{
	const struct rl_policy *policy = l->policy;
	fx->queue.call = (uint16_t)call;
	fx->send.operation =
	    policy->slots || policy->several ? policy->asks[REDLOCK_OP_RELEASE].request : (unsigned)RL_OP_LEAVE;
	fx->send.nodes = nodes;
	fx->send.seq = 0;
	fx->queue.tidies = fx->queue.quits = true;
}

void rl_queue_give_back(struct rl_lock *l, struct rl_effects *fx)
{
	if (!l->queue.beside)
		return;
	fx->send.operation = RL_OP_LEAVE;
	fx->queue.quits = fx->queue.bars = fx->queue.quiet = true;
	fx->queue.call = l->queue.call;
	l->queue.beside = false;
}

void rl_queue_tidy(struct rl_lock *l, struct rl_effects *fx)
{
	uint32_t nodes = l->claim.asked & ~rl_round_voted(l, REDLOCK_VOTE_YES);
	if (nodes != 0)
		rl_queue_give_up(l, nodes, l->queue.call, fx);
	l->queue.beside = false;
}

/* To wake the next one is for who had the lock, or waits no longer. A failed attempt that is tried again only
 * gives back: the next one would find what it has found. */
void rl_queue_leave(struct rl_lock *l, struct rl_effects *fx)
{
	if ((l->queue.contended || l->queue.placed) && fx->send.operation == RL_OP_RELEASE)
		fx->send.operation = RL_OP_LEAVE;
	rl_queue_revoke(l, fx);
	fx->queue.quiet = false;
	if (!l->queue.placed)
		return;
	l->queue.placed = false;
	if (fx->send.operation == RL_OP_NONE) {
		rl_queue_give_up(l, rl_queue_gate_bit(l), l->queue.call, fx);
		return;
	}
	fx->queue.quits = true;
	fx->queue.call = l->queue.call;
	fx->send.nodes |= rl_queue_gate_bit(l);
}

/* ---- offers ---- */

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

void rl_queue_offer(struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	if (!fx->queue.stands || !l->policy->heirs || count(e->around.hears) < l->rules->quorum ||
	    !is_worth_it(l->rules))
		return;
	fx->queue.offered_ns = rl_time_max(l->round.t0_ns, l->queue.offered_ns);
	if (l->queue.offered_ns == 0)
		l->queue.offered_ns = fx->queue.offered_ns;
	l->queue.heard |= e->around.hears & rl_round_nodes(l);
}

void rl_queue_hand_over(const struct rl_lock *l, const struct rl_event *e, struct rl_effects *fx)
{
	bool fresh = e->around.heir_ns != 0 && rl_time_sub(e->now_ns, e->around.heir_ns) <= FRESH_NS;
	if (fx->send.operation == RL_OP_LEAVE && fresh && !is_old(l, e->around.heir_ns, e->now_ns))
		fx->send.operation = RL_OP_HAND;
}

void rl_queue_refresh(struct rl_lock *l, uint64_t now)
{
	bool counted = l->rules->max_extends > 0; /* by the caller: it is not for us to use one up */
	if (!counted && is_old(l, l->round.t0_ns, now))
		l->renew_at_ns = now;
}

void rl_queue_revoke(struct rl_lock *l, struct rl_effects *fx)
{
	if (l->queue.offered_ns == 0)
		return;
	if (fx->send.operation == RL_OP_NONE)
		fx->send.owed = fx->send.seq = 0;
	fx->send.operation = RL_OP_LEAVE;
	fx->send.nodes = rl_round_nodes(l);
	/* Messages may have been lost: the key is released there also when that is late. */
	fx->send.owed |= l->queue.heard;
	fx->queue.bars = fx->queue.quiet = true;
	l->queue.handed = false;
	l->queue.offered_ns = 0;
}
