/* SPDX-License-Identifier: MIT */
/*
 * Invariants that hold after every step of the core, in any history. The ledger keeps its own books of
 * tokens, votes and calls, and does its own arithmetic; a seeded generator or a fuzzer steps the core through
 * it. It needs nothing but the core: no test framework, no clock.
 */
#pragma once

#include "core/lock.h"

#define LEDGER_ROUNDS 64 /* so many rounds back a late answer may go */

struct ledger {
	/* Called with what is not true and the last step; does not return. */
	void (*fail)(const struct ledger *ledger, const char *what, int line, const char *trace);

	struct rl_lock lock;
	struct rl_rules rules;
	struct rl_ballot ballots[REDLOCK_MAX_NODES];
	struct redlock_finding findings[REDLOCK_MAX_NODES];
	union {
		struct rl_numbers head;
		char room[sizeof(struct rl_numbers) + REDLOCK_MAX_NODES * sizeof(uint64_t)];
	} numbers;
	struct rl_lock before; /* the state before the last step */
	struct rl_event event;
	struct rl_effects fx;
	int error;
	uint64_t now_ns;

	enum redlock_operation waited; /* what somebody waits for */
	uint64_t call_ns;              /* when the acquire was called */
	uint64_t grant_ns;             /* start of the attempt that was granted */
	uint32_t extends;              /* that were confirmed since the grant */
	uint64_t warned_ns;            /* the end of validity that the last danger notice was for */

	enum redlock_operation asked; /* of the round with number `seq`; looks are not counted as rounds */
	uint32_t seq;
	uint32_t last_seq; /* the highest that was sent */
	uint64_t t0_ns;
	uint64_t ttl_ns;
	enum redlock_vote_code votes[REDLOCK_MAX_NODES];
	int64_t told[REDLOCK_MAX_NODES];  /* the number that came with a yes to this token */
	uint32_t answered[LEDGER_ROUNDS]; /* bit per node, for each of the last rounds */
	uint32_t claim_seq;               /* of the SET of this token */
	uint32_t sent;                    /* bit per node: where to */
	uint32_t may_exist;               /* bit per node: that SET may have been executed there */
	uint32_t entered;                 /* bit per node: that SET was an ENTER, */
	uint32_t places;                  /* and bit per node: its queue may have our place */

	/* The states and results that were visited, over all runs. */
	unsigned long counts[RL_RAISING + 1]; /* steps by phase */
	unsigned long done[REDLOCK_OP_PROBE + 1][2];
	unsigned long lost;
	unsigned long stages[RL_STAGE_CLAIM + 1]; /* attempts by stage */
	unsigned long insisted;                   /* a gate was won, and keys elsewhere asked for again */
	unsigned long tidied;                     /* a place was given up by itself */
};

/* Starts a run. `fail` and the counts stay. */
void ledger_begin(struct ledger *ledger, const struct rl_rules *rules, uint64_t now_ns);

/* One step at `now_ns`, and all checks. */
void ledger_step(struct ledger *ledger, struct rl_event event);

/* Whether `node` may answer the round `seq`: it was asked, not too long ago, and has not answered yet. */
bool ledger_may_answer(const struct ledger *ledger, uint32_t seq, unsigned node);

/* Fails: the next TICK is due now, again and again. */
void ledger_stuck(const struct ledger *ledger);
