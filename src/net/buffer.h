/* SPDX-License-Identifier: MIT */
/* Bytes that are borrowed (slice) and bytes that grow (buffer). */
#ifndef RL_NET_BUFFER_H
#define RL_NET_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct rl_slice {
	const char *bytes;
	size_t size;
};

static inline bool rl_slice_same(struct rl_slice a, struct rl_slice b)
{
	return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

struct rl_buffer {
	char *bytes;
	size_t size;
	size_t capacity;
};

/* Makes room for `more` bytes behind the ones that are there. False: out of memory, nothing changed. */
bool rl_buffer_reserve(struct rl_buffer *buffer, size_t more);
void rl_buffer_free(struct rl_buffer *buffer);

#endif
