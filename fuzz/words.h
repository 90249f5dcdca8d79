/* SPDX-License-Identifier: MIT */
/* Reads commands off the wire, as a server would: an array of bulk strings. Anything else is our fault. */
#ifndef FUZZ_WORDS_H
#define FUZZ_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/buffer.h"

#define WORDS_MAX 12

struct words {
	struct rl_slice at[WORDS_MAX];
	unsigned count;
	bool complete; /* else more bytes are needed */
};

/* Reads one command. Returns the bytes that it takes, 0 when it is not complete. */
size_t words_parse(const char *bytes, size_t size, struct words *ret);

/* Whether a word is this text. */
bool words_is(const struct words *words, unsigned i, const char *text);

#endif
