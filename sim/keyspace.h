/* SPDX-License-Identifier: MIT */
/* The data of one node: keys with a value and an expiry in milliseconds of the node's own clock. */
#ifndef SIM_KEYSPACE_H
#define SIM_KEYSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NO_EXPIRY INT64_MAX
#define SIM_NOBODY UINT32_MAX

enum key_type { KEY_STRING, KEY_HASH, KEY_LIST, KEY_TYPES };

struct key {
	unsigned database;
	size_t name_size;
	char *name;
	size_t value_size;
	char *value; /* of a hash: its one pair as "field=value"; of a list: one byte for each element */
	enum key_type type;
	int64_t expires_ms; /* gone when the clock shows more than this, as in Redis */
	uint32_t actor;     /* who set it; SIM_NOBODY: another program */
	uint32_t life;
};

struct keyspace {
	struct key *keys;
	size_t count;
	size_t capacity;
};

struct bytes {
	const char *at;
	size_t size;
};

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	if (a.size != b.size)
		return false;
	for (size_t i = 0; i < a.size; i++)
		if (a.at[i] != b.at[i])
			return false;
	return true;
}

void keyspace_clear(struct keyspace *ks);
/* The key, or NULL when there is none that lives at `now_ms`. What has expired stays until it is removed. */
struct key *keyspace_find(const struct keyspace *ks, unsigned database, struct bytes name, int64_t now_ms);
struct key *keyspace_add(struct keyspace *ks, unsigned database, struct bytes name, struct bytes value);
void keyspace_set_value(struct key *key, struct bytes value);
void keyspace_remove(struct keyspace *ks, struct key *key);

#endif
