/* SPDX-License-Identifier: MIT */
/* Replies of any shape (RESP2), as callers of redlock_ask() get them: one piece of memory for each. */
#ifndef RL_PROTO_TREE_H
#define RL_PROTO_TREE_H

#include <redlock/ask.h>

#include "core/slice.h"

#define RL_TREE_BYTES (1u << 20) /* of a reply; a longer one is refused */
#define RL_TREE_VALUES 65536     /* in it */
#define RL_TREE_DEPTH 8          /* arrays in arrays */

/* The reply that `bytes` begin with: 1, how many of them it has, and itself, for free(3); 0: more are needed;
 * -1: this is no reply, or a larger one, or there is no memory for it. */
int rl_tree_read(struct rl_slice bytes, size_t *ret_size, struct redlock_reply **ret_reply);

#endif
