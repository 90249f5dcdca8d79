/* SPDX-License-Identifier: MIT */
/* From operations to commands. A request is formatted once and sent to all nodes. */
#ifndef RL_NET_REQUEST_H
#define RL_NET_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "net/buffer.h"
#include "net/script.h"

/* Whom an answer is for. A slot may be used again by another handle: then the generation differs. */
struct rl_tag {
	uint32_t slot;
	uint32_t generation;
	uint32_t seq; /* 0: nobody waits for the answer */
};

struct rl_request {
	enum redlock_operation operation;
	struct rl_tag tag;
	struct rl_slice name;
	struct rl_slice token;
	uint64_t ttl_ms;
	uint32_t owed; /* RELEASE: bit per node where the key may exist */
	bool by_text;  /* the caller's own value: never EVALSHA. A second request, sent after NOSCRIPT, could be
	                * overtaken by the next SET of the same value, and delete its key */
	bool unproven; /* RELEASE: only of a key that the SET with this tag has made, if it says so */
};

/* The forms of a request as bytes. Those that a node does not have are told from use: method.h. */
enum rl_form {
	RL_FORM_SHA,     /* EVALSHA, for a node that knows the script; the one form of ACQUIRE, which is SET */
	RL_FORM_TEXT,    /* EVAL */
	RL_FORM_DELEX,   /* RELEASE: DELEX name IFEQ token */
	RL_FORM_DELIFEQ, /* RELEASE: DELIFEQ name token */
	RL_FORM_WATCH,   /* no bytes of its own: what is asked in several steps, see transaction.h */
	RL_FORM_COUNT
};

/* A request as bytes. A form is made when the first node asks for it. */
struct rl_wire {
	struct rl_buffer forms[RL_FORM_COUNT];
};

/* Forgets the formatted bytes, keeps their memory. */
void rl_wire_reset(struct rl_wire *wire);
void rl_wire_free(struct rl_wire *wire);

/* The bytes of `request` in the wanted form. NULL: out of memory. */
const struct rl_buffer *rl_wire_form(struct rl_wire *wire, const struct rl_request *request,
                                     enum rl_form form);

/* The script that an operation runs, RL_SCRIPT_COUNT if it is a plain command. */
enum rl_script rl_script_of(enum redlock_operation operation);

/* Appends `request` in a form. False: out of memory, nothing appended. */
bool rl_request_write(struct rl_buffer *out, const struct rl_request *request, enum rl_form form);

/* Reads a request that was made above, in any form: fills in name, token and TTL, which point into `bytes`.
 */
void rl_request_read(struct rl_slice bytes, enum rl_form form, struct rl_request *request);

#endif
