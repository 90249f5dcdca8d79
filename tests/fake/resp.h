/* SPDX-License-Identifier: MIT */
/* Commands as a server reads them off the wire: arrays of bulk strings. */
#pragma once

#include "buffer.h"
#include "keyspace.h"

/* A script reads the keys of all slots at once. */
enum { RESP_WORDS = 80 };
#define RESP_WRONG SIZE_MAX

struct words {
	struct bytes at[RESP_WORDS];
	unsigned count;
};

/* Reads the first command. Its size in bytes; 0: not all there; RESP_WRONG: it is not a command. */
size_t resp_command(const void *bytes, size_t size, struct words *ret);

/* Whether a word is there and is this text, to the letter; the same in any case. */
bool resp_is(const struct words *w, unsigned i, const char *text);
bool word_is(struct bytes word, const char *text);

/* A decimal number; -1 if it is not a number. */
int64_t word_number(struct bytes word);

struct bytes text_bytes(const char *text);

/* Appends a command. */
void resp_write(struct buffer *to, const struct bytes *words, unsigned count);
