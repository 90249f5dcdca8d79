/* SPDX-License-Identifier: MIT */
/* Keys in an unordered array: a node of a test has a handful of them, or some thousands for a moment. */
#include "keyspace.h"

#include <stdlib.h>

#include "buffer.h"

static struct bytes copied(struct bytes b)
{
	char *copy = buffer_realloc(NULL, b.size + 1);
	if (b.size > 0)
		memcpy(copy, b.at, b.size);
	copy[b.size] = '\0';
	return (struct bytes){copy, b.size};
}

static uint32_t hash_of(struct bytes name)
{
	uint32_t hash = 0x811c9dc5u; /* FNV-1a */
	for (size_t i = 0; i < name.size; i++)
		hash = (hash ^ (unsigned char)name.at[i]) * 0x01000193u;
	return hash;
}

void keyspace_free_key(struct key *key)
{
	free((char *)key->name.at);
	free((char *)key->value.at);
}

void keyspace_clear(struct keyspace *ks)
{
	for (size_t i = 0; i < ks->count; i++)
		keyspace_free_key(&ks->keys[i]);
	free(ks->keys);
	*ks = (struct keyspace){0};
}

struct key *keyspace_find(const struct keyspace *ks, unsigned database, struct bytes name, int64_t now_ms)
{
	uint32_t hash = hash_of(name);
	for (size_t i = 0; i < ks->count; i++) {
		struct key *key = &ks->keys[i];
		if (key->hash == hash && key->database == database && now_ms <= key->expires_ms &&
		    bytes_equal(key->name, name))
			return key;
	}
	return NULL;
}

struct key *keyspace_add(struct keyspace *ks, unsigned database, struct bytes name, struct bytes value)
{
	if (ks->count == ks->capacity) {
		ks->capacity = ks->capacity ? ks->capacity * 2 : 8;
		ks->keys = buffer_realloc(ks->keys, ks->capacity * sizeof *ks->keys);
	}
	struct key *key = &ks->keys[ks->count++];
	*key = (struct key){
	    .database = database,
	    .hash = hash_of(name),
	    .name = copied(name),
	    .value = copied(value),
	    .expires_ms = KEY_FOREVER,
	    .owner = KEY_NOBODY,
	};
	return key;
}

void keyspace_copy(struct key *ret, const struct key *key)
{
	*ret = *key;
	ret->name = copied(key->name);
	if (key->value.at != NULL)
		ret->value = copied(key->value);
}

void keyspace_set_value(struct key *key, struct bytes value)
{
	struct bytes old = key->value;
	key->value = copied(value); /* it may be a part of the old one */
	free((char *)old.at);
}

void keyspace_remove(struct keyspace *ks, struct key *key)
{
	keyspace_free_key(key);
	*key = ks->keys[--ks->count];
}
