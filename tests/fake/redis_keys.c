/* SPDX-License-Identifier: MIT */
/* Commands on keys, with the errors of servers that are full, cannot persist or are replicas. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "redis_types.h"

struct key *call_find(struct call *c, struct bytes name)
{
	return keyspace_find(&c->redis->keys, c->session->database, name, c->redis->now_ms);
}

int64_t call_life(struct call *c, const struct key *key)
{
	if (key == NULL)
		return -2;
	return key->expires_ms == KEY_FOREVER ? -1 : key->expires_ms - c->redis->now_ms;
}

const char *call_write_refused(const struct call *c)
{
	if (c->redis->mode == REDIS_MISCONF)
		return "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
		       "disk. Commands that may modify the data set are disabled, because this instance is "
		       "configured to report errors during writes if RDB snapshotting fails "
		       "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB "
		       "error.";
	if (c->redis->mode == REDIS_READONLY)
		return "-READONLY You can't write against a read only replica.";
	return NULL;
}

const char *call_memory_refused(const struct call *c)
{
	return c->redis->mode == REDIS_OOM ? "-OOM command not allowed when used memory > 'maxmemory'."
	                                   : call_write_refused(c);
}

const char call_wrongtype[] = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/* ---- keys come and go ---- */

static void goes(struct redis *r, const struct key *key, bool deleted)
{
	struct key member;
	struct bytes rest = key->value;
	if (r->ears == NULL || r->ears->goes == NULL)
		return;
	if (key->type != KEY_ZSET)
		r->ears->goes(r, key, deleted);
	while (key->type == KEY_ZSET && zset_next(key, &rest, &member)) {
		member.owner = 0;
		r->ears->goes(r, &member, deleted && member.expires_ms >= r->now_ms);
	}
}

void redis_expire(struct redis *r)
{
	for (size_t i = r->keys.count; i-- > 0;)
		if (r->now_ms > r->keys.keys[i].expires_ms) {
			goes(r, &r->keys.keys[i], false);
			fake_redis_tell(r, r->keys.keys[i].database, r->keys.keys[i].name, "expired");
			keyspace_remove(&r->keys, &r->keys.keys[i]);
		}
}

struct key *redis_put(struct redis *r, unsigned database, struct bytes name, struct bytes value)
{
	redis_expire(r);
	multi_touch(r, database, name);
	return keyspace_add(&r->keys, database, name, value);
}

static void remove_key(struct redis *r, struct key *key)
{
	multi_touch(r, key->database, key->name);
	fake_redis_tell(r, key->database, key->name, "del");
	keyspace_remove(&r->keys, key);
}

void redis_delete(struct redis *r, struct key *key)
{
	struct key was;
	keyspace_copy(&was, key);
	goes(r, key, true);
	remove_key(r, key);
	if (r->ears != NULL && r->ears->changed != NULL)
		r->ears->changed(r, was.name);
	keyspace_free_key(&was);
}

void call_delete(struct call *c, struct key *key)
{
	call_changes(c, key->name);
	remove_key(c->redis, key);
}

/* SET. `ttl_ms` 0: for ever. */
static void store(struct call *c, struct bytes name, struct bytes value, int64_t ttl_ms)
{
	struct redis *r = c->redis;
	struct key *key = call_find(c, name);
	call_changes(c, name);
	if (key == NULL) {
		key = redis_put(r, c->session->database, name, value);
	} else {
		keyspace_set_value(key, value);
		multi_touch(r, key->database, name);
	}
	key->type = KEY_STRING;
	key->owner = changes_are_of_side(name) ? KEY_NOBODY : c->session->owner;
	key->expires_ms = ttl_ms > 0 ? r->now_ms + ttl_ms : KEY_FOREVER;
	if (ttl_ms > 0)
		fake_redis_tell(r, key->database, name, "expire");
}

/* True: the command is refused, and that was answered. */
static bool refuses(struct call *c, const char *why)
{
	if (why != NULL)
		call_reply(c, why);
	return why != NULL;
}

bool call_look(struct call *c, enum key_type type, struct key **ret)
{
	*ret = call_find(c, c->w.at[1]);
	return !refuses(c, *ret != NULL && (*ret)->type != type ? call_wrongtype : NULL);
}

struct key *call_make(struct call *c, enum key_type type)
{
	struct key *key;
	if (!call_look(c, type, &key))
		return NULL;
	call_changes(c, c->w.at[1]);
	if (key == NULL)
		key = redis_put(c->redis, c->session->database, c->w.at[1], text_bytes(""));
	else
		multi_touch(c->redis, c->session->database, c->w.at[1]);
	key->type = type;
	return key;
}

/* ---- strings ---- */

struct set_options {
	bool nx, xx;
	bool expires;
	int64_t ttl_ms;
};

/* False: an error was answered. */
static bool parse_set(struct call *c, struct set_options *o)
{
	struct bytes ttl = {NULL, 0};
	bool known = true;
	for (unsigned i = 3; i < c->w.count && known; i++) {
		bool px = word_is(c->w.at[i], "PX") && i + 1 < c->w.count && !o->expires;
		bool nx = word_is(c->w.at[i], "NX"), xx = word_is(c->w.at[i], "XX");
		known = px || (nx && !o->xx) || (xx && !o->nx);
		o->nx |= nx;
		o->xx |= xx;
		o->expires |= px;
		ttl = px ? c->w.at[++i] : ttl;
	}
	if (refuses(c, known ? NULL : "-ERR syntax error") || (o->expires && !call_integer(c, ttl, &o->ttl_ms)))
		return false;
	return !refuses(c, o->expires && o->ttl_ms <= 0 ? "-ERR invalid expire time in 'set' command" : NULL);
}

void run_set(struct call *c)
{
	struct set_options o = {0};
	if (!parse_set(c, &o))
		return;
	bool there = call_find(c, c->w.at[1]) != NULL;
	if (there ? o.nx : o.xx) {
		call_reply(c, "$-1");
		return;
	}
	store(c, c->w.at[1], c->w.at[2], o.ttl_ms);
	call_reply(c, "+OK");
}

void run_get(struct call *c)
{
	struct key *key;
	if (!call_look(c, KEY_STRING, &key))
		return;
	if (key == NULL)
		call_reply(c, "$-1");
	else
		call_reply_bulk(c, key->value);
}

/* A key that is not a string counts as missing. */
void run_mget(struct call *c)
{
	call_reply_array(c, c->w.count - 1);
	for (unsigned i = 1; i < c->w.count; i++) {
		const struct key *key = call_find(c, c->w.at[i]);
		if (key == NULL || key->type != KEY_STRING)
			call_reply(c, "$-1");
		else
			call_reply_bulk(c, key->value);
	}
}

void run_incrby(struct call *c)
{
	struct key *key;
	int64_t more, number = 0;
	char digits[24];
	if (!call_integer(c, c->w.at[2], &more) || !call_look(c, KEY_STRING, &key) ||
	    (key != NULL && !call_integer(c, key->value, &number)))
		return;
	key = call_make(c, KEY_STRING);
	int size = snprintf(digits, sizeof digits, "%" PRId64, number + more);
	keyspace_set_value(key, (struct bytes){digits, (size_t)size});
	call_reply_number(c, number + more);
}

void run_strlen(struct call *c)
{
	struct key *key;
	if (call_look(c, KEY_STRING, &key))
		call_reply_number(c, key != NULL ? (int64_t)key->value.size : 0);
}

/* The library counts from the front only. */
void run_getrange(struct call *c)
{
	struct key *key;
	int64_t from, to;
	if (!call_integer(c, c->w.at[2], &from) || !call_integer(c, c->w.at[3], &to))
		return;
	if (from < 0 || to < 0)
		call_wrong(c, "GETRANGE from the end");
	if (!call_look(c, KEY_STRING, &key))
		return;
	struct bytes value = key != NULL ? key->value : text_bytes("");
	size_t begin = (size_t)from < value.size ? (size_t)from : value.size;
	size_t end = (size_t)to < value.size ? (size_t)to + 1 : value.size;
	call_reply_bulk(c, begin < end ? (struct bytes){value.at + begin, end - begin} : text_bytes(""));
}

/* ---- keys of any type ---- */

void run_del(struct call *c)
{
	struct key *key = call_find(c, c->w.at[1]);
	bool found = key != NULL;
	if (found)
		call_delete(c, key);
	call_reply_number(c, found);
}

static void end_at(struct call *c, int64_t from_ms)
{
	struct key *key = call_find(c, c->w.at[1]);
	bool found = key != NULL;
	int64_t ends_ms;
	if (!call_integer(c, c->w.at[2], &ends_ms))
		return;
	ends_ms += from_ms;
	if (found && ends_ms <= c->redis->now_ms) {
		call_delete(c, key);
	} else if (found) {
		call_changes(c, c->w.at[1]);
		key->expires_ms = ends_ms;
		multi_touch(c->redis, c->session->database, c->w.at[1]);
	}
	call_reply_number(c, found);
}

void run_pexpire(struct call *c)
{
	end_at(c, c->redis->now_ms);
}

void run_pexpireat(struct call *c)
{
	end_at(c, 0);
}

void run_pttl(struct call *c)
{
	call_reply_number(c, call_life(c, call_find(c, c->w.at[1])));
}

void run_type(struct call *c)
{
	static const char *const names[KEY_TYPES] = {"string", "hash", "list", "zset"};
	const struct key *key = call_find(c, c->w.at[1]);
	call_reply_text(c, "+%s", key == NULL ? "none" : names[key->type]);
}

void run_rpush(struct call *c)
{
	char elements[64] = "";
	struct key *key = call_make(c, KEY_LIST);
	if (key == NULL)
		return;
	size_t size = key->value.size < sizeof elements ? key->value.size + 1 : key->value.size;
	keyspace_set_value(key, (struct bytes){elements, size});
	call_reply_number(c, (int64_t)size);
}

/* ---- of newer servers: compare and delete ---- */

static void delete_value(struct call *c, struct bytes value, const char *wrongtype)
{
	struct key *key = call_find(c, c->w.at[1]);
	if (refuses(c, key != NULL && key->type != KEY_STRING ? wrongtype : NULL))
		return;
	bool same = key != NULL && bytes_equal(key->value, value);
	if (same)
		call_delete(c, key);
	call_reply_number(c, same);
}

/* As redis-server 8.4 and valkey-server 9 do. */
void run_delex(struct call *c)
{
	delete_value(c, c->w.at[3], "-ERR Key should be of string type if conditions are specified");
}

void run_delifeq(struct call *c)
{
	delete_value(c, c->w.at[2], call_wrongtype);
}
