/* SPDX-License-Identifier: MIT */
/*
 * The keys that redlock keeps beside a lock's own, `{NAME}:redlock:WHAT`, in the slot of a cluster that NAME
 * is in: the one table of them. It makes these keys, and tells which names must be refused: a lock whose name
 * is another lock's side key would be overwritten by users of that one.
 */
#ifndef RL_PROTO_SIDE_H
#define RL_PROTO_SIDE_H

#include <stdbool.h>

#include "core/slice.h"

enum rl_side {
	RL_SIDE_QUEUE,  /* the waiters, in order */
	RL_SIDE_OFFERS, /* what waiters left, so that the lock can be handed to them */
	RL_SIDE_FENCE,  /* the counter of fencing tokens */
	RL_SIDE_SETNX,  /* the owner of the time in the key (the old SETNX protocol) */
	RL_SIDE_LAST,   /* the marker of a job's last run, which the redlock command writes */
	RL_SIDE_COUNT,  /* how many slots the name has */
	RL_SIDE_SLOT,   /* followed by the number of a slot, from 1 on */
	RL_SIDE_KINDS
};

#define RL_SIDE_SET "redlock:set" /* the record of a guarded node set: of no name */

enum { RL_SIDE_MORE = 24 }; /* a side key, with the number of a slot, has fewer bytes more than its name */

/* Writes the side key of `name` to `room`, which has RL_SIDE_MORE bytes more than the name. */
struct rl_slice rl_side_key(char *room, struct rl_slice name, enum rl_side side);

/* Whether prefix and name together end as a side key ends, or are the record's key. */
bool rl_side_is_reserved(struct rl_slice prefix, struct rl_slice name);

#endif
