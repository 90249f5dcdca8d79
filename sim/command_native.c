/* SPDX-License-Identifier: MIT */
/* Commands of newer servers that compare: DELEX (Redis 8.4), DELIFEQ (Valkey 9), SET ... IFEQ (both). By the
 * sources of those servers: none is there to be compared with. */
#include "command_multi.h"

/* The key if its value is this one. NULL: an answer was given. */
static struct key *of_value(struct call *c, struct bytes value, const char *wrongtype, const char *other)
{
	struct key *key = call_find(c, c->words[1]);
	bool same = key != NULL && key->type == KEY_STRING && bytes_equal(key_value(key), value);
	if (key != NULL && key->type != KEY_STRING)
		call_reply(c, wrongtype);
	else if (!same)
		call_reply(c, other);
	return same ? key : NULL;
}

static void delete_value(struct call *c, struct bytes value, const char *wrongtype)
{
	const char *refused = call_write_refused(c);
	if (refused != NULL) {
		call_reply(c, refused);
		return;
	}
	struct key *key = of_value(c, value, wrongtype, ":0");
	if (key == NULL)
		return;
	call_delete(c, key);
	world_hit(c->w, COVER_NATIVE_DELETED);
	call_reply(c, ":1");
}

/* As redis-server 8.4 and valkey-server 9 do. */
void run_delex(struct call *c)
{
	if (!word_is(c->words[2], "IFEQ"))
		call_reply(c, "-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
	else
		delete_value(c, c->words[3], "-ERR Key should be of string type if conditions are specified");
}

void run_delifeq(struct call *c)
{
	delete_value(c, c->words[2], call_wrongtype);
}

static bool is_set_ifeq(const struct call *c)
{
	return c->node->native != NATIVE_NONE && c->count == 7 && word_is(c->words[3], "IFEQ") &&
	       word_is(c->words[5], "PX");
}

/* SET key value IFEQ value PX ttl: it may shorten. */
bool call_set_ifeq(struct call *c, const char *refused)
{
	if (!is_set_ifeq(c))
		return false;
	if (!bytes_equal(c->words[2], c->words[4]) || c->conn->session.database != c->w->plan.database)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET IFEQ changes the value, or another database");
	if (refused != NULL) {
		call_reply(c, refused);
		return true;
	}
	struct key *key = of_value(c, c->words[4], call_wrongtype, "$-1");
	if (key == NULL)
		return true;
	key->expires_ms = node_now_ms(c->w, c->node) + word_number(c->words[6]);
	multi_touch(c->w, c->node, c->conn->session.database, c->words[1]);
	check_key(c->w, c->words[1]);
	world_hit(c->w, COVER_NATIVE_EXTENDED);
	call_reply(c, "+OK");
	return true;
}
