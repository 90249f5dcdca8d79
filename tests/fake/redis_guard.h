/* SPDX-License-Identifier: MIT */
/* The record of a guarded node set, redlock:set, in a modelled server. */
#pragma once

#include "redis_call.h"

/* Sets a field of a hash; its expiry stays. */
void guard_put(struct call *c, struct bytes name, struct bytes field, struct bytes value);

/* Whether the record admits who shows this; whether the node has fencing counters. */
bool guard_admits(struct call *c, struct bytes pass);
bool guard_counts(struct call *c);

/* The last number under this key; and the next one, which is kept. */
int64_t guard_counter(struct call *c, struct bytes fence);
int64_t guard_draw(struct call *c, struct bytes fence);

/* The next one of several at once, which all of them have then. */
int64_t guard_draw_all(struct call *c, const struct bytes *fences, unsigned count);
