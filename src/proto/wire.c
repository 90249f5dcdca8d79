/* SPDX-License-Identifier: MIT */
#include "proto/wire.h"

void rl_wire_reset(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_GUARD_SHA; i++)
		wire->forms[i].size = 0;
}

void rl_wire_free(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_WATCH; i++)
		rl_buffer_free(&wire->forms[i]);
}
