/* SPDX-License-Identifier: MIT */
/* The data of one node: keys with a value and an expiry in milliseconds of the node's own clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KEY_FOREVER INT64_MAX /* as an expiry */
#define KEY_NOBODY UINT64_MAX /* as an owner: another program */

struct bytes {
	const char *at;
	size_t size;
};

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

enum key_type { KEY_STRING, KEY_HASH, KEY_LIST, KEY_ZSET, KEY_TYPES };

struct key {
	unsigned database;
	uint32_t hash; /* of the name */
	struct bytes name;
	struct bytes value; /* of a hash and a sorted set: redis_hash.c, redis_zset.c; of a list: one byte for
	                       each element */
	enum key_type type;
	int64_t expires_ms; /* gone when the clock shows more than this, as in Redis */
	uint64_t owner;     /* the session that set it */
};

struct keyspace {
	struct key *keys;
	size_t count;
	size_t capacity;
};

void keyspace_clear(struct keyspace *ks);
/* The key, or NULL when no such key lives at `now_ms`. An expired key stays until it is removed. */
struct key *keyspace_find(const struct keyspace *ks, unsigned database, struct bytes name, int64_t now_ms);
struct key *keyspace_add(struct keyspace *ks, unsigned database, struct bytes name, struct bytes value);
/* A key as it is now, for later; without a value, if it has none. */
void keyspace_copy(struct key *ret, const struct key *key);
void keyspace_free_key(struct key *key);
void keyspace_set_value(struct key *key, struct bytes value);
void keyspace_remove(struct keyspace *ks, struct key *key);
