/* SPDX-License-Identifier: MIT */
/* Commands on keys, with the errors of servers that are full, cannot persist or are replicas. */
#include <stdlib.h>
#include <string.h>

#include "call.h"

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
		       "disk.";
	if (c->node->mode == MODE_READONLY)
		return "-READONLY You can't write against a read only replica.";
	return NULL;
}

void call_delete(struct call *c, struct key *key)
{
	struct bytes name = {key->name, key->name_size};
	char *copy = memcpy(sim_realloc(NULL, name.size), name.at, name.size);
	check_deleted(c->w, key_value(key));
	keyspace_remove(&c->node->keys, key);
	check_key(c->w, (struct bytes){copy, name.size});
	free(copy);
}

const char call_wrongtype[] = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/* ---- commands on keys ---- */

void run_set(struct call *c)
{
	if (c->count != 6 || !word_is(c->words[3], "NX") || !word_is(c->words[4], "PX")) {
		check_fail(c->w, VIOLATION_PROTOCOL, "SET without NX PX");
		return;
	}
	int64_t ttl_ms = word_number(c->words[5]);
	if (ttl_ms <= 0)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET with a TTL of %lld", (long long)ttl_ms);
	if (c->conn->session.database != c->w->plan.database)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET in database %u", c->conn->session.database);
	check_set(c->w, c->conn->node, c->conn->actor, c->conn->life, c->words[2]);
	const char *refused = call_write_refused(c);
	if (c->node->mode == MODE_OOM)
		refused = "-OOM command not allowed when used memory > 'maxmemory'.";
	if (refused != NULL) {
		call_reply(c, refused);
		return;
	}
	if (c->conn->aborted)
		world_hit(c->w, COVER_LATE_EXECUTION);
	if (call_find(c, c->words[1]) != NULL) {
		call_reply(c, "$-1");
		return;
	}
	keyspace_expire(&c->node->keys, node_now_ms(c->w, c->node));
	struct key *key = keyspace_add(&c->node->keys, c->conn->session.database, c->words[1], c->words[2]);
	key->expires_ms = node_now_ms(c->w, c->node) + ttl_ms;
	key->actor = c->conn->actor;
	key->life = c->conn->life;
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
	if (key != NULL)
		key->expires_ms = node_now_ms(c->w, c->node) + word_number(c->words[2]);
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
	call_reply(c, key == NULL ? "+none" : key->type == KEY_STRING ? "+string" : "+hash");
}
