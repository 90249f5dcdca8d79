/* SPDX-License-Identifier: MIT */
/*
 * What a message on a client's channel says. A number alone: it is the turn of that place. Else the lock is
 * handed over (scripts/hand.lua):
 *
 *     number ; number of the offer ; token ; how many wait ; the next one's offer or nothing ; NAME
 *
 * The name is last, as it may have any bytes.
 */
#ifndef RL_PROTO_HEARD_H
#define RL_PROTO_HEARD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/slice.h"

struct rl_heard {
	uint32_t number;
	bool handed; /* the rest is there: */
	uint64_t offered_ns;
	struct rl_slice token;
	uint32_t waiting;
	struct rl_slice offer; /* "": none */
	struct rl_slice name;
};

/* `ret` points into `text`. False: it is no message of ours. */
bool rl_heard_read(struct rl_slice text, struct rl_heard *ret);

#endif
