/* SPDX-License-Identifier: MIT */
/*
 * Messages of servers that answer no request. A number alone, on a client's channel: it is the turn of that
 * place. Else the lock is handed over (ops/hand.lua):
 *
 *     number ; number of the offer ; token ; how many wait ; the next one's offer or nothing ; NAME
 *
 * The same for the number 4294967295, which no place has: a waiter asks the client for the lock that it holds
 * by this token, or keeps (ops/lib/kept.lua). The offer is the waiter's own.
 *
 * The name is last, as it may have any bytes. Events of a key, where the server sends them
 * (notify-keyspace-events with K), are one word, on a channel that has the name.
 */
#ifndef RL_PROTO_HEARD_H
#define RL_PROTO_HEARD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/slice.h"

struct rl_heard {
	uint32_t number;
	bool wanted; /* a waiter asks for the lock of this token and name: no number, and `offer` is its own */
	bool handed; /* the rest is there: */
	uint64_t offered_ns;
	struct rl_slice token;
	uint32_t waiting;
	struct rl_slice offer; /* "": none */
	struct rl_slice name;
	bool gone; /* the key has ended; else something happened to it that nobody waits for */
};

#define RL_HEARD_CHANNEL 1056 /* bytes of the longest channel of a key */

/* `ret` points into `text`. False: it is no message of ours. */
bool rl_heard_read(struct rl_slice text, struct rl_heard *ret);

/* The channel of a key. Nothing: its name is too long. */
struct rl_slice rl_heard_channel(char text[RL_HEARD_CHANNEL], unsigned database, struct rl_slice name);

/* Reads a message on such a channel: `ret` gets the name, and whether the key is gone. False: it is not an
 * event of a key. */
bool rl_heard_event(struct rl_slice channel, struct rl_slice event, unsigned database, struct rl_heard *ret);

#endif
