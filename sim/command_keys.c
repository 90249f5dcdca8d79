/* SPDX-License-Identifier: MIT */
/* Commands on keys, with the errors of servers that are full, cannot persist or are replicas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_multi.h"

struct key *call_find(struct call *c, struct bytes name)
{
	return keyspace_find(&c->node->keys, c->conn->session.database, name, node_now_ms(c->w, c->node));
}

int64_t call_life(struct call *c, const struct key *key)
{
	if (key == NULL)
		return -2;
	return key->expires_ms == SIM_NO_EXPIRY ? -1 : key->expires_ms - node_now_ms(c->w, c->node);
}

struct bytes key_value(const struct key *key)
{
	return (struct bytes){key->value, key->value_size};
}

const char *call_write_refused(const struct call *c)
{
	if (c->node->mode == MODE_MISCONF)
		return "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
		       "disk. Commands that may modify the data set are disabled, because this instance is "
		       "configured "
		       "to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error "
		       "option). "
		       "Please check the Redis logs for details about the RDB error.";
	if (c->node->mode == MODE_READONLY)
		return "-READONLY You can't write against a read only replica.";
	return NULL;
}

void call_delete(struct call *c, struct key *key)
{
	struct bytes name = {key->name, key->name_size};
	char *copy = memcpy(sim_realloc(NULL, name.size), name.at, name.size);
	check_deleted(c->w, key_value(key));
	check_gone(c->w, c->conn->node, key, c->w->now_ns);
	keyspace_remove(&c->node->keys, key);
	multi_touch(c->w, c->node, c->conn->session.database, (struct bytes){copy, name.size});
	check_key(c->w, (struct bytes){copy, name.size});
	free(copy);
}

const char call_wrongtype[] = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/* ---- commands on keys ---- */

/* The library sends SET key value NX PX ttl. Others use other forms. */
struct set_options {
	bool nx;
	bool expires;
	int64_t ttl_ms;
};

/* NULL, or the error. */
static const char *parse_set(const struct call *c, struct set_options *o)
{
	struct bytes ttl = {NULL, 0};
	for (unsigned i = 3; i < c->count; i++) {
		if (word_is(c->words[i], "NX")) {
			o->nx = true;
		} else if (word_is(c->words[i], "PX") && i + 1 < c->count && !o->expires) {
			o->expires = true;
			ttl = c->words[++i];
		} else {
			return "-ERR syntax error";
		}
	}
	if (!o->expires)
		return NULL;
	if (!word_integer(ttl, &o->ttl_ms))
		return "-ERR value is not an integer or out of range";
	return o->ttl_ms > 0 ? NULL : "-ERR invalid expire time in 'set' command";
}

static void check_library_set(const struct call *c)
{
	bool form = c->count == 6 && word_is(c->words[3], "NX") && word_is(c->words[4], "PX");
	if (!form)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET without NX PX");
	else if (word_number(c->words[5]) <= 0)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET with a TTL of '%.*s'", (int)c->words[5].size,
		           c->words[5].at);
	if (c->conn->session.database != c->w->plan.database)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET in database %u", c->conn->session.database);
	check_set(c->w, c->conn->node, c->conn->actor, c->conn->life, c->words[2]);
}

static void store(struct call *c, const struct set_options *o)
{
	struct key *old = call_find(c, c->words[1]);
	if (old != NULL)
		call_delete(c, old);
	node_expire(c->w, c->conn->node);
	struct key *key = keyspace_add(&c->node->keys, c->conn->session.database, c->words[1], c->words[2]);
	if (o->expires)
		key->expires_ms = node_now_ms(c->w, c->node) + o->ttl_ms;
	key->actor = c->conn->actor;
	key->life = c->conn->life;
	multi_touch(c->w, c->node, c->conn->session.database, c->words[1]);
	check_stored(c->w, c->conn->node, key);
}

/* What a command that needs memory is answered where there is none. */
static const char *refused_for_memory(const struct call *c)
{
	return c->node->mode == MODE_OOM ? "-OOM command not allowed when used memory > 'maxmemory'."
	                                 : call_write_refused(c);
}

void run_set(struct call *c)
{
	struct set_options o = {0};
	const char *refused = refused_for_memory(c);
	check_library_set(c);
	if (refused == NULL)
		refused = parse_set(c, &o);
	if (refused != NULL) {
		call_reply(c, refused);
		return;
	}
	if (c->conn->aborted)
		world_hit(c->w, COVER_LATE_EXECUTION);
	if (o.nx && call_find(c, c->words[1]) != NULL) {
		call_reply(c, "$-1");
		return;
	}
	store(c, &o);
	call_reply(c, "+OK");
}

void run_get(struct call *c)
{
	const struct key *key = call_find(c, c->words[1]);
	if (key == NULL)
		call_reply(c, "$-1");
	else if (key->type != KEY_STRING)
		call_reply(c, call_wrongtype);
	else
		call_reply_bulk(c, key_value(key));
}

void run_del(struct call *c)
{
	struct key *key = call_find(c, c->words[1]);
	const char *refused = call_write_refused(c);
	if (refused != NULL) {
		call_reply(c, refused);
		return;
	}
	if (key != NULL)
		call_delete(c, key);
	if (key != NULL && c->in_exec)
		world_hit(c->w, COVER_EXEC_DELETED);
	call_reply_number(c, key != NULL ? 1 : 0);
}

void run_pexpire(struct call *c)
{
	struct key *key = call_find(c, c->words[1]);
	const char *refused = call_write_refused(c);
	if (refused != NULL) {
		call_reply(c, refused);
		return;
	}
	int64_t ttl_ms;
	if (!word_integer(c->words[2], &ttl_ms)) {
		call_reply(c, "-ERR value is not an integer or out of range");
		return;
	}
	if (key != NULL && ttl_ms <= 0)
		call_delete(c, key);
	else if (key != NULL)
		key->expires_ms = node_now_ms(c->w, c->node) + ttl_ms;
	if (key != NULL && ttl_ms > 0)
		multi_touch(c->w, c->node, c->conn->session.database, c->words[1]);
	if (key != NULL && c->in_exec)
		world_hit(c->w, COVER_EXEC_EXTENDED);
	check_key(c->w, c->words[1]);
	call_reply_number(c, key != NULL ? 1 : 0);
}

void run_pttl(struct call *c)
{
	call_reply_number(c, call_life(c, call_find(c, c->words[1])));
}

void run_type(struct call *c)
{
	const struct key *key = call_find(c, c->words[1]);
	char line[16];
	snprintf(line, sizeof line, "+%s", key == NULL ? "none" : key_type_names[key->type]);
	call_reply(c, line);
}

/* The string of a key; what has another type was answered. */
static bool string_of(struct call *c, struct bytes *ret)
{
	const struct key *key = call_find(c, c->words[1]);
	*ret = key != NULL ? key_value(key) : (struct bytes){"", 0};
	if (key != NULL && key->type != KEY_STRING)
		call_reply(c, call_wrongtype);
	return key == NULL || key->type == KEY_STRING;
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
	if (!word_integer(c->words[2], &from) || !word_integer(c->words[3], &to)) {
		call_reply(c, "-ERR value is not an integer or out of range");
		return;
	}
	if (from < 0 || to < 0)
		check_fail(c->w, VIOLATION_PROTOCOL, "GETRANGE from the end");
	if (!string_of(c, &value))
		return;
	size_t begin = (size_t)from < value.size ? (size_t)from : value.size;
	size_t end = (size_t)to < value.size ? (size_t)to + 1 : value.size;
	call_reply_bulk(c, begin < end ? (struct bytes){value.at + begin, end - begin} : (struct bytes){"", 0});
}

const char *const key_type_names[KEY_TYPES] = {"string", "hash", "list"};

/* The key to write to, made if there is none. NULL: an answer was given. */
static struct key *of_type(struct call *c, enum key_type type)
{
	struct key *key = call_find(c, c->words[1]);
	const char *refused = refused_for_memory(c);
	if (refused == NULL && key != NULL && key->type != type)
		refused = call_wrongtype;
	if (refused != NULL) {
		call_reply(c, refused);
		return NULL;
	}
	if (key != NULL)
		return key;
	node_expire(c->w, c->conn->node);
	key = keyspace_add(&c->node->keys, c->conn->session.database, c->words[1], (struct bytes){"", 0});
	key->type = type;
	return key;
}

/* One field only: the model has no hash of several. */
void run_hset(struct call *c)
{
	char pair[64];
	struct key *key = of_type(c, KEY_HASH);
	if (key == NULL)
		return;
	bool fresh = key->value_size == 0;
	int size = snprintf(pair, sizeof pair, "%.*s=%.*s", (int)c->words[2].size, c->words[2].at,
	                    (int)c->words[3].size, c->words[3].at);
	keyspace_set_value(key, (struct bytes){pair, (size_t)size});
	multi_touch(c->w, c->node, c->conn->session.database, c->words[1]);
	call_reply_number(c, fresh);
}

void run_rpush(struct call *c)
{
	char elements[64] = "";
	struct key *key = of_type(c, KEY_LIST);
	if (key == NULL)
		return;
	size_t size = key->value_size < sizeof elements ? key->value_size + 1 : key->value_size;
	keyspace_set_value(key, (struct bytes){elements, size});
	multi_touch(c->w, c->node, c->conn->session.database, c->words[1]);
	call_reply_number(c, (int64_t)size);
}
