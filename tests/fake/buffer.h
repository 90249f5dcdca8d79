/* SPDX-License-Identifier: MIT */
/* A queue of bytes that grows: what is in flight, and what has arrived and is not read. */
#pragma once

#include <stddef.h>

struct buffer {
	char *bytes;
	size_t head;
	size_t length;
	size_t capacity;
};

/* As realloc(3); running out of memory ends the program: there is nothing to learn from going on. It is
 * reallocarray(3) inside, so that programs which lead the library's realloc(3) elsewhere do not count it. */
void *buffer_realloc(void *old, size_t size);

void buffer_free(struct buffer *b);
void buffer_append(struct buffer *b, const void *bytes, size_t size);
void buffer_drop(struct buffer *b, size_t size);
/* Takes up to `size` bytes from the front; returns how many. */
size_t buffer_take(struct buffer *b, void *bytes, size_t size);
/* Moves up to `size` bytes from the front of `from` to the end of `to`. */
void buffer_move(struct buffer *to, struct buffer *from, size_t size);

static inline const char *buffer_front(const struct buffer *b)
{
	return b->bytes + b->head;
}
