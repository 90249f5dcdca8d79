/* SPDX-License-Identifier: MIT */
/* Counting the library's allocations. See memory.h. */
#include "memory.h"

#include <string.h>

#include <hiredis/read.h>

#include "world.h"

/* The linker gives these names to what the library calls, and to what it would have called. */
void *system_malloc(size_t size) __asm__("__real_malloc");
void *system_calloc(size_t count, size_t size) __asm__("__real_calloc");
redisReader *system_reader(redisReplyObjectFunctions *functions) __asm__(
    "__real_redisReaderCreateWithFunctions");
void system_reader_free(redisReader *reader) __asm__("__real_redisReaderFree");

void *counted_malloc(size_t size) __asm__("__wrap_malloc");
void *counted_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *counted_realloc(void *old, size_t size) __asm__("__wrap_realloc");
void counted_free(void *block) __asm__("__wrap_free");
char *counted_strdup(const char *text) __asm__("__wrap_strdup");
redisReader *counted_reader(redisReplyObjectFunctions *functions) __asm__(
    "__wrap_redisReaderCreateWithFunctions");
void counted_reader_free(redisReader *reader) __asm__("__wrap_redisReaderFree");

/* ---- which blocks there are: a hash table with open addressing ---- */

struct block {
	void *at; /* NULL: free */
	size_t size;
	uint32_t actor;
};

static struct {
	struct block *blocks;
	size_t capacity; /* a power of two */
	size_t count;
} table;

static size_t home(const void *at)
{
	return (size_t)(((uintptr_t)at >> 4) * 0x9e3779b97f4a7c15u >> 20) & (table.capacity - 1);
}

static void put(struct block block)
{
	size_t i = home(block.at);
	while (table.blocks[i].at != NULL)
		i = (i + 1) & (table.capacity - 1);
	table.blocks[i] = block;
}

static void grow(void)
{
	struct block *old = table.blocks;
	size_t size = table.capacity;
	table.capacity = size > 0 ? size * 2 : 1024;
	table.blocks = system_calloc(table.capacity, sizeof *table.blocks);
	for (size_t i = 0; i < size; i++)
		if (old[i].at != NULL)
			put(old[i]);
	memory_system_free(old);
}

static struct block *find(const void *at)
{
	if (at == NULL || table.count == 0)
		return NULL;
	for (size_t i = home(at); table.blocks[i].at != NULL; i = (i + 1) & (table.capacity - 1))
		if (table.blocks[i].at == at)
			return &table.blocks[i];
	return NULL;
}

/* What comes behind it moves up, or it could not be found any more. */
static void take_out(struct block *gone)
{
	size_t hole = (size_t)(gone - table.blocks), mask = table.capacity - 1;
	for (size_t i = (hole + 1) & mask; table.blocks[i].at != NULL; i = (i + 1) & mask)
		if (((i - home(table.blocks[i].at)) & mask) >= ((i - hole) & mask)) {
			table.blocks[hole] = table.blocks[i];
			hole = i;
		}
	table.blocks[hole].at = NULL;
	table.count--;
}

void memory_forget(void)
{
	memory_system_free(table.blocks);
	memset(&table, 0, sizeof table);
}

/* ---- counting ---- */

static void count(void *at, size_t size)
{
	if (at == NULL || sim_world == NULL || sim_world->current == NULL)
		return;
	struct actor *a = sim_world->current;
	struct memory *m = &a->memory;
	if (2 * (table.count + 1) > table.capacity)
		grow();
	put((struct block){at, size, a->index});
	table.count++;
	m->blocks++;
	m->bytes += size;
	if (m->bytes > m->most_bytes)
		m->most_bytes = m->bytes;
}

static void discount(const void *at)
{
	struct block *block = find(at);
	if (block == NULL)
		return;
	struct memory *m = &sim_world->actors[block->actor].memory;
	m->blocks--;
	m->bytes -= block->size;
	take_out(block);
}

/* ---- what the library calls ---- */

void *counted_malloc(size_t size)
{
	void *fresh = system_malloc(size);
	count(fresh, size);
	return fresh;
}

void *counted_calloc(size_t number, size_t size)
{
	void *fresh = system_calloc(number, size);
	count(fresh, number * size);
	return fresh;
}

void *counted_realloc(void *old, size_t size)
{
	discount(old);
	void *fresh = memory_system_realloc(old, size);
	count(fresh, size);
	return fresh;
}

void counted_free(void *block)
{
	discount(block);
	memory_system_free(block);
}

char *counted_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = counted_malloc(size);
	return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* A reader counts as one block: its buffers are hiredis's own matter. */
redisReader *counted_reader(redisReplyObjectFunctions *functions)
{
	redisReader *reader = system_reader(functions);
	count(reader, sizeof *reader);
	return reader;
}

void counted_reader_free(redisReader *reader)
{
	discount(reader);
	system_reader_free(reader);
}
