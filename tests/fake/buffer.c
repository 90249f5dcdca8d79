/* SPDX-License-Identifier: MIT */
/* Byte queues. */
#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *buffer_realloc(void *old, size_t size)
{
	void *fresh = reallocarray(old, 1, size);
	if (fresh == NULL) {
		fputs("out of memory in a fake\n", stderr);
		abort();
	}
	return fresh;
}

void buffer_free(struct buffer *b)
{
	free(b->bytes);
	*b = (struct buffer){0};
}

void buffer_append(struct buffer *b, const void *bytes, size_t size)
{
	if (size == 0)
		return;
	if (b->head > 0 && b->head + b->length + size > b->capacity) {
		memmove(b->bytes, b->bytes + b->head, b->length);
		b->head = 0;
	}
	if (b->length + size > b->capacity) {
		b->capacity = (b->length + size) * 2;
		b->bytes = buffer_realloc(b->bytes, b->capacity);
	}
	memcpy(b->bytes + b->head + b->length, bytes, size);
	b->length += size;
}

void buffer_drop(struct buffer *b, size_t size)
{
	if (size > b->length)
		size = b->length;
	b->head += size;
	b->length -= size;
	if (b->length == 0)
		b->head = 0;
}

size_t buffer_take(struct buffer *b, void *bytes, size_t size)
{
	if (size > b->length)
		size = b->length;
	if (size > 0)
		memcpy(bytes, buffer_front(b), size);
	buffer_drop(b, size);
	return size;
}

void buffer_move(struct buffer *to, struct buffer *from, size_t size)
{
	if (size > from->length)
		size = from->length;
	if (size > 0)
		buffer_append(to, buffer_front(from), size);
	buffer_drop(from, size);
}
