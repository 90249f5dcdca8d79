/* SPDX-License-Identifier: MIT */
/* Commands on keys, with the errors of servers that are full, cannot persist or are replicas. */
#include <stdio.h>
#include <stdlib.h>

#include "redis_guard.h"
#include "redis_offers.h"

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
const char *const key_type_names[KEY_TYPES] = {"string", "hash", "list", "zset"};

/* ---- keys come and go ---- */

static void goes(struct redis *r, struct key *key, bool deleted)
{
	if (key->type == KEY_ZSET)
		share_goes(r, key, deleted);
	else if (r->ears != NULL && r->ears->goes != NULL)
		r->ears->goes(r, key, deleted);
}

static void changed(struct redis *r, struct bytes name)
{
	if (r->ears != NULL && r->ears->changed != NULL)
		r->ears->changed(r, name);
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

void redis_delete(struct redis *r, struct key *key)
{
	struct buffer text = {0}; /* of the key, when that is gone */
	unsigned database = key->database;
	buffer_append(&text, key->name.at, key->name.size);
	struct bytes name = {text.bytes, text.length};
	goes(r, key, true);
	fake_redis_tell(r, database, name, "del");
	keyspace_remove(&r->keys, key);
	multi_touch(r, database, name);
	changed(r, name);
	buffer_free(&text);
}

void call_delete(struct call *c, struct key *key)
{
	c->deleted = true;
	redis_delete(c->redis, key);
}

void call_store(struct call *c, struct bytes name, struct bytes value, int64_t ttl_ms)
{
	call_store_for(c, c->session->owner, name, value, ttl_ms);
}

void call_store_for(struct call *c, uint64_t owner, struct bytes name, struct bytes value, int64_t ttl_ms)
{
	struct redis *r = c->redis;
	struct key *key = redis_put(r, c->session->database, name, value);
	c->made = true;
	key->owner = owner;
	if (ttl_ms > 0) {
		key->expires_ms = r->now_ms + ttl_ms;
		fake_redis_tell(r, key->database, name, "expire");
	}
	if (r->ears != NULL && r->ears->stored != NULL)
		r->ears->stored(r, key, c->asked.op == &rl_ops[RL_OP_HAND]);
}

/* True: the command is refused, and that was answered. */
static bool refuses(struct call *c, const char *why)
{
	if (why != NULL)
		call_reply(c, why);
	return why != NULL;
}

/* ---- commands on keys ---- */

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
	if (refuses(c, call_memory_refused(c)) || !parse_set(c, &o))
		return;
	struct key *old = call_find(c, c->w.at[1]);
	if (old != NULL ? o.nx : o.xx) {
		call_reply(c, "$-1");
		return;
	}
	if (old != NULL)
		call_delete(c, old);
	call_store(c, c->w.at[1], c->w.at[2], o.ttl_ms);
	call_reply(c, "+OK");
}

/* The string of a key, empty if there is none. False: it has another type, and that was answered. */
static bool string_of(struct call *c, struct bytes *ret)
{
	const struct key *key = call_find(c, c->w.at[1]);
	*ret = key != NULL ? key->value : text_bytes("");
	return !refuses(c, key != NULL && key->type != KEY_STRING ? call_wrongtype : NULL);
}

void run_get(struct call *c)
{
	struct bytes value;
	if (call_find(c, c->w.at[1]) == NULL)
		call_reply(c, "$-1");
	else if (string_of(c, &value))
		call_reply_bulk(c, value);
}

void run_strlen(struct call *c)
{
	struct bytes value;
	if (string_of(c, &value))
		call_reply_number(c, (int64_t)value.size);
}

/* The library counts from the front only. */
void run_getrange(struct call *c)
{
	struct bytes value;
	int64_t from, to;
	if (!call_integer(c, c->w.at[2], &from) || !call_integer(c, c->w.at[3], &to))
		return;
	if (from < 0 || to < 0)
		call_wrong(c, "GETRANGE from the end");
	if (!string_of(c, &value))
		return;
	size_t begin = (size_t)from < value.size ? (size_t)from : value.size;
	size_t end = (size_t)to < value.size ? (size_t)to + 1 : value.size;
	call_reply_bulk(c, begin < end ? (struct bytes){value.at + begin, end - begin} : text_bytes(""));
}

void run_del(struct call *c)
{
	struct key *key = call_find(c, c->w.at[1]);
	bool found = key != NULL;
	if (refuses(c, call_write_refused(c)))
		return;
	if (found)
		call_delete(c, key);
	call_reply_number(c, found);
}

void run_pexpire(struct call *c)
{
	struct key *key = call_find(c, c->w.at[1]);
	bool found = key != NULL;
	int64_t ttl_ms;
	if (refuses(c, call_write_refused(c)) || !call_integer(c, c->w.at[2], &ttl_ms))
		return;
	if (found && ttl_ms <= 0) {
		call_delete(c, key);
	} else if (found) {
		key->expires_ms = c->redis->now_ms + ttl_ms;
		multi_touch(c->redis, c->session->database, c->w.at[1]);
	}
	changed(c->redis, c->w.at[1]);
	call_reply_number(c, found);
}

void run_pttl(struct call *c)
{
	call_reply_number(c, call_life(c, call_find(c, c->w.at[1])));
}

void run_type(struct call *c)
{
	const struct key *key = call_find(c, c->w.at[1]);
	call_reply_text(c, "+%s", key == NULL ? "none" : key_type_names[key->type]);
}

/* The key to write to, made if there is none. NULL: an answer was given. */
static struct key *of_type(struct call *c, enum key_type type)
{
	struct key *key = call_find(c, c->w.at[1]);
	if (refuses(c, call_memory_refused(c)) ||
	    refuses(c, key != NULL && key->type != type ? call_wrongtype : NULL))
		return NULL;
	if (key == NULL)
		key = redis_put(c->redis, c->session->database, c->w.at[1], text_bytes(""));
	else
		multi_touch(c->redis, c->session->database, c->w.at[1]);
	key->type = type;
	return key;
}

/* One field only: of several there is one hash, that the library makes. */
void run_hset(struct call *c)
{
	char pair[64];
	bool record = word_is(c->w.at[1], "redlock:set");
	struct key *key = of_type(c, KEY_HASH);
	if (key == NULL)
		return;
	struct bytes was;
	bool fresh = record ? !offers_get(c, c->w.at[1], c->w.at[2], &was) : key->value.size == 0;
	if (record) {
		guard_put(c, c->w.at[1], c->w.at[2], c->w.at[3]);
		call_reply_number(c, fresh);
		return;
	}
	int size = snprintf(pair, sizeof pair, "%.*s=%.*s", (int)c->w.at[2].size, c->w.at[2].at,
	                    (int)c->w.at[3].size, c->w.at[3].at);
	keyspace_set_value(key, (struct bytes){pair, (size_t)size});
	call_reply_number(c, fresh);
}

void run_rpush(struct call *c)
{
	char elements[64] = "";
	struct key *key = of_type(c, KEY_LIST);
	if (key == NULL)
		return;
	size_t size = key->value.size < sizeof elements ? key->value.size + 1 : key->value.size;
	keyspace_set_value(key, (struct bytes){elements, size});
	call_reply_number(c, (int64_t)size);
}

/* ---- of newer servers: compare and delete ---- */

static void delete_value(struct call *c, struct bytes value, const char *wrongtype)
{
	if (refuses(c, call_write_refused(c)))
		return;
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
