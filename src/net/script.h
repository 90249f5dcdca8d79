/* SPDX-License-Identifier: MIT */
/* The Lua scripts that run on the nodes. Their sources are in scripts/, embedded by the build. */
#ifndef RL_NET_SCRIPT_H
#define RL_NET_SCRIPT_H

#include <stddef.h>

enum rl_script {
	RL_SCRIPT_RELEASE, /* KEYS name, ARGV token: 1 deleted, 0 not ours */
	RL_SCRIPT_EXTEND,  /* KEYS name, ARGV token ttl_ms: 1 ours and never shortened, 0 not ours */
	RL_SCRIPT_INSPECT, /* KEYS name: type, pttl_ms, value length, first 1024 bytes */
	RL_SCRIPT_COUNT
};

struct rl_script_text {
	const char *text;
	size_t length;
	const char *sha; /* SHA1 of the text, 40 hex digits, as EVALSHA wants it */
};

extern const struct rl_script_text rl_scripts[RL_SCRIPT_COUNT];

#endif
