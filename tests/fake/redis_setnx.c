/* SPDX-License-Identifier: MIT */
/* The scripts of the old SETNX protocol as C: the originals are in scripts/. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "scripts.h"

/* Where the words of a call are. */
enum { NAME = 3, SIDE, TOKEN, TTL };

enum { RACE_MS = 1000 };

/* What is known of a lock: parts/setnx.lua. */
struct found {
	struct key *key, *side;
	int64_t wrote; /* the time that stands beside it; 0: none */
	bool has_token, ours;
};

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

static int64_t now_s(const struct call *c)
{
	return c->redis->now_ms / 1000;
}

/* Digits, with a point and more of them or not. Negative: it is no time. */
static double time_of(const struct key *key)
{
	char text[64];
	if (key == NULL || key->value.size >= sizeof text)
		return -1;
	snprintf(text, sizeof text, "%.*s", (int)key->value.size, key->value.at);
	size_t whole = strspn(text, "0123456789"), point = text[whole] == '.';
	size_t behind = point != 0 ? strspn(text + whole + 1, "0123456789") : 0;
	return whole > 0 && whole + point + behind == key->value.size ? strtod(text, NULL) : -1;
}

static bool fails_by_type(struct call *c, const struct key *key, enum rl_script script)
{
	return script_fails_at(c, key != NULL && key->type != KEY_STRING ? call_wrongtype : NULL, script, 1);
}

static void read_side(struct call *c, struct found *f, int64_t *ret_since)
{
	char *end;
	char text[128];
	struct bytes side = f->side != NULL ? f->side->value : text_bytes("");
	*ret_since = 0;
	snprintf(text, sizeof text, "%.*s", (int)side.size, side.at);
	f->wrote = strtoll(text, &end, 10);
	if (end == text || *end != ' ')
		return;
	*ret_since = strtoll(end + 1, &end, 10);
	size_t head = (size_t)(end + 1 - text);
	f->has_token =
	    *end == ' ' && bytes_equal((struct bytes){side.at + head, side.size - head}, word(c, TOKEN));
}

/* False: an error was answered. */
static bool look(struct call *c, enum rl_script script, struct found *f)
{
	char wrote[24];
	int64_t since;
	*f = (struct found){.key = call_find(c, word(c, NAME)), .side = call_find(c, word(c, SIDE))};
	if (fails_by_type(c, f->key, script) || fails_by_type(c, f->side, script))
		return false;
	read_side(c, f, &since);
	if (!f->has_token || f->key == NULL)
		return true;
	snprintf(wrote, sizeof wrote, "%" PRId64, f->wrote);
	f->ours = call_life(c, f->key) >= 0 && bytes_equal(f->key->value, text_bytes(wrote));
	double ends = time_of(f->key);
	if (ends >= 0 && call_life(c, f->key) == -1) {
		int64_t age = c->redis->now_ms - since;
		f->ours = age >= 0 && age <= RACE_MS && ends > (double)now_s(c) && ends <= (double)(f->wrote + 1);
	}
	return true;
}

static void put(struct call *c, struct bytes name, struct bytes value, int64_t ttl_ms)
{
	struct key *old = call_find(c, name);
	if (old != NULL)
		keyspace_remove(&c->redis->keys, old);
	call_store(c, name, value, ttl_ms);
}

/* Another claim's token stood there. */
static void tell_gone(struct call *c, const struct found *f)
{
	struct redis *r = c->redis;
	if (f->side != NULL && !f->has_token && r->ears != NULL && r->ears->goes != NULL)
		r->ears->goes(r, f->side, true);
}

/* Both keys. */
static void write_time(struct call *c, int64_t ttl_ms, int64_t least, int64_t since)
{
	char side[256], value[24];
	struct bytes token = word(c, TOKEN);
	int64_t ends = now_s(c) + (ttl_ms + 999) / 1000 + 1;
	snprintf(value, sizeof value, "%" PRId64, ends > least ? ends : least);
	int size = snprintf(side, sizeof side, "%s %" PRId64 " %.*s", value, since, (int)token.size, token.at);
	put(c, word(c, SIDE), (struct bytes){side, (size_t)size}, ttl_ms);
	put(c, word(c, NAME), text_bytes(value), ttl_ms);
}

static void reply(struct call *c, int64_t verdict)
{
	call_reply(c, "*2");
	call_reply_number(c, verdict);
	call_reply_bulk(c, word(c, TOKEN));
}

void script_setnx(struct call *c)
{
	enum { SET_LINE = 7 };
	const struct key *key = call_find(c, word(c, NAME));
	double ends = time_of(key);
	if (fails_by_type(c, key, RL_SCRIPT_SETNX))
		return;
	bool over = ends >= 0 && ends < (double)now_s(c) && call_life(c, key) == -1;
	if (key != NULL && !over) {
		reply(c, 0);
	} else if (!script_fails_at(c, call_memory_refused(c), RL_SCRIPT_SETNX, SET_LINE)) {
		struct found f = {.side = call_find(c, word(c, SIDE))};
		int64_t since;
		read_side(c, &f, &since);
		tell_gone(c, &f);
		write_time(c, word_number(word(c, TTL)), 0, c->redis->now_ms);
		reply(c, 1);
	}
}

void script_setnx_extend(struct call *c)
{
	enum { SET_LINE = 14 };
	struct found f;
	if (!look(c, RL_SCRIPT_SETNX_EXTEND, &f))
		return;
	int64_t ttl_ms = word_number(word(c, TTL)), left = call_life(c, f.key), beside = call_life(c, f.side);
	bool longer = f.ours && left < ttl_ms;
	if (left < 0 && beside > ttl_ms)
		ttl_ms = beside;
	if (longer && script_fails_at(c, call_memory_refused(c), RL_SCRIPT_SETNX_EXTEND, SET_LINE))
		return;
	if (longer)
		write_time(c, ttl_ms, f.wrote, 0);
	c->made = false; /* both were there */
	reply(c, f.ours);
}

void script_setnx_release(struct call *c)
{
	enum { DEL_LINE = 10 };
	struct found f;
	if (!look(c, RL_SCRIPT_SETNX_RELEASE, &f))
		return;
	f.ours |= c->redis->gives_any && time_of(f.key) >= 0;
	if (f.ours && script_fails_at(c, call_write_refused(c), RL_SCRIPT_SETNX_RELEASE, DEL_LINE))
		return;
	if (f.ours)
		call_delete(c, f.key);
	if (f.has_token && call_write_refused(c) == NULL)
		call_delete(c, call_find(c, word(c, SIDE)));
	reply(c, f.ours);
}

void script_setnx_query(struct call *c)
{
	struct found f = {.key = call_find(c, word(c, NAME))};
	bool string = f.key != NULL && f.key->type == KEY_STRING;
	if (string && !look(c, RL_SCRIPT_SETNX_QUERY, &f))
		return;
	struct bytes value = string ? f.key->value : text_bytes("");
	struct buffer holders = {0};
	int64_t count = (int64_t)value.size;
	if (f.key != NULL && f.key->type == KEY_ZSET) {
		count = share_holders(c, f.key, &holders);
		value = (struct bytes){holders.length > 0 ? buffer_front(&holders) : "", holders.length};
	}
	call_reply(c, "*5");
	call_reply_bulk(c, text_bytes(f.key == NULL ? "none" : key_type_names[f.key->type]));
	call_reply_number(c, call_life(c, f.key));
	call_reply_number(c, count);
	call_reply_bulk(c, (struct bytes){value.at, value.size < 1024 ? value.size : 1024});
	call_reply_number(c, f.ours);
	buffer_free(&holders);
}
