/* SPDX-License-Identifier: MIT */
/*
 * Tells the ears what a command has made of the keys of locks; a script counts as one command, as others see
 * nothing in between. Each changed key is compared with its copy from before. Each member of a sorted set is
 * told as a key by itself.
 */
#include <stdlib.h>

#include "redis_call.h"
#include "redis_types.h"

bool changes_are_of_side(struct bytes name)
{
	static const char *const ends[] = {"queue", "offers", "fence", "slots", "set"};
	static const char begin[] = "redlock:";
	size_t size = sizeof begin - 1;
	const char *colon = memrchr(name.at, ':', name.size);
	size_t head = colon != NULL ? (size_t)(colon + 1 - name.at) : 0;
	if (head < size || memcmp(name.at + head - size, begin, size) != 0)
		return false;
	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (bytes_equal((struct bytes){colon + 1, name.size - head}, text_bytes(ends[i])))
			return true;
	return false;
}

static bool is_noted(const struct call *c, struct bytes name)
{
	for (unsigned i = 0; i < c->changes->count; i++)
		if (bytes_equal(c->changes->was[i].name, name))
			return true;
	return false;
}

void call_changes(struct call *c, struct bytes name)
{
	struct changes *changes = c->changes;
	if (c->redis->ears == NULL || changes_are_of_side(name) || is_noted(c, name))
		return;
	if (changes->count == changes->capacity) {
		changes->capacity = changes->capacity ? changes->capacity * 2 : 4;
		changes->was = buffer_realloc(changes->was, changes->capacity * sizeof *changes->was);
	}
	const struct key *key = call_find(c, name);
	struct key none = {.database = c->session->database, .name = name};
	keyspace_copy(&changes->was[changes->count++], key != NULL ? key : &none);
}

/* The tokens in a key: each member of a set, or the key itself. `rest` is empty at first. */
static bool next_of(const struct key *key, struct bytes *rest, struct key *ret)
{
	bool first = rest->at == NULL;
	if (key == NULL)
		return false;
	if (first)
		*rest = key->type == KEY_ZSET ? key->value : text_bytes("");
	if (key->type == KEY_ZSET)
		return zset_next(key, rest, ret);
	*ret = *key;
	return first;
}

static bool is_among(const struct call *c, const struct key *one, const struct key *key)
{
	const struct redis_ears *ears = c->redis->ears;
	struct key other;
	struct bytes rest = {NULL, 0};
	while (next_of(key, &rest, &other))
		if (ears->same != NULL ? ears->same(one, &other) : bytes_equal(one->value, other.value))
			return true;
	return false;
}

static void tell_gone(const struct call *c, const struct key *was, const struct key *is)
{
	struct redis *r = c->redis;
	struct bytes rest = {NULL, 0};
	struct key one;
	while (r->ears->goes != NULL && next_of(was, &rest, &one)) {
		if (was->type == KEY_ZSET)
			one.owner = c->session->owner;
		bool named = c->asked.op != NULL && bytes_equal(c->asked.parts[RL_WORD_TOKEN], one.value);
		if (!is_among(c, &one, is)) /* a set may have members that have ended */
			r->ears->goes(r, &one, named || one.expires_ms >= r->now_ms);
	}
}

static void tell_stored(const struct call *c, const struct key *was, const struct key *is)
{
	struct redis *r = c->redis;
	struct bytes rest = {NULL, 0};
	struct key one;
	while (r->ears->stored != NULL && next_of(is, &rest, &one)) {
		if (is->type == KEY_ZSET)
			one.owner = c->session->owner;
		if (!is_among(c, &one, was))
			r->ears->stored(r, &one, was, c->asked.op == &rl_ops[RL_OP_HAND]);
	}
}

static bool is_less(const struct key *was, const struct key *is)
{
	return was != NULL &&
	       (is == NULL || is->expires_ms < was->expires_ms || !bytes_equal(was->value, is->value));
}

static void tell(struct call *c, const struct key *was, struct bytes name)
{
	struct redis *r = c->redis;
	struct key *is = call_find(c, name);
	c->made |= was == NULL && is != NULL;
	c->deleted |= was != NULL && is == NULL;
	if (is != NULL && c->heir != KEY_NOBODY && c->asked.op == &rl_ops[RL_OP_HAND])
		is->owner = c->heir; /* the client that hears of its key */
	tell_gone(c, was, is);
	tell_stored(c, was, is);
	if (r->ears->changed != NULL && is_less(was, is))
		r->ears->changed(r, name);
}

void changes_tell(struct call *c)
{
	struct changes *changes = c->changes;
	for (unsigned i = 0; i < changes->count; i++) {
		struct key *was = &changes->was[i];
		tell(c, was->value.at != NULL ? was : NULL, was->name);
		keyspace_free_key(was);
	}
	free(changes->was);
}
