/* SPDX-License-Identifier: MIT */
/*
 * Release, extend and query without scripts: WATCH and MULTI. Pure: it says what to send and takes the
 * replies, in order.
 *
 *   READ    MULTI EXEC WATCH k... then for each request: GETRANGE k 0 <token size>, and PTTL k to extend
 *   CHANGE  MULTI, for each request whose value was its token: DEL k, or PEXPIRE k ttl if that is later (else
 *           PTTL k, to see that it is still there); EXEC
 *   LOOK    MULTI EXEC MULTI TYPE k PTTL k STRLEN k GETRANGE k 0 1023 EXEC, for a query: one step
 *
 * EXEC answers nil when any client has touched one of the keys since WATCH: then nothing has happened, and
 * the requests are asked again. So a value that matched still matches when it is deleted, and an expiry is
 * never shortened. The value is read with GETRANGE, because a foreign one may have megabytes.
 *
 * EXEC also ends every WATCH of the connection. So there is one conversation at a time on it, which serves up
 * to RL_BATCH requests at once; ordinary SETs may go in between the steps, but each step is one piece.
 *
 * If MULTI were refused in CHANGE, the DEL after it would be executed alone. So READ begins with an empty
 * transaction, and nothing is changed on a connection that could not do one a round trip ago. It also ends
 * the WATCH of an earlier READ after which nothing had to be changed.
 */
#ifndef RL_PROTO_TRANSACTION_H
#define RL_PROTO_TRANSACTION_H

#include "core/vote.h"
#include "proto/buffer.h"
#include "proto/request.h"

#define RL_BATCH RL_REPLY_ITEMS /* EXEC answers with one array */

enum rl_step {
	RL_STEP_NONE,
	RL_STEP_READ,
	RL_STEP_CHANGE,
	RL_STEP_LOOK,
	RL_STEP_WAIT /* not of a transaction: WAIT, or a request whose answer waits for that (net/replicas.h) */
};

struct rl_part {
	const struct rl_op *op;
	struct rl_slice name;
	struct rl_slice token;
	uint64_t ttl_ms;
	bool valued;                 /* READ: the value was answered */
	bool ours;                   /* and it is the token */
	int64_t left;                /* READ, to extend: PTTL */
	bool changes;                /* has a command in CHANGE */
	enum redlock_vote_code vote; /* PENDING: to be asked again */
};

struct rl_transaction {
	enum rl_step step; /* the step whose replies are awaited */
	unsigned replies;  /* of this step, so far */
	unsigned count;
	struct rl_part parts[RL_BATCH];
	struct rl_buffer kept; /* what the slices of the parts point into */
	struct rl_vote found;  /* what a query has found */
	unsigned reading;      /* READ: the part whose reply is next */
	bool unopened;         /* MULTI, EXEC or WATCH was refused */
	bool aborted;          /* a command between MULTI and EXEC was */
	char error[160];       /* what the server said; "": nothing */
};

enum rl_progress {
	RL_PROGRESS_MORE,    /* replies to come */
	RL_PROGRESS_GO_ON,   /* send the next step: rl_transaction_change() */
	RL_PROGRESS_DONE,    /* every part has its vote, or is PENDING */
	RL_PROGRESS_REFUSED, /* the server refuses transactions; `error` says why */
	RL_PROGRESS_STUCK,   /* MULTI is there and EXEC is not: this connection is of no use any more */
	RL_PROGRESS_GARBAGE
};

/* Begins with up to RL_BATCH requests that release or extend, no key twice the latter, or one that queries;
 * takes copies, and appends the first step to `out`. False: out of memory. */
bool rl_transaction_begin(struct rl_transaction *transaction, const struct rl_request *requests,
                          unsigned count, struct rl_buffer *out);

/* Appends the second step. False: out of memory. */
bool rl_transaction_change(struct rl_transaction *transaction, struct rl_buffer *out);

/* Takes the next reply. After RL_PROGRESS_DONE and RL_PROGRESS_REFUSED the step is NONE. */
enum rl_progress rl_transaction_take(struct rl_transaction *transaction, const struct rl_reply *reply);

/* The connection is gone, and with it all that was begun. */
void rl_transaction_drop(struct rl_transaction *transaction);
void rl_transaction_free(struct rl_transaction *transaction);

#endif
