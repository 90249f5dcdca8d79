/* SPDX-License-Identifier: MIT */
/* Bytes that somebody else owns. */
#ifndef RL_CORE_SLICE_H
#define RL_CORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct rl_slice {
	const char *bytes;
	size_t size;
};

static inline struct rl_slice rl_slice_of(const char *text)
{
	return (struct rl_slice){text, strlen(text)};
}

static inline bool rl_slice_same(struct rl_slice a, struct rl_slice b)
{
	return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

#endif
