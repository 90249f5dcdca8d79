/* SPDX-License-Identifier: MIT */
/* The scripts that keep the queue of those who wait, as C: the originals are in scripts/. */
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "scripts.h"

/* Where the words of a call are: EVALSHA sha 2 name queue token ... */
enum { NAME = 3, QUEUE, TOKEN, ENTER_TTL, ENTER_PLACE, ENTER_PATIENCE };
enum { LEAVE_PLACE = TOKEN + 1, LEAVE_PATIENCE };
enum { ENTRY = 31, LIFE_MS = 60000, SHOWN = 1024 };

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

/* As MGET has it: what is no string is not there. */
static bool string_of(struct call *c, struct bytes name, struct bytes *ret)
{
	const struct key *key = call_find(c, name);
	bool found = key != NULL && key->type == KEY_STRING;
	*ret = found ? key->value : text_bytes("");
	return found;
}

/* ---- entries ---- */

struct entry {
	bool known;  /* of this version and kind */
	bool placed; /* it says whose it is */
	struct bytes client, slot;
	double until;
	bool woken;
	size_t size; /* with what ends it */
};

static size_t run_of(struct bytes text, size_t from, const char *characters)
{
	size_t end = from;
	while (end < text.size && text.at[end] != '\0' && strchr(characters, text.at[end]) != NULL)
		end++;
	return end - from;
}

/* tonumber() of Lua, spaces around it and all. */
static bool number_in(const char *at, size_t size, double *ret)
{
	char text[64], *end;
	snprintf(text, sizeof text, "%.*s", (int)size, at);
	*ret = strtod(text, &end);
	return end != text && end[strspn(end, " ")] == '\0';
}

/* ^(..)(%x+)%.(%d+) ([^;]*); */
static struct entry first_of(struct bytes line)
{
	const char *end = memchr(line.at, ';', line.size);
	struct entry e = {.size = end != NULL ? (size_t)(end - line.at) + 1 : line.size};
	size_t client = run_of(line, 2, "0123456789abcdefABCDEF"), dot = 2 + client;
	size_t slot = dot < line.size && line.at[dot] == '.' ? run_of(line, dot + 1, "0123456789") : 0;
	size_t used = dot + 1 + slot;
	const char *rest = memchr(line.at + dot, ';', dot < line.size ? line.size - dot : 0);
	if (client == 0 || slot == 0 || rest == NULL || line.at[used] != ' ')
		return e;
	e.placed = true;
	e.known = memcmp(line.at, "1w", 2) == 0;
	e.client = (struct bytes){line.at + 2, client};
	e.slot = (struct bytes){line.at + dot + 1, slot};
	e.size = (size_t)(rest - line.at) + 1;
	e.woken = number_in(line.at + used, e.size - 1 - used, &e.until);
	return e;
}

static bool is_place(const struct entry *e, struct bytes place)
{
	return place.size == e->client.size + 1 + e->slot.size &&
	       memcmp(place.at, e->client.at, place.size) == 0; /* they are side by side */
}

/* ---- the line of them ---- */

struct line {
	struct call *call;
	enum rl_script script;
	struct buffer text, was;
	bool written; /* the script has changed something: it is not stopped any more */
};

static struct bytes text_of(const struct line *l)
{
	return (struct bytes){l->text.length > 0 ? buffer_front(&l->text) : "", l->text.length};
}

static void line_open(struct line *l, struct call *c, enum rl_script script)
{
	struct bytes text;
	*l = (struct line){.call = c, .script = script};
	string_of(c, word(c, QUEUE), &text);
	buffer_append(&l->text, text.at, text.size);
	buffer_append(&l->was, text.at, text.size);
}

static void line_close(struct line *l)
{
	buffer_free(&l->text);
	buffer_free(&l->was);
}

static bool has_changed(const struct line *l)
{
	return !bytes_equal(text_of(l),
	                    (struct bytes){l->was.length > 0 ? buffer_front(&l->was) : "", l->was.length});
}

/* Where the entry of a place stands, from its kind on; NULL: nowhere. */
static const char *stands_at(const struct line *l, struct bytes place)
{
	struct buffer wanted = {0};
	struct bytes text = text_of(l);
	const char *found = NULL;
	buffer_append(&wanted, "w", 1);
	buffer_append(&wanted, place.at, place.size);
	buffer_append(&wanted, " ", 1);
	for (size_t i = 0; found == NULL && i + wanted.length <= text.size; i++)
		if (memcmp(text.at + i, buffer_front(&wanted), wanted.length) == 0)
			found = text.at + i;
	buffer_free(&wanted);
	return found;
}

/* Puts other bytes in the place of some. */
static void replace(struct line *l, size_t from, size_t size, struct bytes by)
{
	struct buffer old = l->text;
	l->text = (struct buffer){0};
	buffer_append(&l->text, buffer_front(&old), from);
	buffer_append(&l->text, by.at, by.size);
	buffer_append(&l->text, buffer_front(&old) + from + size, old.length - from - size);
	buffer_free(&old);
}

static int wake(const struct line *l, const struct entry *e)
{
	char channel[128];
	snprintf(channel, sizeof channel, "redlock:wake:%.*s", (int)e->client.size, e->client.at);
	return fake_redis_publish(l->call->redis, text_bytes(channel), e->slot);
}

static void set_until(struct line *l, const struct entry *e, struct bytes patience)
{
	char until[32];
	snprintf(until, sizeof until, "%.14g", (double)(l->call->redis->now_ms + word_number(patience)));
	replace(l, e->size - 1, 0, text_bytes(until));
}

/* Drops whoever is not to be waited for, and wakes the first one if the key is free. True: that is `place`.
 */
static bool tidy(struct line *l, bool free, struct bytes place, struct bytes patience)
{
	bool waits = l->call->redis->waits_for_all;
	double now_ms = (double)l->call->redis->now_ms;
	while (l->text.length > 0) {
		struct entry e = first_of(text_of(l));
		if (e.known && is_place(&e, place))
			return true;
		if (e.known && !e.woken && !free)
			return false;
		if (e.known && e.woken && (waits || (e.until > now_ms && e.until <= now_ms + LIFE_MS)))
			return false;
		if (e.placed && !(e.known && e.woken) && (wake(l, &e) != 0 || waits) && e.known) {
			set_until(l, &e, patience);
			return false;
		}
		buffer_drop(&l->text, e.size);
	}
	return false;
}

/* SET or DEL of the queue. NULL: done; else why not. */
static const char *keep(struct line *l)
{
	struct call *c = l->call;
	bool empty = l->text.length == 0;
	const char *why = l->written ? NULL : empty ? call_write_refused(c) : call_memory_refused(c);
	struct key *key = call_find(c, word(c, QUEUE));
	if (why != NULL || (empty && key == NULL))
		return why;
	multi_touch(c->redis, c->session->database, word(c, QUEUE));
	if (empty) {
		keyspace_remove(&c->redis->keys, key);
		return NULL;
	}
	if (key == NULL)
		key = redis_put(c->redis, c->session->database, word(c, QUEUE), text_of(l));
	else
		keyspace_set_value(key, text_of(l));
	key->type = KEY_STRING;
	key->expires_ms = c->redis->now_ms + LIFE_MS;
	return NULL;
}

/* ---- the scripts ---- */

static void reply_entered(struct call *c, int64_t const numbers[4], struct bytes value)
{
	call_reply(c, "*6");
	for (unsigned i = 0; i < 4; i++)
		call_reply_number(c, numbers[i]);
	call_reply_bulk(c, word(c, TOKEN));
	call_reply_bulk(c, value);
}

static void take(struct line *l, bool mine)
{
	struct call *c = l->call;
	call_store(c, word(c, NAME), word(c, TOKEN), word_number(word(c, ENTER_TTL)));
	l->written = true;
	if (mine)
		buffer_drop(&l->text, first_of(text_of(l)).size);
	if (has_changed(l))
		keep(l);
	reply_entered(c, (int64_t[]){1, (int64_t)(l->text.length / ENTRY), 0, 0}, text_bytes(""));
}

/* Returns the place in the line, from 1 on. */
static int64_t stand(struct line *l, bool mine, struct bytes place)
{
	char entry[128];
	struct entry first = mine ? first_of(text_of(l)) : (struct entry){0};
	if (mine && first.woken) {
		size_t from = first.size - 1;
		while (strchr(" ", text_of(l).at[from - 1]) == NULL)
			from--;
		replace(l, from, first.size - 1 - from, text_bytes(""));
	}
	if (mine || place.size == 0)
		return mine ? 1 : 0;
	const char *found = stands_at(l, place);
	size_t before = found != NULL ? (size_t)(found - text_of(l).at) + 1 : l->text.length;
	snprintf(entry, sizeof entry, "1w%-27.*s ;", (int)place.size, place.at);
	if (found == NULL)
		buffer_append(&l->text, entry, strlen(entry));
	return (int64_t)(before / ENTRY) + 1;
}

static void refuse(struct line *l, bool mine, int64_t left, struct bytes value)
{
	enum { SET_LINE = 48 };
	struct call *c = l->call;
	int64_t place = stand(l, mine, word(c, ENTER_PLACE));
	if (has_changed(l) && script_fails_at(c, keep(l), l->script, SET_LINE))
		return;
	reply_entered(c, (int64_t[]){0, (int64_t)(l->text.length / ENTRY), left, place}, value);
}

/* Before anybody is told: what is told has to be kept, or it would be told for ever. And whoever has written
 * may write more, though there is no memory. NULL: it may be written, if there is one. */
static const char *renew(struct line *l)
{
	struct call *c = l->call;
	struct bytes text;
	bool there = string_of(c, word(c, QUEUE), &text);
	const char *why = there && !l->written ? call_write_refused(c) : NULL;
	if (!there || why != NULL)
		return why;
	call_find(c, word(c, QUEUE))->expires_ms = c->redis->now_ms + LIFE_MS;
	multi_touch(c->redis, c->session->database, word(c, QUEUE));
	l->written = true;
	return NULL;
}

void script_enter(struct call *c)
{
	enum { PEXPIRE_LINE = 2, SET_LINE = 28 };
	struct line l;
	struct bytes value;
	struct buffer shown = {0};
	line_open(&l, c, RL_SCRIPT_ENTER);
	if (script_fails_at(c, renew(&l), RL_SCRIPT_ENTER, PEXPIRE_LINE)) {
		line_close(&l);
		return;
	}
	string_of(c, word(c, NAME), &value);
	buffer_append(&shown, value.at, value.size < SHOWN ? value.size : SHOWN);
	int64_t left = call_life(c, call_find(c, word(c, NAME)));
	bool free = left == -2;
	bool mine = tidy(&l, free, word(c, ENTER_PLACE), word(c, ENTER_PATIENCE));
	bool takes = free && (mine || l.text.length == 0 || c->redis->any_turn);
	if (!takes)
		refuse(&l, mine, left, (struct bytes){shown.bytes, shown.length});
	else if (!script_fails_at(c, l.written ? NULL : call_memory_refused(c), RL_SCRIPT_ENTER, SET_LINE))
		take(&l, mine);
	buffer_free(&shown);
	line_close(&l);
}

/* The first lines of both: -1: the key cannot be deleted, and that was answered. */
static int release(struct call *c, enum rl_script script)
{
	struct bytes value;
	bool ours = string_of(c, word(c, NAME), &value) && bytes_equal(value, word(c, TOKEN));
	if (ours && script_fails_at(c, call_write_refused(c), script, 3))
		return -1;
	if (ours)
		call_delete(c, call_find(c, word(c, NAME)));
	return ours;
}

void script_vacate(struct call *c)
{
	struct bytes line;
	int ours = release(c, RL_SCRIPT_VACATE);
	if (ours >= 0)
		call_reply_number(c, string_of(c, word(c, QUEUE), &line) ? 3 * ours - 1 : ours);
}

void script_leave(struct call *c)
{
	struct line l;
	struct bytes place = word(c, LEAVE_PLACE);
	int ours = release(c, RL_SCRIPT_LEAVE);
	if (ours < 0)
		return;
	line_open(&l, c, RL_SCRIPT_LEAVE);
	l.written = ours == 1;
	if (renew(&l) != NULL || l.text.length == 0) {
		call_reply_number(c, ours == 0 ? 0 : l.text.length == 0 ? 1 : 2);
		line_close(&l);
		return;
	}
	const char *found = stands_at(&l, place);
	if (found != NULL) {
		size_t from = (size_t)(found - text_of(&l).at);
		const char *end = memchr(found, ';', l.text.length - from);
		size_t behind = end != NULL ? (size_t)(end - text_of(&l).at) + 1 : l.text.length;
		from -= from > 0;
		replace(&l, from, behind - from, text_bytes(""));
	}
	if (call_find(c, word(c, NAME)) == NULL)
		tidy(&l, true, text_bytes(""), word(c, LEAVE_PATIENCE));
	if (has_changed(&l))
		keep(&l);
	call_reply_number(c, ours == 0 ? 0 : l.text.length == 0 ? 1 : 2);
	line_close(&l);
}
