/* SPDX-License-Identifier: MIT */
/*
 * The policy of a kind of lock: what it asks of the nodes, how the votes are weighed, what that yields, and
 * what is given back. All that tells one kind from another is here, in a row of kinds.c; the rest of the core
 * asks the row.
 */
#ifndef RL_CORE_POLICY_H
#define RL_CORE_POLICY_H

#include "core/state.h"

/* One operation of a kind. */
struct rl_ask {
	unsigned request; /* what the nodes are sent, RL_OP_; NONE: this kind cannot do that */
	enum rl_tally (*weigh)(const struct rl_lock *lock);
	int refused;   /* what a refusal by a quorum means to the caller */
	bool asks_all; /* waits for every node, also when the votes suffice before */

	/* Takes the values of a vote that was counted and has numbers, also after the decision. NULL: they are
	 * not needed. */
	void (*keep)(struct rl_lock *lock, const struct rl_event *reply);
	bool draws; /* a yes has a fencing number: only nodes of a guarded set can say it */
};

/* The row of a round: the number of its operation, or one of these. */
enum {
	RL_ASK_ATTACH =
	    REDLOCK_OP_PROBE + 1, /* an extend without an acquire before; a release is possible then, too */
	RL_ASK_UPGRADE,           /* an extend of those that may become the only one */
	RL_ASK_COUNT
};

struct rl_policy {
	struct rl_ask asks[RL_ASK_COUNT]; /* by operation, and what takes its place */
	bool signs;                       /* each attempt has a fresh token; else it is the caller's own value */
	bool tries_again;                 /* an acquire may be several attempts */
	bool contends;                    /* and what follows a refusal is in contend.h */
	bool heirs;                       /* a waiter may be handed the lock; else it is woken */
	bool polls;                       /* a waiter that hears nothing keeps a place by asking */
	bool draws;                       /* it gets a number, at once or by an upgrade: in guarded sets only */
	bool decimal;                     /* a fresh token is a number, for clients that read it as one */
	bool renews_early;             /* after a grant, repairs what others may have written over it (setnx) */
	bool shares;                   /* others may hold it too; a split vote is then a refusal */
	bool several;                  /* it waits for one of its names at a time (many.h) */
	bool slots;                    /* a yes is for one of several names, which it tells (slots.h) */
	const struct rl_policy *many;  /* the same of several names; NULL: there is none */
	const struct rl_policy *alone; /* of a shared lock that was upgraded: what it is meanwhile */

	/* A quorum has granted in time. False: something else is to be confirmed first, and was asked for; then
	 * the votes are weighed again. NULL: nothing is. */
	bool (*confirm)(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects);

	/* Says in `effects` which nodes are to delete what a failed attempt has left, and which owe it. */
	void (*give_back)(const struct rl_lock *lock, struct rl_effects *effects);
};

/* The result of an operation. */
static inline int rl_policy_result(const struct rl_ask *ask, enum rl_tally tally)
{
	return tally == RL_WON ? 0 : tally == RL_REFUSED ? ask->refused : REDLOCK_E_NOQUORUM;
}

#endif
