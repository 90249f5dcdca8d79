/* SPDX-License-Identifier: MIT */
/* The replies that nearly all operations get, told by their bytes: a whole parser would cost ten times as
 * much. */
#ifndef RL_NET_SHORT_REPLY_H
#define RL_NET_SHORT_REPLY_H

#include "proto/reply.h"

/* Whether `bytes` begin with "+OK", ":0", ":1" or a null string, whole with its line end. Returns the size of
 * that reply, and its value; 0 for everything else. */
size_t rl_short_reply(const char *bytes, size_t size, struct rl_reply_value *ret_value);

#endif
