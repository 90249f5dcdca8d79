/* SPDX-License-Identifier: MIT */
#include "core/policy.h"

#include "core/ballot.h"

static enum rl_tally claim(const struct rl_lock *l)
{
	return rl_quorum_for_claim(rl_ballot_count(l));
}

static enum rl_tally extend(const struct rl_lock *l)
{
	return rl_quorum_for_extend(rl_ballot_count(l));
}

static enum rl_tally check(const struct rl_lock *l)
{
	return rl_quorum_for_check(rl_ballot_count(l));
}

static enum rl_tally release(const struct rl_lock *l)
{
	return rl_quorum_for_release(rl_ballot_count(l));
}

/* From every node, also from those that said no or nothing. */
static void from_all(const struct rl_lock *l, struct rl_effects *fx)
{
	fx->nodes = rl_ballot_nodes(l);
	fx->owed = l->owed;
}

/* A key with a caller's own value may be that of another acquisition of the same caller, an earlier or a
 * later one: it is ours to delete only where it is known that this attempt made it. A node that has not said
 * so yet finds out by itself (net/submit.c). */
static void where_proven(const struct rl_lock *l, struct rl_effects *fx)
{
	fx->nodes = l->owed;
	fx->owed = l->owed & rl_ballot_voted(l, REDLOCK_VOTE_YES);
}

const struct rl_policy rl_policies[RL_KIND_COUNT] = {
    [RL_KIND_EXCLUSIVE] =
        {
            .asks =
                {
                    [REDLOCK_OP_ACQUIRE] = {REDLOCK_OP_ACQUIRE, claim, REDLOCK_E_BUSY, false},
                    [REDLOCK_OP_EXTEND] = {REDLOCK_OP_EXTEND, extend, REDLOCK_E_LOST, false},
                    [REDLOCK_OP_RELEASE] = {REDLOCK_OP_RELEASE, release, REDLOCK_E_GONE, false},
                    [REDLOCK_OP_QUERY] = {REDLOCK_OP_QUERY, check, REDLOCK_E_GONE, true},
                    [REDLOCK_OP_PROBE] = {REDLOCK_OP_PROBE, check, REDLOCK_E_GONE, true},
                },
            .signs = true,
            .tries_again = true,
            .contends = true,
            .give_back = from_all,
        },
    /* Who asks with a token wants to know whether it holds; who asks without wants to see every node. */
    [RL_KIND_OWN_VALUE] =
        {
            .asks =
                {
                    [REDLOCK_OP_ACQUIRE] = {REDLOCK_OP_ACQUIRE, claim, REDLOCK_E_BUSY, false},
                    [REDLOCK_OP_EXTEND] = {REDLOCK_OP_EXTEND, extend, REDLOCK_E_LOST, false},
                    [REDLOCK_OP_RELEASE] = {REDLOCK_OP_RELEASE, release, REDLOCK_E_GONE, false},
                    [REDLOCK_OP_QUERY] = {REDLOCK_OP_QUERY, check, REDLOCK_E_GONE, false},
                },
            .attach = {REDLOCK_OP_EXTEND, check, REDLOCK_E_GONE, false},
            .give_back = where_proven,
        },
};

const struct rl_ask *rl_policy_ask(const struct rl_lock *l)
{
	bool attaches = l->round.operation == REDLOCK_OP_EXTEND && l->phase != RL_HELD;
	const struct rl_policy *policy = rl_policy_of(l);
	return attaches ? &policy->attach : &policy->asks[l->round.operation];
}

int rl_policy_result(const struct rl_ask *ask, enum rl_tally tally)
{
	return tally == RL_WON ? 0 : tally == RL_REFUSED ? ask->refused : REDLOCK_E_NOQUORUM;
}
