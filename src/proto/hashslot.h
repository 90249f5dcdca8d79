/* SPDX-License-Identifier: MIT */
/* The hash slot of a Redis Cluster that a key is in: CRC16 of the key, or of its hash tag. */
#ifndef RL_PROTO_HASHSLOT_H
#define RL_PROTO_HASHSLOT_H

#include "core/slice.h"

enum { RL_HASHSLOT_COUNT = 16384 };

/* The part of a key that is hashed: what is between its first brace and the next, unless that is nothing. */
struct rl_slice rl_hashslot_tag(struct rl_slice key);

unsigned rl_hashslot_of(struct rl_slice key);

#endif
