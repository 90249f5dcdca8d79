/* SPDX-License-Identifier: MIT */
/* malloc(3) that fails at the n-th call. See failmalloc.h. */
#include "failmalloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "wait.h"

static atomic_bool counting;
static _Thread_local bool paused;
static atomic_ulong fail_at, fail_until; /* the range of calls that fail */
static atomic_ulong calls, failures;
static atomic_long outstanding;

bool failmalloc_works(void)
{
	return !wait_is_slow();
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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Seen from shared libraries too, whatever the compiler's default is. */
#define EXPORTED __attribute__((visibility("default")))

/* The C library's own, under its other names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static bool may_go_on(void)
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

static void *count_new(void *block)
{
	if (counting && !paused && block != NULL)
		outstanding++;
	return block;
}

EXPORTED void *malloc(size_t size)
{
	return may_go_on() ? count_new(__libc_malloc(size)) : NULL;
}

EXPORTED void *calloc(size_t count, size_t size)
{
	return may_go_on() ? count_new(__libc_calloc(count, size)) : NULL;
}

EXPORTED void *realloc(void *block, size_t size)
{
	if (!may_go_on())
		return NULL;
	void *moved = __libc_realloc(block, size);
	return block == NULL ? count_new(moved) : moved;
}

EXPORTED void free(void *block)
{
	if (counting && !paused && block != NULL)
		outstanding--;
	__libc_free(block);
}

#endif
