/* SPDX-License-Identifier: MIT */
/* The hash beside a queue: what those who wait offer to take over. A hash of several fields, as the scripts
 * of the queue see it: a key of another type has none, and is left alone. */
#ifndef FAKE_REDIS_OFFERS_H
#define FAKE_REDIS_OFFERS_H

#include "redis_call.h"

/* The offer of a place. False: there is none. */
bool offers_get(struct call *c, struct bytes key, struct bytes place, struct bytes *ret);

/* HSET, and it expires in a minute; HDEL, whether it was there; DEL. */
void offers_set(struct call *c, struct bytes key, struct bytes place, struct bytes offer);
bool offers_drop(struct call *c, struct bytes key, struct bytes place);
void offers_clear(struct call *c, struct bytes key);

/* Nothing is handed to this place any more. */
void offers_bar(struct call *c, struct bytes key, struct bytes place);

#endif
