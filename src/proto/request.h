/* SPDX-License-Identifier: MIT */
/* A request: one row of the table of operations (ops.h) with its values, and its bytes. */
#ifndef RL_PROTO_REQUEST_H
#define RL_PROTO_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/buffer.h"
#include "proto/ops.h"

/* The handle that an answer is for. A slot may be used again by another handle: then the generation differs.
 */
struct rl_tag {
	uint32_t slot;
	uint32_t generation;
	uint32_t seq; /* 0: nobody waits for the answer */
};

struct rl_request {
	unsigned operation; /* its row, RL_OP_ */
	struct rl_tag tag;
	struct rl_slice name;
	struct rl_slice also; /* of several names: the others, each as it is in a command */
	struct rl_slice line; /* the same, ENTER_ALL: the one that is waited for */
	struct rl_slice token;
	uint64_t ttl_ms;
	struct rl_slice place; /* ENTER, LEAVE: of the waiter, "<client>.<slot>"; "": none */
	uint64_t patience_ms;  /* the same: for how long a waiter that is woken goes first */
	uint64_t offered_ns;  /* ENTER: number of this offer, a time of our clock; 0: it may not be handed over */
	struct rl_slice next; /* HAND: to whom, as it was told */
	bool bars;            /* LEAVE: nor may the token be handed over from now on; */
	bool quiet;           /* and nobody is woken */
	uint32_t enter;       /* ACQUIRE: bit per node that is asked by ENTER in its place */
	uint32_t plain;       /* RELEASE: bit per node that is not asked whether somebody waits there */
	uint32_t owed;        /* RELEASE: bit per node where the key may exist */
	bool own_value; /* the token is the caller's, who may use it again: never EVALSHA. A second request, sent
	                 * after NOSCRIPT, could be overtaken by the next SET of the same value, and delete its
	                 * key */
	bool unproven;  /* RELEASE: only of a key that the SET with this tag has made, if it says so */
	bool unqueued;  /* RELEASE: in no form that looks at the queue */
	uint16_t wait_ms;     /* a yes waits for replicas, at most for this long, if the node's URL says so */
	bool asking;          /* a server of a cluster that gets the key: after ASKING */
	uint8_t hops;         /* so often servers of a cluster have sent it on */
	struct rl_slice pass; /* guarded forms: what the record of the node must have */
	bool fenced;          /* a number is drawn or raised: without a record there are no counters; */
	bool timed;           /* and the server's time is told */
	uint64_t number;      /* RAISE: what the counter goes on from */
	uint64_t rules[RL_RULE_WORDS]; /* of the lock, what signatures name of them; SLOTS 0: it has no slots */
	unsigned first;                /* of the slots, the one to try first */
	unsigned kept;                 /* SLOT_RELEASE: this one plus 1 is not released; 0: each is */
	const struct rl_slice *record; /* MEET, ADMIT: RL_RECORD_WORDS of them */
};

/* The key of a slot, in `buffer`; that of the first one is the name. Nothing: out of memory. */
struct rl_slice rl_request_slot(struct rl_buffer *buffer, struct rl_slice name, unsigned slot);

/* Appends `request` in a form. False: out of memory, nothing appended. */
bool rl_request_write(struct rl_buffer *out, const struct rl_request *request, enum rl_form form);

/* Reads a request that was made above, in any form: fills in what that form has of it, which points into
 * `bytes`. */
void rl_request_read(struct rl_slice bytes, enum rl_form form, struct rl_request *request);

/* Reads one word of a request, of a form that has that word. */
struct rl_slice rl_request_word(struct rl_slice bytes, unsigned operation, enum rl_form form,
                                enum rl_word_kind kind);

/* ---- the bytes for all nodes ---- */

/* A request as bytes: formatted once and sent to all nodes. A form is made when the first node asks for it.
 */
struct rl_wire {
	uint32_t made; /* bits of the forms that have the bytes; 0: the next request is another one */
	struct rl_buffer forms[RL_FORM_WATCH];
	unsigned operation; /* what the bytes of guarded forms are of, */
	bool timed;         /* and whether they ask for the time */
};

/* The bytes of `request` in a form that it has. NULL: out of memory. */
const struct rl_buffer *rl_request_bytes(struct rl_wire *wire, const struct rl_request *request,
                                         enum rl_form form);

/* The next node of a guarded set is asked with a pass of its own: what was formatted for the one before gets
 * that, or is forgotten where more differs. */
void rl_request_pass(struct rl_wire *wire, const struct rl_request *request);
void rl_request_free(struct rl_wire *wire);

#endif
