/* SPDX-License-Identifier: MIT */
/*
 * Counts the library's allocations. See memory.h. Memory that is allocated and freed in the calls of one
 * process belongs to that process; blocks of the simulator itself are not allocated through here
 * (buffer_realloc()).
 */
#include "memory.h"

#include <malloc.h>

#include "net/resp.h"
#include "world.h"

/* The linker gives these names to what the library calls, and to what it would have called. */
void *system_malloc(size_t size) __asm__("__real_malloc");
void *system_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *system_realloc(void *block, size_t size) __asm__("__real_realloc");
void system_free(void *block) __asm__("__real_free");
bool system_open(struct rl_resp *resp) __asm__("__real_rl_resp_open");
void system_close(struct rl_resp *resp) __asm__("__real_rl_resp_close");

void *counted_malloc(size_t size) __asm__("__wrap_malloc");
void *counted_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *counted_realloc(void *old, size_t size) __asm__("__wrap_realloc");
void counted_free(void *block) __asm__("__wrap_free");
char *counted_strdup(const char *text) __asm__("__wrap_strdup");
bool counted_open(struct rl_resp *resp) __asm__("__wrap_rl_resp_open");
void counted_close(struct rl_resp *resp) __asm__("__wrap_rl_resp_close");

/* `sign`: 1 it has come, -1 it goes. */
static void *count(void *block, size_t bytes, int sign)
{
	if (block == NULL || sim_world == NULL || sim_world->current == NULL)
		return block;
	struct memory *m = &sim_world->current->memory;
	m->blocks += (uint32_t)sign;
	m->bytes += sign > 0 ? bytes : -bytes;
	if (m->bytes > m->most_bytes)
		m->most_bytes = m->bytes;
	return block;
}

static void *comes(void *block)
{
	return count(block, malloc_usable_size(block), 1);
}

static void *goes(void *block)
{
	return count(block, malloc_usable_size(block), -1);
}

/* ---- what the library calls ---- */

void *counted_malloc(size_t size)
{
	return comes(system_malloc(size));
}

void *counted_calloc(size_t number, size_t size)
{
	return comes(system_calloc(number, size));
}

void *counted_realloc(void *old, size_t size)
{
	return comes(system_realloc(goes(old), size));
}

void counted_free(void *block)
{
	system_free(goes(block));
}

char *counted_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = counted_malloc(size);
	return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* The library that reads RESP allocates by itself, not through here. Each reader counts as one block of this
 * size. */
enum { READER_BYTES = 560 };

bool counted_open(struct rl_resp *resp)
{
	return system_open(resp) && count(resp->reader, READER_BYTES, 1) != NULL;
}

void counted_close(struct rl_resp *resp)
{
	count(resp->reader, READER_BYTES, -1);
	system_close(resp);
}
