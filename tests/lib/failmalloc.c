/* SPDX-License-Identifier: MIT */
/* malloc(3) that fails at the n-th call. See failmalloc.h. */
#include "failmalloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "wait.h"

static atomic_bool counting;
static _Thread_local bool paused;
static atomic_ulong fail_at, fail_until; /* the range of calls that fail */
static atomic_ulong calls, failures;
static atomic_long outstanding;

#if defined(__SANITIZE_ADDRESS__)
/* Calls come before the sanitizer has its shadow memory. */
#define UNWATCHED __attribute__((no_sanitize("address", "undefined")))
#else
#define UNWATCHED
#endif

bool failmalloc_works(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return true;
#else
	return !wait_is_slow();
#endif
}

void failmalloc_arm(unsigned long n, bool and_all_behind)
{
	calls = failures = 0;
	outstanding = 0;
	fail_at = n;
	fail_until = n == 0 ? 0 : and_all_behind ? (unsigned long)-1 : n;
	counting = true;
}

void failmalloc_disarm(void)
{
	fail_at = (unsigned long)-1;
	fail_until = 0;
}

void failmalloc_pause(bool on)
{
	paused = on;
}

unsigned long failmalloc_calls(void)
{
	return calls;
}

unsigned long failmalloc_failures(void)
{
	return failures;
}

long failmalloc_outstanding(void)
{
	return outstanding;
}

#if !defined(__SANITIZE_THREAD__)

/* Seen from shared libraries too, whatever the compiler's default is. */
#define EXPORTED __attribute__((visibility("default"))) UNWATCHED

/* The replaced allocator, under its other names: the sanitizer's, which finds bytes that are used after a
 * failure has freed them, or the C library's. */
#if defined(__SANITIZE_ADDRESS__)
#define ORIGINAL(name) __interceptor_##name
#else
#define ORIGINAL(name) __libc_##name
#endif
extern void *ORIGINAL(malloc)(size_t size);
extern void *ORIGINAL(calloc)(size_t count, size_t size);
extern void *ORIGINAL(realloc)(void *block, size_t size);
extern void ORIGINAL(free)(void *block);

static UNWATCHED bool may_go_on(void)
{
	if (!counting || paused)
		return true;
	unsigned long call = atomic_fetch_add(&calls, 1) + 1;
	if (call < fail_at || call > fail_until)
		return true;
	failures++;
	errno = ENOMEM;
	return false;
}

static UNWATCHED void *count_new(void *block)
{
	if (counting && !paused && block != NULL)
		outstanding++;
	return block;
}

EXPORTED void *malloc(size_t size)
{
	return may_go_on() ? count_new(ORIGINAL(malloc)(size)) : NULL;
}

EXPORTED void *calloc(size_t count, size_t size)
{
	return may_go_on() ? count_new(ORIGINAL(calloc)(count, size)) : NULL;
}

EXPORTED void *realloc(void *block, size_t size)
{
	if (!may_go_on())
		return NULL;
	void *moved = ORIGINAL(realloc)(block, size);
	return block == NULL ? count_new(moved) : moved;
}

EXPORTED void free(void *block)
{
	if (counting && !paused && block != NULL)
		outstanding--;
	ORIGINAL(free)(block);
}

#endif

#if defined(__SANITIZE_ADDRESS__)

/* The sanitizer's do not call malloc(3). */

EXPORTED char *strndup(const char *text, size_t most)
{
	size_t size = 0;
	while (size < most && text[size] != '\0')
		size++;
	char *copy = malloc(size + 1);
	for (size_t i = 0; copy != NULL && i < size; i++)
		copy[i] = text[i];
	if (copy != NULL)
		copy[size] = '\0';
	return copy;
}

EXPORTED char *strdup(const char *text)
{
	return strndup(text, SIZE_MAX);
}

#endif
