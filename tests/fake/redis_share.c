/* SPDX-License-Identifier: MIT */
/*
 * Those who share a key: a sorted set. It is kept in the key's value, in its order, each member as
 *
 *     1795342681857 5:token
 */
#include "redis_share.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_MEMBERS = 24 };

struct member {
	int64_t ends_ms;
	struct bytes token;
};

static bool next_member(struct bytes *rest, struct member *ret)
{
	char *end;
	if (rest->size == 0)
		return false;
	ret->ends_ms = strtoll(rest->at, &end, 10);
	size_t size = strtoull(end + 1, &end, 10);
	ret->token = (struct bytes){end + 1, size};
	size_t used = (size_t)(end + 1 - rest->at) + size;
	*rest = (struct bytes){rest->at + used, rest->size - used};
	return true;
}

static void append(struct buffer *set, const struct member *m)
{
	char head[64];
	buffer_append(set, head,
	              (size_t)snprintf(head, sizeof head, "%" PRId64 " %zu:", m->ends_ms, m->token.size));
	buffer_append(set, m->token.at, m->token.size);
}

static bool comes_before(const struct member *a, const struct member *b)
{
	size_t size = a->token.size < b->token.size ? a->token.size : b->token.size;
	int order = memcmp(a->token.at, b->token.at, size);
	if (a->ends_ms != b->ends_ms)
		return a->ends_ms < b->ends_ms;
	return order != 0 ? order < 0 : a->token.size < b->token.size;
}

int64_t share_ends(const struct key *key, struct bytes token)
{
	struct member m;
	for (struct bytes rest = key->value; next_member(&rest, &m);)
		if (bytes_equal(m.token, token))
			return m.ends_ms;
	return -1;
}

bool share_latest(const struct key *key, int64_t *ret_ms)
{
	struct member m;
	bool any = false;
	for (struct bytes rest = key->value; next_member(&rest, &m);) {
		*ret_ms = m.ends_ms;
		any = true;
	}
	return any;
}

unsigned share_count(const struct call *c, const struct key *key)
{
	struct member m;
	unsigned live = 0;
	for (struct bytes rest = key->value; next_member(&rest, &m);)
		live += m.ends_ms >= c->redis->now_ms;
	return live;
}

static void tell_end(struct redis *r, const struct key *key, const struct member *m, bool deleted)
{
	struct key member = *key;
	member.type = KEY_STRING;
	member.value = m->token;
	member.expires_ms = m->ends_ms;
	member.owner = 0;
	if (r->ears != NULL && r->ears->goes != NULL)
		r->ears->goes(r, &member, deleted && m->ends_ms >= r->now_ms);
}

void share_tell_ended(struct redis *r, const struct key *key)
{
	struct member m;
	for (struct bytes rest = key->value; next_member(&rest, &m);)
		if (m.ends_ms < r->now_ms)
			tell_end(r, key, &m, false);
}

void share_goes(struct redis *r, const struct key *key, bool deleted)
{
	struct member m;
	for (struct bytes rest = key->value; next_member(&rest, &m);)
		tell_end(r, key, &m, deleted);
}

/* Without a member, and those that have ended; with another one, if there is one. */
static void rebuild(struct call *c, struct key *key, struct bytes without, const struct member *with)
{
	struct buffer set = {0};
	struct member m;
	bool put = with == NULL;
	for (struct bytes rest = key->value; next_member(&rest, &m);) {
		bool ended = m.ends_ms < c->redis->now_ms, out = bytes_equal(m.token, without);
		if (ended && !out)
			tell_end(c->redis, key, &m, false);
		if (ended || out)
			continue;
		if (!put && comes_before(with, &m)) {
			append(&set, with);
			put = true;
		}
		append(&set, &m);
	}
	if (!put)
		append(&set, with);
	keyspace_set_value(key, (struct bytes){set.length > 0 ? buffer_front(&set) : "", set.length});
	buffer_free(&set);
}

/* PEXPIREAT, which deletes the key if that is now. */
static void end_with_latest(struct call *c, struct key *key)
{
	int64_t last_ms;
	bool any = share_latest(key, &last_ms);
	multi_touch(c->redis, c->session->database, key->name);
	if (any && last_ms <= c->redis->now_ms)
		call_delete(c, key);
	else if (any)
		key->expires_ms = last_ms;
}

void share_put(struct call *c, struct key *key, struct bytes token, int64_t ends_ms)
{
	rebuild(c, key, token, &(struct member){ends_ms, token});
	end_with_latest(c, key);
}

bool share_next(const struct key *key, struct bytes *rest, struct key *ret)
{
	struct member m;
	if (!next_member(rest, &m))
		return false;
	*ret = *key;
	ret->type = KEY_STRING;
	ret->value = m.token;
	ret->expires_ms = m.ends_ms;
	return true;
}

bool share_member(const struct key *key, struct bytes token, struct key *ret)
{
	for (struct bytes rest = key->value; share_next(key, &rest, ret);)
		if (ret->value.size >= token.size && memcmp(ret->value.at, token.at, token.size) == 0)
			return true;
	return false;
}

void share_tell_stored(struct call *c, const struct key *key, struct bytes token)
{
	struct redis *r = c->redis;
	struct key member;
	if (r->ears == NULL || r->ears->stored == NULL || !share_member(key, token, &member))
		return;
	member.owner = c->session->owner;
	r->ears->stored(r, &member, false);
}

static void tell_gone(struct call *c, const struct key *key, struct bytes token)
{
	struct redis *r = c->redis;
	struct key member;
	if (r->ears == NULL || r->ears->goes == NULL || !share_member(key, token, &member))
		return;
	member.owner = c->session->owner;
	r->ears->goes(r, &member, true);
}

void share_drop(struct call *c, struct key *key, struct bytes token)
{
	tell_gone(c, key, token);
	rebuild(c, key, token, NULL);
	if (key->value.size == 0)
		call_delete(c, key);
	else
		end_with_latest(c, key);
}

bool share_ends_within(const struct key *key, int64_t from_ms, int64_t to_ms)
{
	struct member m;
	bool ends = false;
	if (key == NULL || key->type != KEY_ZSET)
		return false;
	for (struct bytes rest = key->value; next_member(&rest, &m);)
		ends |= from_ms != to_ms && m.ends_ms >= from_ms - 1 && m.ends_ms <= to_ms;
	return ends;
}

bool share_is_ours(struct call *c, const struct key *key)
{
	enum { FOREIGN_MS = 1000 };
	int64_t last_ms;
	if (key == NULL || key->type != KEY_ZSET || call_life(c, key) < 0 || !share_latest(key, &last_ms))
		return false;
	int64_t off_ms = key->expires_ms - last_ms;
	return off_ms >= -FOREIGN_MS && off_ms <= FOREIGN_MS;
}

int64_t share_holders(struct call *c, const struct key *key, struct buffer *ret)
{
	struct member m, all[512];
	unsigned count = 0;
	if (!share_is_ours(c, key))
		return 0;
	for (struct bytes rest = key->value; count < 512 && next_member(&rest, &m);)
		if (m.ends_ms >= c->redis->now_ms)
			all[count++] = m;
	for (unsigned i = 0; i < count && i < SHOWN_MEMBERS; i++) {
		buffer_append(ret, " ", i > 0);
		buffer_append(ret, all[count - 1 - i].token.at, all[count - 1 - i].token.size);
	}
	return count;
}
