/* SPDX-License-Identifier: MIT */
/* Bytes that somebody else owns. */
#ifndef RL_CORE_SLICE_H
#define RL_CORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* FNV-1a. */
static inline uint32_t rl_slice_hash(struct rl_slice slice)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < slice.size; i++)
		hash = (hash ^ (unsigned char)slice.bytes[i]) * 16777619u;
	return hash;
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
