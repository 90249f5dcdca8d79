/* SPDX-License-Identifier: MIT */
/*
 * The inside of a node, and its answers: for node.c, and for the files that are a part of it and that node.c
 * calls: admission.c, permit.c, record.c and server_clock.c of a guarded node, loss.c, redirect.c and
 * submit.c. Others see node.h.
 */
#ifndef RL_NET_INSIDE_H
#define RL_NET_INSIDE_H

#include <redlock/redlock.h>

#include "core/vote.h"
#include "net/ledger.h"
#include "net/link.h"
#include "net/listener.h"
#include "net/redirect.h"
#include "net/sentinels.h"
#include "net/set.h"
#include "net/talk.h"
#include "proto/method.h"
#include "proto/request.h"

/* The right of a guarded node to vote, as far as this client knows (admission.h). */
struct rl_admission {
	struct rl_set *set;
	struct rl_set_opinion opinion;
	bool holds;   /* operations wait: nothing is known yet on this connection, and the set may be guarded */
	bool passed;  /* it was admitted on this connection: answers in guarded forms may be under way */
	bool asking;  /* MEET or ADMIT is out, or a look */
	bool seen;    /* a look has shown a record, and MEET was queued after requests in a plain form */
	bool late;    /* the connection before was too old when it was open */
	bool leaves;  /* operations wait for a new connection, which is made when nothing is under way on this one
	               */
	bool awaited; /* a request needs the record that the new connection asks for */
	char id[RL_SET_ID + 1];
	bool wanted; /* somebody has asked for a vote in vain since */
	uint64_t asked_ns;
	uint64_t over_ns;  /* when the quarantine ends, as far as is known */
	bool timing;       /* it is asked for its time, */
	uint64_t timed_ns; /* since then, or was last */
};

struct rl_answer {
	struct rl_tag tag;
	unsigned operation;  /* as in its request */
	struct rl_vote vote; /* its texts are there until the next call */
	uint8_t generation;  /* of a guarded yes: of the configuration that the node compared; else 0 */
};

struct rl_node {
	uint32_t id; /* the node's number */
	struct rl_ledger ledger;
	struct rl_talk talk;
	struct rl_methods methods;

	/* Counters of redlock_node_stats(). */
	uint64_t answered[REDLOCK_STATS_VOTES];
	struct redlock_histogram round_trip;

	bool breaking;          /* link BROKEN: rl_node_next() has begun to hand out what was not answered */
	uint64_t first_unsent;  /* of that: number of the first entry that was never sent; 0: all were */
	uint64_t parked_popped; /* of that: parked entries above this number were never sent */

	bool identified; /* set when the server has reported its run_id; the comparison with other nodes clears it
	                  */
	bool duplicate;  /* an answer has proved that it is the server of another node: it has no vote */
	uint64_t left_ns; /* when it was found to be another server than before (link.facts.left) */

	struct rl_admission *admission; /* unless the guard is off (admission.h); else NULL */
	bool guards;       /* the admission has a say: the set is not known to be plain, or was not */
	unsigned refusals; /* entries in the outbox that it does not send, but votes on */

	struct rl_answer held; /* a yes that waits for replicas (replicas.h): of the front of the outbox */
	bool unreplicated;     /* they were missing the last time */

	struct rl_listener *listener;   /* while somebody waits; else NULL */
	uint32_t listener_id;           /* the next in the poller: two listeners have none in common */
	struct rl_sentinels *sentinels; /* of a master that they know; else NULL */
	struct rl_redirect *redirect;   /* of a server of a cluster: what it sends on (cluster.h); else NULL */
	uint64_t deaf_until_ns;         /* the server has refused one: no other is tried before */

	struct rl_link link; /* the last: it ends with a large buffer */
};

#endif
