/* SPDX-License-Identifier: MIT */
/* Bytes that grow. Borrowed ones are slices. */
#ifndef RL_PROTO_BUFFER_H
#define RL_PROTO_BUFFER_H

#include "core/slice.h"

struct rl_buffer {
	char *bytes;
	size_t size;
	size_t capacity;
};

/* Makes room for `more` bytes after the existing ones. False: out of memory, nothing changed. */
bool rl_buffer_reserve(struct rl_buffer *buffer, size_t more);
void rl_buffer_free(struct rl_buffer *buffer);

#endif
