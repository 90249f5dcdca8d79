/* SPDX-License-Identifier: MIT */
#include "redis_offers.h"

/* Its value: "place=offer" and the end of a line, for each. */
enum { LIFE_MS = 60000, MOST = 999 };

static struct key *hash_of(struct call *c, struct bytes name)
{
	struct key *key = call_find(c, name);
	return key != NULL && key->type == KEY_HASH ? key : NULL;
}

/* Where the line of a place begins, and how long it is with its end. */
static bool find(const struct key *key, struct bytes place, size_t *ret_from, size_t *ret_size)
{
	struct bytes all = key != NULL ? key->value : text_bytes("");
	for (size_t from = 0; from < all.size; from += *ret_size) {
		const char *line = all.at + from, *end = memchr(line, '\n', all.size - from);
		*ret_size = end != NULL ? (size_t)(end - line) + 1 : all.size - from;
		*ret_from = from;
		if (*ret_size > place.size && memcmp(line, place.at, place.size) == 0 && line[place.size] == '=')
			return true;
	}
	return false;
}

bool offers_get(struct call *c, struct bytes name, struct bytes place, struct bytes *ret)
{
	size_t from, size;
	const struct key *key = hash_of(c, name);
	if (!find(key, place, &from, &size))
		return false;
	size_t head = place.size + 1;
	*ret = (struct bytes){key->value.at + from + head, size - head - 1};
	return true;
}

static void put(struct call *c, struct key *key, struct buffer *value)
{
	keyspace_set_value(key, (struct bytes){buffer_front(value), value->length});
	multi_touch(c->redis, c->session->database, key->name);
}

static void cut(struct buffer *to, const struct key *key, size_t from, size_t size)
{
	buffer_append(to, key->value.at, from);
	buffer_append(to, key->value.at + from + size, key->value.size - from - size);
}

bool offers_drop(struct call *c, struct bytes name, struct bytes place)
{
	size_t from, size;
	struct buffer rest = {0};
	struct key *key = hash_of(c, name);
	if (!find(key, place, &from, &size))
		return false;
	cut(&rest, key, from, size);
	put(c, key, &rest);
	if (rest.length == 0)
		keyspace_remove(&c->redis->keys, key);
	buffer_free(&rest);
	return true;
}

void offers_clear(struct call *c, struct bytes name)
{
	struct key *key = call_find(c, name);
	if (key == NULL)
		return;
	multi_touch(c->redis, c->session->database, name);
	keyspace_remove(&c->redis->keys, key);
}

void offers_set(struct call *c, struct bytes name, struct bytes place, struct bytes offer)
{
	size_t from = 0, size = 0;
	struct buffer all = {0};
	struct key *key = call_find(c, name);
	if (key == NULL)
		key = redis_put(c->redis, c->session->database, name, text_bytes(""));
	else if (key->type != KEY_HASH)
		return;
	key->type = KEY_HASH;
	if (!find(key, place, &from, &size))
		from = key->value.size, size = 0;
	cut(&all, key, from, size);
	buffer_append(&all, place.at, place.size);
	buffer_append(&all, "=", 1);
	buffer_append(&all, offer.at, offer.size);
	buffer_append(&all, "\n", 1);
	put(c, key, &all);
	key->expires_ms = c->redis->now_ms + LIFE_MS;
	buffer_free(&all);
}

void offers_bar(struct call *c, struct bytes name, struct bytes place)
{
	const struct key *key = hash_of(c, name);
	unsigned count = 0;
	for (size_t i = 0; key != NULL && i < key->value.size; i++)
		count += key->value.at[i] == '\n';
	if (call_write_refused(c) != NULL)
		return;
	if (count > MOST)
		offers_clear(c, name);
	offers_set(c, name, place, text_bytes(""));
}
