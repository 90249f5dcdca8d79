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
	bool by_text;  /* never EVALSHA: a caller's own value must not be asked about twice, because the second
	                * request,  sent after NOSCRIPT, could be overtaken by the next SET of the same value */
};

/* A request as bytes: scripts have two forms, EVALSHA for a node that knows the script and EVAL for one that
 * does not. A form is made when the first node asks for it. */
struct rl_wire {
	struct rl_buffer by_sha;
	struct rl_buffer by_text;
};

/* Forgets the formatted bytes, keeps their memory. */
void rl_wire_reset(struct rl_wire *wire);
void rl_wire_free(struct rl_wire *wire);

/* The bytes of `request` in the wanted form (the same for plain commands). NULL: out of memory. */
const struct rl_buffer *rl_wire_form(struct rl_wire *wire, const struct rl_request *request, bool by_text);

/* The script that an operation runs, RL_SCRIPT_COUNT if it is a plain command. */
enum rl_script rl_script_of(enum redlock_operation operation);

/* Appends the EVAL form of an EVALSHA command that was made above. False: out of memory. */
bool rl_request_by_text(struct rl_buffer *out, enum rl_script script, struct rl_slice by_sha);

#endif
