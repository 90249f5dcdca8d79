/* SPDX-License-Identifier: MIT */
/* A reply of a server: one value, or an array of them. The texts belong to the reader of the reply
 * (net/resp.h). */
#ifndef RL_PROTO_REPLY_H
#define RL_PROTO_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RL_REPLY_ITEMS 8 /* elements of an array */

enum rl_reply_type {
	RL_REPLY_STATUS,
	RL_REPLY_ERROR,
	RL_REPLY_INTEGER,
	RL_REPLY_STRING,
	RL_REPLY_NIL,
	RL_REPLY_ARRAY
};

struct rl_reply_value {
	enum rl_reply_type type;
	int64_t integer;  /* INTEGER */
	const char *text; /* STATUS, ERROR, STRING: `kept` bytes and a NUL */
	size_t kept;
	size_t length; /* of the whole text */
};

/* How much of an error may be shown: the part after a comma that servers add ("unknown command 'X', with args
 * beginning with: ...") repeats the request, with its tokens and passwords. A MISCONF repeats nothing, and
 * has its cause after the comma: "MISCONF Redis is configured to save RDB snapshots, but it's currently
 * unable to persist to disk. ..." */
static inline int rl_reply_shown_length(const char *error)
{
	size_t comma = strcspn(error, ",\r\n");
	bool has_cause = strncmp(error, "MISCONF ", 8) == 0 && strncmp(error + comma, ", but ", 6) == 0;
	return (int)(has_cause ? comma + 1 + strcspn(error + comma + 1, ".,\r\n") : comma);
}

struct rl_reply {
	struct rl_reply_value value;
	unsigned count; /* ARRAY: elements */
	struct rl_reply_value items[RL_REPLY_ITEMS];
};

#endif
