/* SPDX-License-Identifier: MIT */
/*
 * RESP: reads replies. The reader is hiredis's, and resp.c is the only file that sees it.
 * A reply is a value in a fixed arena: no allocation per reply, and a server that promises or sends more than
 * any command of ours asks for is garbage, not a growing buffer.
 */
#ifndef RL_NET_RESP_H
#define RL_NET_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/reply.h"

#define RL_RESP_ARENA 4096     /* bytes of text kept per reply; what is longer is cut, its length is kept */
#define RL_RESP_NESTED 1024    /* values inside of the elements of a nested reply, all together */
#define RL_RESP_UNPARSED 65536 /* bytes of an unfinished reply */
#define RL_RESP_AHEAD 16384    /* bytes that are looked at before hiredis sees them */

struct rl_resp {
	void *reader;
	bool nested; /* the next reply may have arrays inside; of each only that it is one is kept */
	unsigned nested_values;
	struct rl_reply reply;
	size_t arena_used;
	char arena[RL_RESP_ARENA];
	size_t ahead_used; /* of the bytes that the reader was not given */
	size_t ahead_size;
	char ahead[RL_RESP_AHEAD];
};

/* False: out of memory. */
bool rl_resp_open(struct rl_resp *resp);
void rl_resp_close(struct rl_resp *resp);

/* Takes received bytes. False: out of memory, or garbage. */
bool rl_resp_feed(struct rl_resp *resp, const char *bytes, size_t size);

/* The next whole reply: 1, and it is valid until the next call; 0: more bytes are needed; -1: garbage. */
int rl_resp_next(struct rl_resp *resp, const struct rl_reply **ret_reply);

#endif
