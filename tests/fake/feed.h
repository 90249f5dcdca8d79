/* SPDX-License-Identifier: MIT */
/* Bytes for the reader of replies that no server sends. */
#pragma once

#include <string.h>

#include "net/resp.h"

/* False: out of memory, or garbage. */
static inline bool feed(struct rl_resp *resp, const char *bytes, size_t size)
{
	for (size_t at = 0, step; at < size; at += step) {
		char *room = rl_resp_room(resp);
		if (room == NULL)
			return false;
		step = size - at < RL_RESP_ROOM ? size - at : RL_RESP_ROOM;
		memcpy(room, bytes + at, step);
		if (!rl_resp_received(resp, step))
			return false;
	}
	return true;
}
