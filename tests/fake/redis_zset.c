/* SPDX-License-Identifier: MIT */
/* Commands on sorted sets whose scores are whole numbers. The value has the members in their order, each as
 *
 *     1795342681857 5:token
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "redis_types.h"

enum { MEMBERS = 512 };

struct member {
	int64_t score;
	struct bytes name;
};

struct members {
	unsigned count;
	struct member at[MEMBERS];
};

static bool next_member(struct bytes *rest, struct member *ret)
{
	char *end;
	if (rest->size == 0)
		return false;
	ret->score = strtoll(rest->at, &end, 10);
	ret->name.size = strtoull(end + 1, &end, 10);
	ret->name.at = end + 1;
	size_t used = (size_t)(ret->name.at - rest->at) + ret->name.size;
	*rest = (struct bytes){rest->at + used, rest->size - used};
	return true;
}

static void read_all(const struct key *key, struct members *ret)
{
	struct bytes rest = key != NULL ? key->value : text_bytes("");
	ret->count = 0;
	while (ret->count < MEMBERS && next_member(&rest, &ret->at[ret->count]))
		ret->count++;
}

void zset_append(struct buffer *set, int64_t score, struct bytes member)
{
	char head[48];
	buffer_append(set, head, (size_t)snprintf(head, sizeof head, "%" PRId64 " %zu:", score, member.size));
	buffer_append(set, member.at, member.size);
}

/* ---- looking at keys ---- */

bool zset_next(const struct key *key, struct bytes *rest, struct key *ret)
{
	struct member m;
	if (!next_member(rest, &m))
		return false;
	*ret = *key;
	ret->type = KEY_STRING;
	ret->value = m.name;
	ret->expires_ms = m.score;
	return true;
}

bool zset_member(const struct key *key, struct bytes token, struct key *ret)
{
	for (struct bytes rest = key->value; zset_next(key, &rest, ret);)
		if (ret->value.size >= token.size && memcmp(ret->value.at, token.at, token.size) == 0)
			return true;
	return false;
}

bool zset_ends_within(const struct key *key, int64_t from_ms, int64_t to_ms)
{
	struct member m;
	bool ends = false;
	if (key == NULL || key->type != KEY_ZSET)
		return false;
	for (struct bytes rest = key->value; next_member(&rest, &m);)
		ends |= from_ms != to_ms && m.score >= from_ms - 1 && m.score <= to_ms;
	return ends;
}

/* ---- writing ---- */

static bool comes_before(const struct member *a, const struct member *b)
{
	size_t size = a->name.size < b->name.size ? a->name.size : b->name.size;
	int order = memcmp(a->name.at, b->name.at, size);
	if (a->score != b->score)
		return a->score < b->score;
	return order != 0 ? order < 0 : a->name.size < b->name.size;
}

/* The members that go, by name or by score, and one that comes; NULL: none does. */
struct change {
	struct bytes name;
	int64_t least, most;
	const struct member *with;
};

/* Returns the number of members that have gone. */
static int64_t rebuild(struct key *key, const struct change *change)
{
	struct buffer set = {0};
	struct member m;
	const struct member *with = change->with;
	int64_t gone = 0;
	for (struct bytes rest = key->value; next_member(&rest, &m);) {
		if (bytes_equal(m.name, change->name) || (m.score >= change->least && m.score <= change->most)) {
			gone++;
			continue;
		}
		if (with != NULL && comes_before(with, &m)) {
			zset_append(&set, with->score, with->name);
			with = NULL;
		}
		zset_append(&set, m.score, m.name);
	}
	if (with != NULL)
		zset_append(&set, with->score, with->name);
	keyspace_set_value(key, (struct bytes){set.length > 0 ? buffer_front(&set) : "", set.length});
	buffer_free(&set);
	return gone;
}

static void remove_some(struct call *c, const struct change *change)
{
	struct key *key;
	if (!call_look(c, KEY_ZSET, &key))
		return;
	int64_t gone = 0;
	if (key != NULL) {
		call_changes(c, c->w.at[1]);
		gone = rebuild(key, change);
	}
	if (gone > 0)
		multi_touch(c->redis, c->session->database, c->w.at[1]);
	if (key != NULL && key->value.size == 0)
		call_delete(c, key);
	call_reply_number(c, gone);
}

/* Reads "12", "(12" or "+inf" as the least or the most of a range that includes both. */
static bool read_end(struct call *c, struct bytes word, bool least, int64_t *ret)
{
	bool open = word.size > 0 && *word.at == '(';
	struct bytes digits = {word.at + open, word.size - open};
	bool endless = word_is(digits, "-inf") || word_is(digits, "+inf");
	int64_t number = word_number(digits);
	if (endless)
		*ret = *digits.at == '-' ? INT64_MIN : INT64_MAX;
	else if (number < 0)
		call_reply(c, "-ERR min or max is not a float");
	else
		*ret = !open ? number : least ? number + 1 : number - 1;
	return endless || number >= 0;
}

static bool read_range(struct call *c, struct bytes least, struct bytes most, int64_t ret[2])
{
	return read_end(c, least, true, &ret[0]) && read_end(c, most, false, &ret[1]);
}

/* ---- the commands ---- */

void run_zadd(struct call *c)
{
	int64_t score = word_number(c->w.at[2]);
	if (score < 0) {
		call_reply(c, "-ERR value is not a valid float");
		return;
	}
	struct key *key = call_make(c, KEY_ZSET);
	if (key == NULL)
		return;
	const struct member with = {score, c->w.at[3]};
	int64_t gone = rebuild(key, &(struct change){.name = with.name, .least = 1, .most = 0, .with = &with});
	call_reply_number(c, gone == 0);
}

void run_zrem(struct call *c)
{
	remove_some(c, &(struct change){.name = c->w.at[2], .least = 1, .most = 0});
}

void run_zremrangebyscore(struct call *c)
{
	int64_t range[2];
	static const struct bytes nobody = {"", SIZE_MAX};
	if (read_range(c, c->w.at[2], c->w.at[3], range))
		remove_some(c, &(struct change){.name = nobody, .least = range[0], .most = range[1]});
}

static void reply_score(struct call *c, int64_t score)
{
	char digits[24];
	int size = snprintf(digits, sizeof digits, "%" PRId64, score);
	call_reply_bulk(c, (struct bytes){digits, (size_t)size});
}

void run_zscore(struct call *c)
{
	struct key *key;
	struct members all;
	if (!call_look(c, KEY_ZSET, &key))
		return;
	read_all(key, &all);
	for (unsigned i = 0; i < all.count; i++)
		if (bytes_equal(all.at[i].name, c->w.at[2])) {
			reply_score(c, all.at[i].score);
			return;
		}
	call_reply(c, "$-1");
}

/* Keeps the members with such scores. */
static void cut(struct members *all, const int64_t range[2])
{
	unsigned count = 0;
	for (unsigned i = 0; i < all->count; i++)
		if (all->at[i].score >= range[0] && all->at[i].score <= range[1])
			all->at[count++] = all->at[i];
	all->count = count;
}

void run_zcount(struct call *c)
{
	struct key *key;
	struct members all;
	int64_t range[2];
	if (!read_range(c, c->w.at[2], c->w.at[3], range) || !call_look(c, KEY_ZSET, &key))
		return;
	read_all(key, &all);
	cut(&all, range);
	call_reply_number(c, all.count);
}

/* Answers at most `most` members, the last one first, without the first `skip`. */
static void reply_reversed(struct call *c, const struct members *all, int64_t skip, int64_t most, bool scores)
{
	int64_t count = skip < (int64_t)all->count ? (int64_t)all->count - skip : 0;
	count = count > most && most >= 0 ? most : count;
	call_reply_array(c, (unsigned)(scores ? 2 * count : count));
	for (int64_t i = 0; i < count; i++) {
		const struct member *m = &all->at[(int64_t)all->count - 1 - skip - i];
		call_reply_bulk(c, m->name);
		if (scores)
			reply_score(c, m->score);
	}
}

void run_zrevrange(struct call *c)
{
	struct key *key;
	struct members all;
	int64_t from, to;
	if (!call_integer(c, c->w.at[2], &from) || !call_integer(c, c->w.at[3], &to) ||
	    !call_look(c, KEY_ZSET, &key))
		return;
	read_all(key, &all);
	from += from < 0 ? all.count : 0;
	to += to < 0 ? all.count : 0;
	from = from < 0 ? 0 : from;
	reply_reversed(c, &all, from, to >= from ? to - from + 1 : 0, c->w.count > 4);
}

void run_zrevrangebyscore(struct call *c)
{
	struct key *key;
	struct members all;
	int64_t range[2], skip = 0, most = INT64_MAX;
	bool scores = c->w.count > 4 && word_is(c->w.at[4], "withscores");
	unsigned limit = 4 + scores;
	if (!read_range(c, c->w.at[3], c->w.at[2], range))
		return;
	if (c->w.count == limit + 3 &&
	    (!call_integer(c, c->w.at[limit + 1], &skip) || !call_integer(c, c->w.at[limit + 2], &most)))
		return;
	if (!call_look(c, KEY_ZSET, &key))
		return;
	read_all(key, &all);
	cut(&all, range);
	reply_reversed(c, &all, skip, most, scores);
}
