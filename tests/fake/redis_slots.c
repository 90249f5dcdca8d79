/* SPDX-License-Identifier: MIT */
/* The scripts of slots as C: the originals are in scripts/. */
#include <stdio.h>
#include <stdlib.h>

#include "redis_queue.h"

/* Where the words of a call are: EVALSHA sha keys name ... token; how many keys are no slots but the first,
 * by script; and what is behind the token. */
enum { KEYS = 2, NAME, QUEUE };
enum { CLAIM_BASE = 2, ENTER_BASE = 4, RELEASE_BASE = 3 };
enum { TTL = 1, MOST, FIRST, PLACE, PATIENCE };
enum { RELEASE_PLACE = 1, RELEASE_PATIENCE, RELEASE_QUIET, RELEASE_KEPT };
enum { ENTRY = 31, LIFE_MS = 60000, SHOWN = 1024, SLOTS_MOST = 64 };
#define DAY_MS INT64_C(86400000)

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

static unsigned key_count(const struct call *c)
{
	return (unsigned)word_number(word(c, KEYS));
}

/* So many words behind the token. */
static struct bytes behind_token(const struct call *c, unsigned i)
{
	return word(c, NAME + key_count(c) + i);
}

static struct bytes slot_key(const struct call *c, unsigned base, unsigned slot)
{
	return word(c, slot == 0 ? NAME : NAME + base + slot - 1);
}

/* As MGET has it: what is no string is not there. */
static bool string_of(struct call *c, struct bytes name, struct bytes *ret)
{
	const struct key *key = call_find(c, name);
	bool found = key != NULL && key->type == KEY_STRING;
	*ret = found ? key->value : text_bytes("");
	return found;
}

static bool has_token(struct call *c, struct bytes name)
{
	struct bytes value;
	return string_of(c, name, &value) && bytes_equal(value, behind_token(c, 0));
}

/* ---- how many there are ---- */

static bool exists_beyond(struct call *c, struct bytes count_key, unsigned slot)
{
	struct buffer key = {0};
	char number[16];
	int digits = snprintf(number, sizeof number, ":%u", slot);
	buffer_append(&key, count_key.at, count_key.size - 1);
	buffer_append(&key, number, (size_t)digits);
	bool there = call_find(c, (struct bytes){buffer_front(&key), key.length}) != NULL;
	buffer_free(&key);
	return there;
}

/* Another number, and one of the slots is taken: one of ours, or one that only the other number has. */
static bool has_other_count(struct call *c, unsigned base, unsigned slots)
{
	struct bytes count_key = word(c, NAME + base - 1), count, value;
	if (!string_of(c, count_key, &count) || bytes_equal(count, behind_token(c, MOST)))
		return false;
	bool taken = false;
	for (unsigned i = 0; i < slots; i++)
		taken |= string_of(c, slot_key(c, base, i), &value);
	int64_t most = word_number(count);
	for (unsigned i = slots; (int64_t)i < most && i < SLOTS_MOST; i++)
		taken |= exists_beyond(c, word(c, NAME + base - 1), i);
	return taken;
}

/* SET of the count, behind another write. */
static void note_count(struct call *c, unsigned base)
{
	struct bytes name = word(c, NAME + base - 1), count;
	if (string_of(c, name, &count) && bytes_equal(count, behind_token(c, MOST)))
		return;
	struct key *key = call_find(c, name);
	if (key == NULL)
		key = redis_put(c->redis, c->session->database, name, behind_token(c, MOST));
	else
		keyspace_set_value(key, behind_token(c, MOST));
	key->type = KEY_STRING;
	key->expires_ms = c->redis->now_ms + DAY_MS;
	multi_touch(c->redis, c->session->database, name);
}

/* ---- claims ---- */

static void reply(struct call *c, int64_t const numbers[4], unsigned items, struct bytes value)
{
	call_reply(c, items == 6 ? "*6" : "*5");
	for (unsigned i = 0; i < 4; i++)
		call_reply_number(c, numbers[i]);
	call_reply_bulk(c, behind_token(c, 0));
	if (items == 6)
		call_reply_bulk(c, value);
}

static void reply_claimed(struct call *c, int64_t verdict, unsigned slot)
{
	int64_t numbers[] = {verdict, 0, slot, 0};
	if (verdict == 1)
		call_reply_words(c, numbers, 4, behind_token(c, 0));
	else
		reply(c, numbers, 5, text_bytes(""));
}

/* With the number that is noted the first one is tried without a look at the others. True: that was all. */
static bool claim_first(struct call *c, unsigned first)
{
	enum { SET_LINE = 4 };
	struct bytes count, key = slot_key(c, CLAIM_BASE, first);
	if (!string_of(c, word(c, NAME + CLAIM_BASE - 1), &count) || !bytes_equal(count, behind_token(c, MOST)))
		return false;
	if (script_fails_at(c, call_memory_refused(c), RL_SCRIPT_SLOT, SET_LINE))
		return true;
	if (call_find(c, key) != NULL)
		return false;
	call_store(c, key, behind_token(c, 0), word_number(behind_token(c, TTL)));
	reply_claimed(c, 1, c->redis->counts_slots ? 0 : first);
	return true;
}

void script_slot(struct call *c)
{
	enum { SET_LINE = 18 };
	unsigned slots = (unsigned)word_number(behind_token(c, MOST));
	unsigned first = (unsigned)word_number(behind_token(c, FIRST));
	if (claim_first(c, first))
		return;
	if (has_other_count(c, CLAIM_BASE, slots)) {
		reply_claimed(c, -3, 0);
		return;
	}
	for (unsigned i = first; i < first + slots; i++) {
		struct bytes key = slot_key(c, CLAIM_BASE, i % slots), value;
		if (string_of(c, key, &value))
			continue;
		if (script_fails_at(c, call_memory_refused(c), RL_SCRIPT_SLOT, SET_LINE))
			return;
		if (call_find(c, key) != NULL)
			continue;
		call_store(c, key, behind_token(c, 0), word_number(behind_token(c, TTL)));
		note_count(c, CLAIM_BASE);
		reply_claimed(c, 1, c->redis->counts_slots ? 0 : i % slots);
		return;
	}
	reply_claimed(c, 0, 0);
}

/* ---- the line: those who wait for a slot, and those who wait for the name ---- */

static size_t run_of(struct bytes text, size_t from, bool hex)
{
	const char *characters = hex ? "0123456789abcdefABCDEF" : "0123456789";
	size_t end = from;
	while (end < text.size && text.at[end] != '\0' && strchr(characters, text.at[end]) != NULL)
		end++;
	return end - from;
}

/* 1w%x+%.0%d+ */
static bool is_for_slot(struct bytes text, size_t at)
{
	if (at + 2 > text.size || memcmp(text.at + at, "1w", 2) != 0)
		return false;
	size_t client = run_of(text, at + 2, true), dot = at + 2 + client;
	if (client == 0 || dot + 1 >= text.size || text.at[dot] != '.' || text.at[dot + 1] != '0')
		return false;
	size_t digits = run_of(text, dot + 2, false), end = dot + 2 + digits;
	return digits > 0 && end < text.size && text.at[end] == ' ';
}

/* Puts those in front of the first who waits for a slot beside, unless the name alone is free. */
static void put_beside(struct line *l, bool whole, struct buffer *beside)
{
	struct bytes text = line_text(l);
	size_t from = 0;
	while (!whole && from < text.size && !is_for_slot(text, from))
		from++;
	*beside = (struct buffer){0};
	buffer_append(beside, text.at, from);
	buffer_drop(&l->text, from);
}

static void put_back(struct line *l, struct buffer *beside)
{
	line_replace(l, 0, 0, (struct bytes){beside->length > 0 ? buffer_front(beside) : "", beside->length});
	buffer_free(beside);
}

static void drop_entry(struct line *l, const char *at)
{
	struct bytes text = line_text(l);
	size_t from = (size_t)(at - text.at);
	const char *end = memchr(at, ';', text.size - from);
	size_t behind = end != NULL ? (size_t)(end - text.at) + 1 : text.size;
	from -= from > 0;
	line_replace(l, from, behind - from, text_bytes(""));
}

/* Takes its mark away: it was woken, and has come. */
static void clear_mark(struct line *l, const char *found)
{
	struct bytes text = line_text(l);
	const char *end = memchr(found, ';', text.size - (size_t)(found - text.at));
	const char *digits = end;
	while (end != NULL && digits > found && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (end != NULL && digits < end && digits > found && digits[-1] == ' ')
		line_replace(l, (size_t)(digits - text.at), (size_t)(end - digits), text_bytes(""));
}

/* Returns the place, from 1 on; 0: none was asked for. */
static int64_t stand(struct line *l, struct bytes place)
{
	char entry[128];
	if (place.size == 0)
		return 0;
	const char *found = line_find(l, "w", place);
	size_t before = found != NULL ? (size_t)(found - line_text(l).at) + 1 : l->text.length;
	if (found != NULL) {
		clear_mark(l, found);
	} else {
		snprintf(entry, sizeof entry, "1w%-27.*s ;", (int)place.size, place.at);
		buffer_append(&l->text, entry, strlen(entry));
	}
	return (int64_t)(before / ENTRY) + 1;
}

/* ---- those who wait ---- */

/* What is free, from the first to try on; else what ends first. */
struct room {
	unsigned open[SLOTS_MOST];
	unsigned count;
	int64_t left;
	struct buffer holder;
};

static void look(struct call *c, struct room *r)
{
	unsigned slots = (unsigned)word_number(behind_token(c, MOST));
	unsigned first = (unsigned)word_number(behind_token(c, FIRST));
	*r = (struct room){.left = -1};
	for (unsigned i = first; i < first + slots; i++) {
		struct bytes key = slot_key(c, ENTER_BASE, i % slots), value;
		int64_t life = call_life(c, call_find(c, key));
		if (life == -2) {
			r->open[r->count++] = i % slots;
		} else if (life >= 0 && (r->left < 0 || life < r->left)) {
			r->left = life;
			string_of(c, key, &value);
			buffer_free(&r->holder);
			r->holder = (struct buffer){0};
			buffer_append(&r->holder, value.at, value.size < SHOWN ? value.size : SHOWN);
		}
	}
}

/* The next one is woken, if there is another slot for it. */
static void wake_next(struct line *l, const struct room *r, unsigned slot)
{
	struct buffer beside;
	if (r->count < 2)
		return;
	bool whole = r->count == 2 && r->open[0] + r->open[1] == slot;
	put_beside(l, whole, &beside);
	line_tidy(l, true, true, text_bytes(""), behind_token(l->call, PATIENCE));
	put_back(l, &beside);
}

static void take(struct line *l, const struct room *r, unsigned slot, bool mine, struct buffer *beside)
{
	struct call *c = l->call;
	call_store(c, slot_key(c, ENTER_BASE, slot), behind_token(c, 0), word_number(behind_token(c, TTL)));
	note_count(c, ENTER_BASE);
	l->written = true;
	if (mine)
		drop_entry(l, line_text(l).at);
	put_back(l, beside);
	wake_next(l, r, slot);
	if (line_changed(l))
		line_keep(l);
	reply(c, (int64_t[]){1, (int64_t)(l->text.length / ENTRY), slot, 0}, 6, text_bytes(""));
}

static void refuse(struct line *l, const struct room *r, struct buffer *beside)
{
	enum { SET_LINE = 128 };
	struct call *c = l->call;
	int64_t place = stand(l, behind_token(c, PLACE));
	put_back(l, beside);
	if (line_changed(l) && script_fails_at(c, line_keep(l), l->script, SET_LINE))
		return;
	reply(c, (int64_t[]){0, (int64_t)(l->text.length / ENTRY), r->left, place}, 6,
	      (struct bytes){r->holder.length > 0 ? buffer_front(&r->holder) : "", r->holder.length});
}

static void enter(struct line *l, const struct room *r)
{
	enum { SET_LINE = 63 };
	struct call *c = l->call;
	struct buffer beside;
	bool free = r->count > 0;
	put_beside(l, r->count == 1 && r->open[0] == 0, &beside);
	bool mine = line_tidy(l, free, free, behind_token(c, PLACE), behind_token(c, PATIENCE));
	unsigned slot = beside.length > 0 && free && r->open[0] == 0 ? r->open[1] : r->open[0];
	if (!free || !(mine || l->text.length == 0 || c->redis->any_turn))
		refuse(l, r, &beside);
	else if (!script_fails_at(c, l->written ? NULL : call_memory_refused(c), l->script, SET_LINE))
		take(l, r, slot, mine, &beside);
	else
		buffer_free(&beside);
}

void script_slot_enter(struct call *c)
{
	enum { PEXPIRE_LINE = 11 };
	struct line l;
	struct room r;
	if (has_other_count(c, ENTER_BASE, (unsigned)word_number(behind_token(c, MOST)))) {
		reply_claimed(c, -3, 0);
		return;
	}
	line_open(&l, c, RL_SCRIPT_SLOT_ENTER);
	if (!script_fails_at(c, line_renew(&l), RL_SCRIPT_SLOT_ENTER, PEXPIRE_LINE)) {
		look(c, &r);
		enter(&l, &r);
		buffer_free(&r.holder);
	}
	line_close(&l);
}

/* ---- release ---- */

/* That one is as if somebody else had it. */
static bool is_kept(const struct call *c, unsigned slot)
{
	struct bytes kept = behind_token(c, RELEASE_KEPT);
	return kept.size > 0 && word_number(kept) == (int64_t)slot;
}

/* Deletes what has the token, if it may; says what is free then. -1: it may not, and that was answered. */
static int delete_ours(struct call *c, bool *ret_named, bool *ret_other)
{
	enum { DEL_LINE = 6 };
	unsigned slots = key_count(c) - RELEASE_BASE + 1, count = 0;
	struct bytes value;
	for (unsigned i = 0; i < slots; i++) {
		bool ours = !is_kept(c, i) && has_token(c, slot_key(c, RELEASE_BASE, i));
		*ret_other |=
		    i > 0 && (ours || (!is_kept(c, i) && !string_of(c, slot_key(c, RELEASE_BASE, i), &value)));
		*ret_named |= i == 0 && ours;
		count += ours;
	}
	if (count > 0 && script_fails_at(c, call_write_refused(c), RL_SCRIPT_SLOT_RELEASE, DEL_LINE))
		return -1;
	for (unsigned i = 0; i < slots; i++)
		if (!is_kept(c, i) && has_token(c, slot_key(c, RELEASE_BASE, i)))
			call_delete(c, call_find(c, slot_key(c, RELEASE_BASE, i)));
	return (int)count;
}

static void wake(struct line *l, bool named, bool other)
{
	struct call *c = l->call;
	struct buffer beside;
	bool free = named || (!is_kept(c, 0) && call_find(c, word(c, NAME)) == NULL);
	if (l->text.length == 0 || behind_token(c, RELEASE_QUIET).size > 0 || !(free || other))
		return;
	put_beside(l, named || !other, &beside);
	line_tidy(l, true, true, text_bytes(""), behind_token(c, RELEASE_PATIENCE));
	put_back(l, &beside);
}

void script_slot_release(struct call *c)
{
	struct line l;
	bool named = false, other = false;
	int count = delete_ours(c, &named, &other);
	if (count < 0)
		return;
	line_open(&l, c, RL_SCRIPT_SLOT_RELEASE);
	l.written = count > 0;
	if (l.text.length == 0 || line_renew(&l) != NULL) {
		call_reply_number(c, count == 0 ? 0 : l.text.length == 0 ? 1 : 2);
		line_close(&l);
		return;
	}
	const char *found = line_find(&l, "w", behind_token(c, RELEASE_PLACE));
	if (found != NULL)
		drop_entry(&l, found);
	wake(&l, named, other);
	if (line_changed(&l))
		line_keep(&l);
	bool waits = l.text.length > 0;
	call_reply_number(c, count == 0 ? -(int)waits : 1 + waits);
	line_close(&l);
}
