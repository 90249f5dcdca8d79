/* SPDX-License-Identifier: MIT */
/*
 * Shared by all targets: the entry that libFuzzer, AFL++ and replay.c call, a check that is never compiled
 * out, and a feed that makes choices out of bytes. A feed that is empty goes on with zeros, so that every
 * input means something, and a prefix of an input means what it meant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Prints a condition that is false and ends the process: both fuzzers and replay.c take that for a crash. */
#define must(condition)                                                                                      \
	do {                                                                                                     \
		if (!(condition)) {                                                                                  \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                        \
			abort();                                                                                         \
		}                                                                                                    \
	} while (0)

/* Prints the steps of a target, line by line, for people: `FUZZ_TRACE=1 fuzz_reply FILE`, in replay programs
 * only. */
#ifdef FUZZ_REPLAY
extern bool fuzz_trace;
#define trace(...) (fuzz_trace ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)
#else
#define trace(...) ((void)0)
#endif

struct feed {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t feed_byte(struct feed *f)
{
	if (f->left == 0)
		return 0;
	f->left--;
	return *f->at++;
}

/* 0 to below - 1, from one byte. */
static inline unsigned feed_below(struct feed *f, unsigned below)
{
	return feed_byte(f) % below;
}

static inline bool feed_bool(struct feed *f)
{
	return (feed_byte(f) & 1) != 0;
}

static inline uint64_t feed_u64(struct feed *f)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < 8; i++)
		value = value << 8 | feed_byte(f);
	return value;
}

/* A number of any size: the first byte says how many binary digits, two more give the leading ones. Small and
 * huge numbers, and those next to a power of two, are as near as any. */
static inline uint64_t feed_number(struct feed *f)
{
	unsigned bits = feed_below(f, 65);
	if (bits == 0)
		return 0;
	uint64_t digits = (uint64_t)feed_byte(f) << 56 | (uint64_t)feed_byte(f) << 48;
	uint64_t low = (digits & ((uint64_t)1 << 48)) != 0 ? ((uint64_t)1 << 48) - 1 : 0;
	return (digits | low | (uint64_t)1 << 63) >> (64 - bits);
}

/* The next `size` bytes, or what is left. */
static inline size_t feed_take(struct feed *f, size_t size, const uint8_t **ret)
{
	size_t got = size < f->left ? size : f->left;
	*ret = f->at;
	f->at += got;
	f->left -= got;
	return got;
}

/* All that is left, as a fresh C string (up to its first NUL) that the caller frees: a sanitizer sees a read
 * of any byte after it. */
static inline char *feed_text(struct feed *f)
{
	const uint8_t *bytes;
	size_t size = feed_take(f, f->left, &bytes);
	size = size > 0 ? strnlen((const char *)bytes, size) : 0;
	char *text = calloc(size + 1, 1);
	must(text != NULL);
	if (size > 0)
		memcpy(text, bytes, size);
	return text;
}
