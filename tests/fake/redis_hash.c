/* SPDX-License-Identifier: MIT */
/* Commands on hashes. The value has the pairs in the order of arrival, each after two sizes:
 *
 *     5 7:field1 value
 */
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "redis_types.h"

struct pair {
	struct bytes field, value, whole;
};

static bool next_pair(struct bytes *rest, struct pair *ret)
{
	char *end;
	if (rest->size == 0)
		return false;
	ret->field.size = strtoull(rest->at, &end, 10);
	ret->value.size = strtoull(end + 1, &end, 10);
	ret->field.at = end + 1;
	ret->value.at = ret->field.at + ret->field.size;
	ret->whole = (struct bytes){rest->at, (size_t)(ret->value.at - rest->at) + ret->value.size};
	*rest = (struct bytes){rest->at + ret->whole.size, rest->size - ret->whole.size};
	return true;
}

static bool find(const struct key *key, struct bytes field, struct pair *ret)
{
	struct bytes rest = key != NULL ? key->value : text_bytes("");
	while (next_pair(&rest, ret))
		if (bytes_equal(ret->field, field))
			return true;
	return false;
}

bool hash_get(const struct key *key, struct bytes field, struct bytes *ret)
{
	struct pair pair;
	bool found = find(key, field, &pair);
	*ret = found ? pair.value : text_bytes("");
	return found;
}

/* Puts other bytes where some of the value are. */
static void replace(struct key *key, struct bytes old, struct bytes by)
{
	struct buffer all = {0};
	size_t head = (size_t)(old.at - key->value.at);
	buffer_append(&all, key->value.at, head);
	buffer_append(&all, by.at, by.size);
	buffer_append(&all, old.at + old.size, key->value.size - head - old.size);
	keyspace_set_value(key, (struct bytes){all.length > 0 ? buffer_front(&all) : "", all.length});
	buffer_free(&all);
}

bool hash_put(struct key *key, struct bytes field, struct bytes value)
{
	struct pair pair;
	struct buffer whole = {0};
	char head[48];
	bool found = find(key, field, &pair);
	if (!found)
		pair.whole = (struct bytes){key->value.at + key->value.size, 0};
	buffer_append(&whole, head, (size_t)snprintf(head, sizeof head, "%zu %zu:", field.size, value.size));
	buffer_append(&whole, field.at, field.size);
	buffer_append(&whole, value.at, value.size);
	replace(key, pair.whole, (struct bytes){buffer_front(&whole), whole.length});
	buffer_free(&whole);
	return !found;
}

static unsigned count_of(const struct key *key)
{
	struct pair pair;
	struct bytes rest = key != NULL ? key->value : text_bytes("");
	unsigned count = 0;
	while (next_pair(&rest, &pair))
		count++;
	return count;
}

/* ---- the commands ---- */

void run_hset(struct call *c)
{
	int64_t fresh = 0;
	if (c->w.count % 2 != 0) {
		call_reply(c, "-ERR wrong number of arguments for 'hset' command");
		return;
	}
	struct key *key = call_make(c, KEY_HASH);
	if (key == NULL)
		return;
	for (unsigned i = 2; i < c->w.count; i += 2)
		fresh += hash_put(key, c->w.at[i], c->w.at[i + 1]);
	call_reply_number(c, fresh);
}

static void reply_field(struct call *c, const struct key *key, struct bytes field)
{
	struct bytes value;
	if (hash_get(key, field, &value))
		call_reply_bulk(c, value);
	else
		call_reply(c, "$-1");
}

void run_hget(struct call *c)
{
	struct key *key;
	if (call_look(c, KEY_HASH, &key))
		reply_field(c, key, c->w.at[2]);
}

void run_hmget(struct call *c)
{
	struct key *key;
	if (!call_look(c, KEY_HASH, &key))
		return;
	call_reply_array(c, c->w.count - 2);
	for (unsigned i = 2; i < c->w.count; i++)
		reply_field(c, key, c->w.at[i]);
}

void run_hdel(struct call *c)
{
	struct key *key;
	struct pair pair;
	int64_t gone = 0;
	if (!call_look(c, KEY_HASH, &key))
		return;
	for (unsigned i = 2; i < c->w.count; i++) {
		if (!find(key, c->w.at[i], &pair))
			continue;
		call_changes(c, c->w.at[1]);
		replace(key, pair.whole, text_bytes(""));
		multi_touch(c->redis, c->session->database, c->w.at[1]);
		gone++;
	}
	if (key != NULL && key->value.size == 0)
		call_delete(c, key);
	call_reply_number(c, gone);
}

void run_hlen(struct call *c)
{
	struct key *key;
	if (call_look(c, KEY_HASH, &key))
		call_reply_number(c, count_of(key));
}

/* A server answers all of a small hash in one step. */
void run_hscan(struct call *c)
{
	struct key *key;
	struct pair pair;
	if (!call_look(c, KEY_HASH, &key))
		return;
	struct bytes rest = key != NULL ? key->value : text_bytes("");
	call_reply_array(c, 2);
	call_reply_bulk(c, text_bytes("0"));
	call_reply_array(c, 2 * count_of(key));
	while (next_pair(&rest, &pair)) {
		call_reply_bulk(c, pair.field);
		call_reply_bulk(c, pair.value);
	}
}
