/* SPDX-License-Identifier: MIT */
/* What the values of hashes and sorted sets have in them, for whoever looks into a server's keys. */
#pragma once

#include "keyspace.h"

/* The value of a field. False: there is none. */
bool hash_get(const struct key *key, struct bytes field, struct bytes *ret);
/* Returns whether the field is new. */
bool hash_put(struct key *key, struct bytes field, struct bytes value);

/* A member of a sorted set as a key of its own: a string that ends with its score. `rest`: at first the set's
 * value. False: there is no further one. */
bool zset_next(const struct key *key, struct bytes *rest, struct key *ret);
/* The first one that begins so. */
bool zset_member(const struct key *key, struct bytes token, struct key *ret);
/* Whether one of them ends then; NULL, or another type: none does. */
bool zset_ends_within(const struct key *key, int64_t from_ms, int64_t to_ms);
/* Appends a member, behind those with lower scores. */
struct buffer;
void zset_append(struct buffer *set, int64_t score, struct bytes member);
