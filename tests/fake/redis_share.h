/* SPDX-License-Identifier: MIT */
/* Those who share a key, for the scripts of shared locks. What others want to know of them is in
 * redis_call.h. A member that has ended may still be in the set: Redis removes none by itself. */
#ifndef FAKE_REDIS_SHARE_H
#define FAKE_REDIS_SHARE_H

#include "redis_call.h"

/* When a member ends, -1: it is none. When the last one does; false: there is none. */
int64_t share_ends(const struct key *key, struct bytes token);
bool share_latest(const struct key *key, int64_t *ret_ms);
/* A set that does not end with its last member is somebody else's. */
bool share_is_ours(struct call *c, const struct key *key);

/* Those that have not ended. */
unsigned share_count(const struct call *c, const struct key *key);

/* ZADD or ZREM, without those that have ended; then the key ends with the last one that is left. */
void share_put(struct call *c, struct key *key, struct bytes token, int64_t ends_ms);
void share_drop(struct call *c, struct key *key, struct bytes token);

/* Who looks on is told of a member as of a key: that it is stored; that those that have ended and are still
 * there go with the set. */
void share_tell_stored(struct call *c, const struct key *key, struct bytes token);
void share_tell_ended(struct redis *r, const struct key *key);

#endif
