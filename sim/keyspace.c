/* SPDX-License-Identifier: MIT */
/* Keys in an unordered array: a node of the simulator has a handful of them. */
#include "keyspace.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"

static char *copied(struct bytes b)
{
	char *copy = sim_realloc(NULL, b.size + 1);
	if (b.size > 0)
		memcpy(copy, b.at, b.size);
	copy[b.size] = '\0';
	return copy;
}

static void key_free(struct key *key)
{
	free(key->name);
	free(key->value);
}

void keyspace_clear(struct keyspace *ks)
{
	for (size_t i = 0; i < ks->count; i++)
		key_free(&ks->keys[i]);
	free(ks->keys);
	*ks = (struct keyspace){0};
}

struct key *keyspace_find(const struct keyspace *ks, unsigned database, struct bytes name, int64_t now_ms)
{
	for (size_t i = 0; i < ks->count; i++) {
		struct key *key = &ks->keys[i];
		if (key->database == database && now_ms <= key->expires_ms &&
		    bytes_equal((struct bytes){key->name, key->name_size}, name))
			return key;
	}
	return NULL;
}

struct key *keyspace_add(struct keyspace *ks, unsigned database, struct bytes name, struct bytes value)
{
	if (ks->count == ks->capacity) {
		ks->capacity = ks->capacity ? ks->capacity * 2 : 8;
		ks->keys = sim_realloc(ks->keys, ks->capacity * sizeof *ks->keys);
	}
	struct key *key = &ks->keys[ks->count++];
	*key = (struct key){
	    .database = database,
	    .name_size = name.size,
	    .name = copied(name),
	    .value_size = value.size,
	    .value = copied(value),
	    .expires_ms = SIM_NO_EXPIRY,
	    .actor = SIM_NOBODY,
	};
	return key;
}

void keyspace_set_value(struct key *key, struct bytes value)
{
	free(key->value);
	key->value = copied(value);
	key->value_size = value.size;
}

void keyspace_remove(struct keyspace *ks, struct key *key)
{
	key_free(key);
	*key = ks->keys[--ks->count];
}
