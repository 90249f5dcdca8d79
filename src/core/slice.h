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

/* Appends two hex digits for each byte. Returns the position after them. */
static inline char *rl_slice_put_hex(char *at, const unsigned char *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < size; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	return at;
}

#endif
