/* SPDX-License-Identifier: MIT */
#include "core/round.h"

#include <assert.h>
#include <string.h>

#include "core/ballot.h"
#include "core/hand.h"
#include "core/policy.h"
#include "core/validity.h"

uint32_t rl_round_next_seq(struct rl_lock *l)
{
	l->last_seq += l->last_seq != UINT32_MAX ? 1 : 2; /* 0 is nobody's */
	return l->last_seq;
}

static void ask(const struct rl_lock *l, uint32_t nodes, struct rl_effects *fx)
{
	fx->send = rl_policy_ask(l)->request;
	fx->nodes = nodes;
	fx->seq = l->round.seq;
	fx->ttl_ns = l->round.ttl_ns;
	if (l->round.operation == REDLOCK_OP_ACQUIRE && rl_hand_keeps_token(l)) {
		fx->enter = nodes & l->heard;
		fx->stands = l->placed && (fx->enter >> l->gate & 1) != 0; /* else its own place would keep it out */
		fx->call = l->call;
	}
}

void rl_round_open(struct rl_lock *l, enum redlock_operation operation, uint64_t now, uint64_t until,
                   uint64_t ttl, struct rl_effects *fx)
{
	rl_round_open_turn(l, operation, RL_TURN_NONE, now, until, ttl, fx);
}

void rl_round_open_turn(struct rl_lock *l, enum redlock_operation operation, enum rl_turn turn, uint64_t now,
                        uint64_t until, uint64_t ttl, struct rl_effects *fx)
{
	assert(!l->round.open || l->round.background); /* one caller at a time */
	if (l->round.open)
		l->renew_at_ns = now; /* the caller's operation replaces the renewal: renew after it */
	l->round = (struct rl_round){
	    .operation = (uint8_t)operation,
	    .open = true,
	    .turn = (uint8_t)turn,
	    .seq = rl_round_next_seq(l),
	    .t0_ns = now,
	    .deadline_ns = rl_time_min(rl_time_add(now, l->rules->node_timeout_ns), until),
	    .ttl_ns = ttl,
	};
	l->round.votes[REDLOCK_KIND_PENDING] = (uint8_t)l->rules->node_count;
	memset(l->votes, 0, l->rules->node_count * sizeof l->votes[0]);
	ask(l, rl_ballot_nodes(l), fx);
}

void rl_round_again(struct rl_lock *l, uint32_t nodes, uint64_t now, struct rl_effects *fx)
{
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if ((nodes >> i & 1) != 0)
			rl_ballot_cast(l, i, REDLOCK_VOTE_PENDING, 0);
	l->round.deadline_ns = rl_time_add(now, l->rules->node_timeout_ns);
	ask(l, nodes, fx);
	fx->again = true;
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
	fx->done = (enum redlock_operation)(turned ? turns[l->round.turn] : l->round.operation);
	fx->result = result;
}

void rl_round_pause(struct rl_lock *l, uint64_t until)
{
	l->round.operation = REDLOCK_OP_ACQUIRE;
	l->round.open = false;
	l->phase = RL_PAUSED;
	l->retry_at_ns = until;
}

void rl_round_silence(struct rl_lock *l)
{
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (l->votes[i].code == REDLOCK_VOTE_PENDING)
			rl_ballot_cast(l, i, REDLOCK_VOTE_TIMEOUT, 0);
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
