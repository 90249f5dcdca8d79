/* SPDX-License-Identifier: MIT */
#include "proto/buffer.h"

#include <stdlib.h>

bool rl_buffer_reserve(struct rl_buffer *b, size_t more)
{
	size_t wanted = b->size + more;
	if (wanted <= b->capacity)
		return true;
	size_t capacity = b->capacity > 0 ? b->capacity : 256;
	while (capacity < wanted)
		capacity *= 2;
	char *bytes = realloc(b->bytes, capacity);
	if (bytes == NULL)
		return false;
	b->bytes = bytes;
	b->capacity = capacity;
	return true;
}

void rl_buffer_free(struct rl_buffer *b)
{
	free(b->bytes);
	*b = (struct rl_buffer){0};
}
