/* SPDX-License-Identifier: MIT */
/* Commands of newer servers that compare and delete: DELEX (Redis 8.4), DELIFEQ (Valkey 9). */
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
		check_fail(c->w, VIOLATION_PROTOCOL, "DELEX without IFEQ");
	delete_value(c, c->words[3], "-ERR Key should be of string type if conditions are specified");
}

void run_delifeq(struct call *c)
{
	delete_value(c, c->words[2], call_wrongtype);
}
