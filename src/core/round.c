/* SPDX-License-Identifier: MIT */
#include "core/round.h"

#include <assert.h>
#include <string.h>

#include "core/policy.h"
#include "core/validity.h"

/* ---- rounds ---- */

uint32_t rl_round_next_seq(struct rl_lock *l)
{
	l->last_seq += l->last_seq != UINT32_MAX ? 1 : 2; /* 0 means no operation */
	return l->last_seq;
}

static void ask(const struct rl_lock *l, uint32_t nodes, struct rl_effects *fx)
{
	const struct rl_ask *what = &l->policy->asks[l->round.ask];
	fx->send.operation = what->request;
	fx->send.draws = what->draws;
	fx->send.nodes = nodes;
	fx->send.seq = l->round.seq;
	fx->send.ttl_ns = l->round.ttl_ns;
}

void rl_round_open(struct rl_lock *l, enum redlock_operation operation, uint64_t now, uint64_t until,
                   uint64_t ttl, struct rl_effects *fx)
{
	assert(!l->round.open || l->round.background); /* one caller at a time */
	if (l->round.open)
		l->renew_at_ns = now; /* the caller's operation replaces the renewal: renew after it */
	bool attaches = operation == REDLOCK_OP_EXTEND && l->phase != RL_HELD;
	l->round = (struct rl_round){
	    .operation = (uint8_t)operation,
	    .ask = (uint8_t)(attaches ? (unsigned)RL_ASK_ATTACH : operation),
	    .open = true,
	    .seq = rl_round_next_seq(l),
	    .t0_ns = now,
	    .deadline_ns = rl_time_min(rl_time_add(now, l->rules->node_timeout_ns), until),
	    .ttl_ns = ttl,
	};
	l->round.votes[REDLOCK_KIND_PENDING] = (uint8_t)l->rules->node_count;
	memset(l->votes, 0, l->rules->node_count * sizeof l->votes[0]);
	ask(l, rl_round_nodes(l), fx);
}

void rl_round_turn(struct rl_lock *l, enum rl_turn turn, struct rl_effects *fx)
{
	l->round.turn = (uint8_t)turn;
	if (turn == RL_TURN_UP)
		l->round.ask = RL_ASK_UPGRADE;
	ask(l, fx->send.nodes, fx);
}

void rl_round_again(struct rl_lock *l, uint32_t nodes, uint64_t now, struct rl_effects *fx)
{
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if ((nodes >> i & 1) != 0)
			rl_round_cast(l, i, REDLOCK_VOTE_PENDING, 0);
	l->round.deadline_ns = rl_time_add(now, l->rules->node_timeout_ns);
	ask(l, nodes, fx);
	fx->send.again = true;
}

void rl_round_end(struct rl_lock *l, int result, struct rl_effects *fx)
{
	l->round.open = false;
	if (l->round.background) {
		fx->observed |= result == 0 ? RL_COUNT_RENEWED : RL_COUNT_UNRENEWED;
		return;
	}
	fx->observed |= RL_OBSERVE_DONE;
	static const uint8_t turns[] = {[RL_TURN_UP] = REDLOCK_OP_UPGRADE, [RL_TURN_DOWN] = REDLOCK_OP_DOWNGRADE};
	bool turned = l->round.turn != RL_TURN_NONE;
	fx->done.operation = (enum redlock_operation)(turned ? turns[l->round.turn] : l->round.operation);
	fx->done.result = result;
}

void rl_round_pause(struct rl_lock *l, uint64_t until)
{
	l->round.operation = l->round.ask = REDLOCK_OP_ACQUIRE;
	l->round.open = false;
	l->phase = RL_PAUSED;
	l->wait.retry_at_ns = until;
}

void rl_round_keep_votes(struct rl_lock *l)
{
	if (l->caller_votes != NULL && !l->round.background)
		memcpy(l->caller_votes, l->votes, l->rules->node_count * sizeof l->votes[0]);
}

void rl_round_silence(struct rl_lock *l)
{
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (l->votes[i].code == REDLOCK_VOTE_PENDING)
			rl_round_cast(l, i, REDLOCK_VOTE_TIMEOUT, 0);
}

uint64_t rl_round_validity_end(const struct rl_lock *l)
{
	uint64_t drift = rl_validity_drift(l->round.ttl_ns, l->rules->drift_ppm, l->rules->drift_base_ns);
	return rl_time_sub(rl_validity_end(l->round.t0_ns, l->round.ttl_ns, drift), l->round.leapt_ns);
}

bool rl_round_is_in_time(const struct rl_lock *l, uint64_t now)
{
	return rl_round_validity_end(l) > rl_time_add(now, l->rules->min_validity_ns);
}

/* ---- votes ---- */

#define MAX_RTT_NS (((uint64_t)1 << 48) - 1)

uint32_t rl_round_nodes(const struct rl_lock *l)
{
	return (uint32_t)((1ull << l->rules->node_count) - 1);
}

void rl_round_cast(struct rl_lock *l, unsigned node, enum redlock_vote_code code, uint64_t rtt)
{
	struct rl_ballot *vote = &l->votes[node];
	bool first = vote->code == REDLOCK_VOTE_PENDING;
	l->round.votes[first ? REDLOCK_KIND_PENDING : redlock_vote_kind(vote->code)]--;
	l->round.votes[redlock_vote_kind(code)]++;
	vote->code = (uint8_t)code;
	vote->rtt_ns = rl_time_min(rtt, MAX_RTT_NS) & MAX_RTT_NS;
}

enum redlock_vote_code rl_round_cast_once(struct rl_lock *l, uint32_t twins, enum redlock_vote_code code)
{
	bool yes = redlock_vote_kind(code) == REDLOCK_KIND_YES;
	if (redlock_vote_kind(code) > REDLOCK_KIND_NO)
		return code;
	for (; twins != 0; twins &= twins - 1) {
		unsigned twin = (unsigned)__builtin_ctz(twins);
		enum redlock_vote_kind other = redlock_vote_kind(l->votes[twin].code);
		if (other == REDLOCK_KIND_YES || (other == REDLOCK_KIND_NO && !yes))
			return REDLOCK_VOTE_DUPLICATE;
		if (other == REDLOCK_KIND_NO)
			rl_round_cast(l, twin, REDLOCK_VOTE_DUPLICATE, l->votes[twin].rtt_ns);
	}
	return code;
}

struct rl_count rl_round_count(const struct rl_lock *l)
{
	return (struct rl_count){.nodes = l->rules->node_count,
	                         .quorum = l->rules->quorum,
	                         .yes = l->round.votes[REDLOCK_KIND_YES],
	                         .no = l->round.votes[REDLOCK_KIND_NO],
	                         .out = l->round.votes[REDLOCK_KIND_PENDING],
	                         .fatal = l->round.votes[REDLOCK_KIND_FATAL]};
}

enum rl_tally rl_round_weigh_claim(const struct rl_lock *l)
{
	return rl_quorum_for_claim(rl_round_count(l));
}

enum rl_tally rl_round_weigh_extend(const struct rl_lock *l)
{
	return rl_quorum_for_extend(rl_round_count(l));
}

enum rl_tally rl_round_weigh_check(const struct rl_lock *l)
{
	return rl_quorum_for_check(rl_round_count(l));
}

enum rl_tally rl_round_weigh_release(const struct rl_lock *l)
{
	return rl_quorum_for_release(rl_round_count(l));
}

uint32_t rl_round_voted(const struct rl_lock *l, enum redlock_vote_code code)
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		nodes |= (uint32_t)(l->votes[i].code == code) << i;
	return nodes;
}

/* ---- delays ---- */

uint64_t rl_round_retry_at(const struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	uint64_t random = e->around.entropy % (l->rules->retry_max_ns - l->rules->retry_min_ns + 1);
	uint64_t delay = rl_time_min(l->rules->retry_min_ns + random, left / 2);
	return rl_time_add(e->now_ns, rl_time_max(delay, RL_ROUND_RETRY_MIN_NS));
}

uint64_t rl_round_retry_pause(const struct rl_lock *l)
{
	uint64_t grown = RL_ROUND_RETRY_MIN_NS, longest = rl_time_max(rl_round_retry_longest(l), grown);
	/*@ loop invariant i <= l->look.pauses && grown == grown_to(longest, i);
	    loop invariant RL_ROUND_RETRY_MIN_NS <= grown <= longest;
	    loop assigns i, grown;
	    loop variant l->look.pauses - i; */
	for (unsigned i = 0; i < l->look.pauses; i++)
		grown = rl_time_min(2 * grown, longest);
	return grown;
}

uint64_t rl_round_retry_longest(const struct rl_lock *l)
{
	enum { PARTS = 8 };
	return l->rules->node_timeout_ns / PARTS;
}

void rl_round_retry_grow(struct rl_lock *l)
{
	bool grows = rl_round_retry_pause(l) < rl_round_retry_longest(l);
	l->look.pauses = (uint8_t)(l->look.pauses + grows);
}
