/* SPDX-License-Identifier: MIT */
#include "proto/wire.h"

#include <string.h>

void rl_wire_reset(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_WATCH; i++)
		wire->forms[i].size = 0;
}

static void replace_pass(struct rl_buffer *bytes, const struct rl_request *r, enum rl_form form)
{
	struct rl_slice old =
	    rl_request_word((struct rl_slice){bytes->bytes, bytes->size}, r->operation, form, RL_WORD_PASS);
	if (old.size != r->pass.size)
		bytes->size = 0;
	else if (old.size > 0) /* none yet: both are null */
		memcpy(bytes->bytes + (old.bytes - bytes->bytes), r->pass.bytes, r->pass.size);
}

void rl_wire_pass(struct rl_wire *wire, const struct rl_request *r)
{
	bool same = wire->operation == r->operation && wire->timed == r->timed;
	for (enum rl_form form = RL_FORM_GUARD_SHA; form <= RL_FORM_GUARD_TEXT; form++)
		if (!same)
			wire->forms[form].size = 0;
		else if (wire->forms[form].size > 0)
			replace_pass(&wire->forms[form], r, form);
	wire->operation = r->operation;
	wire->timed = r->timed;
}

void rl_wire_free(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_WATCH; i++)
		rl_buffer_free(&wire->forms[i]);
}
