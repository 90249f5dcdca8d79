/* SPDX-License-Identifier: MIT */
#include "net/short_reply.h"

#include <string.h>

static const struct {
	const char *bytes;
	size_t size;
	struct rl_reply_value value;
} replies[] = {
    {"+OK\r\n", 5, {.type = RL_REPLY_STATUS, .text = "OK", .kept = 2, .length = 2}},
    {":1\r\n", 4, {.type = RL_REPLY_INTEGER, .integer = 1}},
    {":0\r\n", 4, {.type = RL_REPLY_INTEGER, .integer = 0}},
    {"$-1\r\n", 5, {.type = RL_REPLY_NIL}},
};

size_t rl_short_reply(const char *bytes, size_t size, struct rl_reply_value *ret)
{
	enum { LEAST = 4 }; /* a constant: that is one comparison */
	for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
		if (size < replies[i].size || memcmp(bytes, replies[i].bytes, LEAST) != 0 ||
		    bytes[replies[i].size - 1] != '\n')
			continue;
		*ret = replies[i].value;
		return replies[i].size;
	}
	return 0;
}
