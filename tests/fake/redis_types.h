/* SPDX-License-Identifier: MIT */
/* Hashes and sorted sets, for code that looks into a server's keys. */
#pragma once

#include "keyspace.h"

/* Gives the value of a field. False: the hash has no such field. */
bool hash_get(const struct key *key, struct bytes field, struct bytes *ret);
/* Returns whether the field is new. */
bool hash_put(struct key *key, struct bytes field, struct bytes value);

/* Gives the next member of a sorted set as a key of its own, a string that ends at its score. `rest` is the
 * value of the set at first. False: no member is left. */
bool zset_next(const struct key *key, struct bytes *rest, struct key *ret);
/* Gives the first member that begins with the token. */
bool zset_member(const struct key *key, struct bytes token, struct key *ret);
/* Whether a member ends in that time. A key of another type, or none, has no members. */
bool zset_ends_within(const struct key *key, int64_t from_ms, int64_t to_ms);
/* Appends a member; the caller keeps the order of the scores. */
struct buffer;
void zset_append(struct buffer *set, int64_t score, struct bytes member);
