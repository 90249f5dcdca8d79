/* SPDX-License-Identifier: MIT */
/* A tiny blocking RESP client, written apart from the library: the oracle that looks at the servers. */
#pragma once

#include <stddef.h>

enum { RAW_TEXT_MAX = 16384 };

struct raw_arg {
	const void *bytes;
	size_t length;
};

/* `text` is NUL-terminated: a string's bytes, "(nil)", an integer in digits, an error's text, or the elements
 * of an array, one per line. A longer text is cut. */
struct raw_reply {
	char type; /* '+' '-' ':' '$' '*' as in RESP, '_' nil, 0: no connection or no answer */
	long long integer;
	size_t length;
	char text[RAW_TEXT_MAX];
};

struct raw {
	int fd;
	size_t at, end;
	unsigned char buffer[4096];
};

/* Returns 0, or -1. An answer may take up to `timeout_ms`. */
int raw_open(struct raw *raw, const char *unix_path, int timeout_ms);
void raw_close(struct raw *raw);

/* Sends one command. Returns 0, or -1 when it could not be sent. */
int raw_send(struct raw *raw, const struct raw_arg *args, size_t count);

/* Reads one reply. Returns 0, or -1 with type 0. */
int raw_receive(struct raw *raw, struct raw_reply *ret_reply);
