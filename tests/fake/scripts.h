/* SPDX-License-Identifier: MIT */
/* The library's scripts as texts, by number, for what stands in for a server. */
#pragma once

#include "proto/ops.h"

struct rl_script_text {
	const char *name; /* of the file, without its end */
	const char *text;
	size_t length;
	const char *sha; /* SHA1 of the text, 40 hex digits, as EVALSHA wants it */
};

extern const struct rl_script_text rl_scripts[RL_SCRIPT_COUNT];
