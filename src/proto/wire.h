/* SPDX-License-Identifier: MIT */
/* A request as bytes: formatted once and sent to all nodes. A form is made when the first node asks for it.
 */
#ifndef RL_PROTO_WIRE_H
#define RL_PROTO_WIRE_H

#include "proto/request.h"

struct rl_wire {
	struct rl_buffer forms[RL_FORM_WATCH];
	unsigned operation; /* what the bytes of guarded forms are of, */
	bool timed;         /* and whether they ask for the time */
};

/* Forgets the formatted bytes, keeps their memory. */
void rl_wire_reset(struct rl_wire *wire);

/* The next node of a guarded set is asked with a pass of its own: what was formatted for the one before gets
 * that, or is forgotten where more differs. */
void rl_wire_pass(struct rl_wire *wire, const struct rl_request *request);
void rl_wire_free(struct rl_wire *wire);

/* The bytes of `request` in a form that it has. NULL: out of memory. */
static inline const struct rl_buffer *rl_wire_form(struct rl_wire *wire, const struct rl_request *request,
                                                   enum rl_form form)
{
	struct rl_buffer *bytes = &wire->forms[form];
	return bytes->size > 0 || rl_request_write(bytes, request, form) ? bytes : NULL;
}

#endif
