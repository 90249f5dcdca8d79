/* SPDX-License-Identifier: MIT */
/* The Lua scripts that run on the nodes: each file of scripts/, embedded by the build. What they are given
 * and what they answer is in their rows of ops.c. */
#ifndef RL_PROTO_SCRIPT_H
#define RL_PROTO_SCRIPT_H

#include <stddef.h>

#include "proto/scripts_generated.h"

enum rl_script {
#define RL_SCRIPT_ENUM(NAME, file) RL_SCRIPT_##NAME,
	RL_LUA_MAP(RL_SCRIPT_ENUM)
#undef RL_SCRIPT_ENUM
	    RL_SCRIPT_COUNT
};

struct rl_script_text {
	const char *name; /* of the file, without its end */
	const char *text;
	size_t length;
	const char *sha; /* SHA1 of the text, 40 hex digits, as EVALSHA wants it */
};

extern const struct rl_script_text rl_scripts[RL_SCRIPT_COUNT];

#endif
