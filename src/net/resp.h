/* SPDX-License-Identifier: MIT */
/*
 * Reads RESP replies with the reader of hiredis, which only resp.c includes. A reply is stored in a fixed
 * arena, so no memory is allocated per reply. A reply larger than any of our commands can have is garbage: no
 * buffer grows for it. The contract is proved (spec/proof/contracts).
 */
#ifndef RL_NET_RESP_H
#define RL_NET_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/slice.h"
#include "proto/reply.h"

#define RL_RESP_ARENA 4096     /* bytes of text kept per reply; what is longer is cut, its length is kept */
#define RL_RESP_NESTED 1024    /* values inside of the elements of a nested reply, all together */
#define RL_RESP_UNPARSED 65536 /* bytes of an unfinished reply */
#define RL_RESP_ROOM 16384     /* most bytes received per read: one TLS record */

struct rl_resp {
	void *reader;
	bool nested; /* the next reply may have arrays inside; of an inner array only its type is kept */
	unsigned nested_values;
	struct rl_reply reply;
	size_t arena_used;
	size_t used; /* bytes consumed so far of those received: as short replies, or by the reader */
	size_t received;
	char arena[RL_RESP_ARENA]; /* this and `room` are never cleared: they are written before they are read */
	char room[RL_RESP_ROOM];
};

/* False: out of memory. */
bool rl_resp_open(struct rl_resp *resp);
void rl_resp_close(struct rl_resp *resp);

/* The buffer that the next bytes are to be received into: RL_RESP_ROOM bytes. NULL: out of memory, or
 * garbage. */
char *rl_resp_room(struct rl_resp *resp);
/* Tells the reader that `size` bytes have been received into that buffer. False: out of memory, or garbage.
 */
bool rl_resp_received(struct rl_resp *resp, size_t size);

/* The next whole reply: 1, and it is valid until the next call; 0: more bytes are needed; -1: garbage. */
int rl_resp_next(struct rl_resp *resp, const struct rl_reply **ret_reply);

/* Reads one of the short replies that most operations get: "+OK", ":0", ":1" or a null string, complete with
 * its line end. Returns the size of the reply, or 0 if `bytes` begin otherwise. A comparison costs a tenth of
 * the parser. */
/*@ requires \valid_read(bytes + (0 .. size - 1)) && \valid(ret_value);
    requires \separated(ret_value, bytes + (0 .. size - 1));
    assigns *ret_value;
    ensures \result <= size && (\result == 0 || (\result >= 4 && bytes[\result - 1] == '\n'));
    ensures \result == 4 ==> bytes[0] == ':' && (bytes[1] == '0' || bytes[1] == '1') &&
            ret_value->type == RL_REPLY_INTEGER && ret_value->integer == bytes[1] - '0';
    ensures \result > 4 ==> \result == 5 &&
            ((bytes[0] == '+' && bytes[1] == 'O' && ret_value->type == RL_REPLY_STATUS) ||
             (bytes[0] == '$' && bytes[1] == '-' && ret_value->type == RL_REPLY_NIL)); */
size_t rl_resp_short(const char *bytes, size_t size, struct rl_reply_value *ret_value);

/* Takes the received bytes that were not read yet, for a caller with a parser of its own (asker.c). They are
 * valid until more is received. Returns false if a reply is half read. */
bool rl_resp_take(struct rl_resp *resp, struct rl_slice *ret_bytes);

#endif
