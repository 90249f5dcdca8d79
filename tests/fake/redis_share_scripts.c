/* SPDX-License-Identifier: MIT */
/* The scripts of shared locks as C: the originals are in scripts/. */
#include "redis_guard.h"
#include "redis_offers.h"
#include "redis_queue.h"
#include "redis_share.h"

enum { SHOWN = 1024 };

/* ---- the words of a call: EVALSHA sha 3 name queue offers token ..., or without the queue; guarded: with
 * the record behind the other keys, and the pass behind all ---- */

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

enum { NAME = 3 };

static unsigned keys_of(const struct call *c)
{
	return (unsigned)word_number(word(c, 2));
}

static bool queues(const struct call *c)
{
	return keys_of(c) >= 3;
}

/* Behind the keys, from the token on: 0. */
static struct bytes argument(const struct call *c, unsigned i)
{
	return word(c, NAME + keys_of(c) + i);
}

/* Which of the scripts it is; where a line of the unguarded one is in it, so many are in front. */
struct form {
	enum rl_script script;
	unsigned more;
	bool guarded;
};

/* False: it was answered that the node may not vote. */
static bool is_admitted(struct call *c)
{
	bool admitted = guard_admits(c, word(c, c->w.count - 1));
	if (!admitted)
		call_reply_words(c, (int64_t[]){-2, 0, 0, 0}, 4, argument(c, 0));
	return admitted;
}

/* Those of the queue's own functions, which read them where ENTER has them. */
static void as_enter(struct call *c)
{
	if (!queues(c)) {
		c->w.at[NAME + 1] = c->w.at[NAME + 2] = text_bytes("");
		c->w.count = NAME + 3;
	}
}

static struct bytes digits_of(struct bytes text)
{
	size_t size = 0;
	while (size < text.size && text.at[size] >= '0' && text.at[size] <= '9')
		size++;
	return (struct bytes){text.at, size};
}

static void reply(struct call *c, const struct form *f, int64_t verdict, int64_t number, int64_t now_ms,
                  struct bytes token)
{
	call_reply_words(c, (int64_t[]){verdict, number, 0, now_ms}, f->guarded ? 4 : 1, token);
}

/* ---- claim ---- */

struct claim {
	struct bytes token, place, patience;
	int64_t ttl_ms;
	bool queues;
	const struct form *form;
};

static void reply_claimed(struct line *l, const struct claim *s, const int64_t numbers[3], struct bytes value)
{
	enum { ENTRY = 31 };
	struct call *c = l->call;
	int64_t waiting = s->queues ? (int64_t)(l->text.length / ENTRY) : -1;
	if (numbers[0] == 1) {
		call_reply_words(c, (int64_t[]){1, waiting, 0, s->form->guarded ? c->redis->now_ms : 0}, 4, s->token);
		return;
	}
	call_reply(c, "*6");
	call_reply_number(c, numbers[0]);
	call_reply_number(c, waiting);
	call_reply_number(c, numbers[1]);
	call_reply_number(c, numbers[2]);
	call_reply_bulk(c, s->token);
	call_reply_bulk(c, value);
}

static void enter_set(struct call *c, const struct claim *s)
{
	struct key *key = call_find(c, word(c, NAME));
	if (key == NULL) {
		key = redis_put(c->redis, c->session->database, word(c, NAME), text_bytes(""));
		key->type = KEY_ZSET;
		key->owner = KEY_NOBODY;
	}
	share_put(c, key, s->token, c->redis->now_ms + s->ttl_ms);
	share_tell_stored(c, key, s->token);
}

/* Who was the first, and is in: the next one goes first, and those with it, unless they were woken. */
static void go_from_line(struct line *l, const struct claim *s, const char *found)
{
	size_t from = (size_t)(found - line_text(l).at) - 1;
	struct entry own = entry_first((struct bytes){line_text(l).at + from, l->text.length - from});
	bool first = from == 0, woken = own.woken && !own.doubted;
	line_replace(l, from, own.size, text_bytes(""));
	struct entry next = entry_first(line_text(l));
	if (!first || !next.reader || next.woken)
		return;
	if (!woken && line_wake(l, &next) < 0) {
		line_doubt(l, &next);
		return;
	}
	if (!woken)
		line_wake_readers(l);
	line_mark(l, &next, s->patience);
}

static void go_in(struct line *l, const struct claim *s, const char *found)
{
	enter_set(l->call, s);
	l->written = true;
	if (found != NULL)
		go_from_line(l, s, found);
	if (line_changed(l))
		line_keep(l);
	reply_claimed(l, s, (int64_t[]){1, 0, 0}, text_bytes(""));
}

static void claim(struct line *l, const struct claim *s)
{
	enum { ZADD_LINE = 52, SET_LINE = 90 };
	const struct form *f = s->form;
	struct call *c = l->call;
	const struct key *key = call_find(c, word(c, NAME));
	bool open = key == NULL || share_is_ours(c, key), string = key != NULL && key->type == KEY_STRING;
	bool mine = line_tidy(l, key == NULL, open, s->place, s->patience);
	const char *found = s->place.size > 0 ? line_find(l, "r", s->place) : NULL;
	const char *writer = l->text.length > 0 ? memchr(line_text(l).at, 'w', l->text.length) : NULL;
	bool ours = open && key != NULL && share_ends(key, s->token) >= c->redis->now_ms;
	bool turn = writer == NULL || (found != NULL && found < writer) || c->redis->any_turn;
	if (string && c->redis->shares_any) {
		reply_claimed(l, s, (int64_t[]){1, 0, 0}, text_bytes(""));
		return;
	}
	if (open && !ours && turn) {
		if (!script_fails_at(c, l->written ? NULL : call_memory_refused(c), f->script, ZADD_LINE + f->more))
			go_in(l, s, found);
		return;
	}
	struct bytes value = string ? key->value : text_bytes("");
	struct buffer shown = {0};
	buffer_append(&shown, value.at, value.size < SHOWN ? value.size : SHOWN);
	int64_t left = call_life(c, key), place = line_stand(l, mine, s->place);
	if (!line_changed(l) || !script_fails_at(c, line_keep(l), f->script, SET_LINE + f->more))
		reply_claimed(l, s, (int64_t[]){open && !ours ? -1 : 0, left, place},
		              (struct bytes){shown.length > 0 ? buffer_front(&shown) : "", shown.length});
	buffer_free(&shown);
}

static void share(struct call *c, const struct form *f)
{
	enum { PEXPIRE_LINE = 12 };
	struct line l;
	struct claim s = {.token = argument(c, 0), .queues = queues(c), .form = f};
	s.ttl_ms = word_number(argument(c, 1));
	s.place = s.queues ? argument(c, 2) : text_bytes("");
	s.patience = s.queues ? digits_of(argument(c, 3)) : text_bytes("");
	as_enter(c);
	line_open(&l, c, f->script);
	l.kind = 'r';
	if (!script_fails_at(c, l.text.length > 0 ? line_renew(&l) : NULL, f->script, PEXPIRE_LINE + f->more))
		claim(&l, &s);
	line_close(&l);
}

void script_share(struct call *c)
{
	share(c, &(struct form){.script = RL_SCRIPT_SHARE});
}

void script_guarded_share(struct call *c)
{
	if (is_admitted(c))
		share(c, &(struct form){RL_SCRIPT_GUARDED_SHARE, 2, true});
}

/* ---- what is asked of one that is held ---- */

/* What the token is here: MEMBER of the set, the STRING, nothing; or an error was answered. */
enum found { NOTHING, MEMBER, STRING, FAILED };

static enum found look(struct call *c, const struct key *key, struct bytes token, enum rl_script script,
                       unsigned get_line)
{
	if (key == NULL)
		return NOTHING;
	if (key->type == KEY_ZSET)
		return share_ends(key, token) >= 0 ? MEMBER : NOTHING;
	if (key->type != KEY_STRING && get_line != 0) {
		(void)script_fails_at(c, call_wrongtype, script, get_line);
		return FAILED;
	}
	return key->type == KEY_STRING && bytes_equal(key->value, token) ? STRING : NOTHING;
}

static void wake_line(struct line *l, struct bytes patience)
{
	const struct key *key = call_find(l->call, word(l->call, NAME));
	if (l->text.length > 0 && queue_is_open(key))
		line_tidy(l, key == NULL, true, text_bytes(""), patience);
}

static void turn(struct call *c, const struct form *f, struct key *key, struct bytes token, int64_t ends_ms,
                 struct bytes patience)
{
	struct line l;
	keyspace_set_value(key, text_bytes(""));
	key->type = KEY_ZSET;
	key->owner = KEY_NOBODY;
	share_put(c, key, token, ends_ms);
	as_enter(c);
	line_open(&l, c, f->script);
	l.written = true;
	if (l.text.length > 0 && line_renew(&l) == NULL) {
		wake_line(&l, patience);
		if (line_changed(&l))
			line_keep(&l);
	}
	line_close(&l);
}

static void extend(struct call *c, const struct form *f)
{
	enum { GET_LINE = 8, DEL_LINE = 14, CLEAN_LINE = 17 };
	struct bytes token = argument(c, 0), patience = queues(c) ? argument(c, 2) : text_bytes("");
	struct key *key = call_find(c, word(c, NAME));
	bool turns = argument(c, queues(c) ? 3 : 2).size > 0 || key == NULL || key->type == KEY_ZSET;
	enum found found = turns ? look(c, key, token, f->script, GET_LINE + f->more) : NOTHING;
	int64_t now_ms = c->redis->now_ms, ends_ms = now_ms + word_number(argument(c, 1)), was_ms = 0;
	if (found == FAILED)
		return;
	if (found == MEMBER)
		was_ms = share_ends(key, token);
	if (found == STRING)
		was_ms = key->expires_ms == KEY_FOREVER ? 0 : key->expires_ms;
	if (found == NOTHING || (found == MEMBER && was_ms < now_ms)) {
		reply(c, f, 0, 0, now_ms, token);
		return;
	}
	if (script_fails_at(c, call_write_refused(c), f->script,
	                    (found == STRING ? DEL_LINE : CLEAN_LINE) + f->more))
		return;
	ends_ms = was_ms > ends_ms ? was_ms : ends_ms;
	if (found == STRING)
		turn(c, f, key, token, ends_ms, patience);
	else
		share_put(c, key, token, ends_ms);
	reply(c, f, 1, 0, now_ms, token);
}

void script_share_extend(struct call *c)
{
	extend(c, &(struct form){.script = RL_SCRIPT_SHARE_EXTEND});
}

void script_guarded_share_extend(struct call *c)
{
	if (is_admitted(c))
		extend(c, &(struct form){RL_SCRIPT_GUARDED_SHARE_EXTEND, 2, true});
}

void script_share_release(struct call *c)
{
	struct line l;
	struct bytes token = argument(c, 0);
	struct bytes place = queues(c) ? argument(c, 1) : text_bytes(""),
	             patience = queues(c) ? argument(c, 2) : text_bytes("");
	enum { DEL_LINE = 9 };
	bool quiet = queues(c) && argument(c, 3).size > 0;
	struct key *key = call_find(c, word(c, NAME));
	enum found found = look(c, key, token, RL_SCRIPT_SHARE_RELEASE, 0);
	bool gone = found != NOTHING;
	if (found == STRING && script_fails_at(c, call_write_refused(c), RL_SCRIPT_SHARE_RELEASE, DEL_LINE))
		return;
	if (found == MEMBER && call_write_refused(c) != NULL) { /* behind a pcall, which knows no line */
		call_reply_text(c, "%s", call_write_refused(c));
		return;
	}
	if (found == MEMBER)
		share_drop(c, key, token);
	else if (found == STRING)
		call_delete(c, key);
	as_enter(c);
	line_open(&l, c, RL_SCRIPT_SHARE_RELEASE);
	l.written = gone;
	bool kept = l.text.length > 0 && line_renew(&l) == NULL, waits = l.text.length > 0;
	if (kept) {
		line_give_up(&l, place);
		if (!quiet)
			wake_line(&l, patience);
		if (line_changed(&l))
			line_keep(&l);
		waits = l.text.length > 0;
	}
	reply(c, &(struct form){0}, !waits ? gone : gone ? 2 : -1, 0, 0, token);
	line_close(&l);
}

/* The key becomes the string, for no less than the token had left. */
static void make_string(struct call *c, struct key *key, struct bytes token, int64_t ttl_ms, int64_t ends_ms)
{
	ttl_ms = ends_ms - c->redis->now_ms > ttl_ms ? ends_ms - c->redis->now_ms : ttl_ms;
	share_tell_ended(c->redis, key);
	keyspace_set_value(key, token);
	key->owner = c->session->owner;
	key->type = KEY_STRING;
	key->expires_ms = c->redis->now_ms + ttl_ms;
	multi_touch(c->redis, c->session->database, word(c, NAME));
}

static void upgrade(struct call *c, const struct form *f, bool fenced)
{
	enum { GET_LINE = 6, PEXPIRE_LINE = 15, SET_LINE = 18, FENCE = NAME + 1 };
	struct bytes token = argument(c, 0);
	int64_t ttl_ms = word_number(argument(c, 1)), number = 0;
	struct key *key = call_find(c, word(c, NAME));
	enum found found = look(c, key, token, f->script, GET_LINE + f->more);
	int64_t ends_ms = found == MEMBER ? share_ends(key, token) : -1, left_ms = call_life(c, key);
	bool set = key == NULL || key->type == KEY_ZSET, string = found == STRING;
	bool longer = string && left_ms >= 0 && left_ms < ttl_ms;
	if (found == FAILED)
		return;
	if (!string && (ends_ms < c->redis->now_ms || share_count(c, key) > 1)) {
		reply(c, f, !set || ends_ms >= c->redis->now_ms ? 0 : -1, 0, 0, token);
		return;
	}
	if (fenced && call_memory_refused(c) != NULL) {
		call_reply_text(c, "%s", call_memory_refused(c)); /* behind a pcall, which knows no line */
		return;
	}
	if (fenced)
		number = guard_draw_all(c, &c->w.at[FENCE], 1);
	if (longer && script_fails_at(c, call_write_refused(c), f->script, PEXPIRE_LINE + f->more))
		return;
	if (!string && script_fails_at(c, call_memory_refused(c), f->script, SET_LINE + f->more))
		return;
	key = call_find(c, word(c, NAME)); /* a counter that was made may have moved it */
	if (!string) {
		make_string(c, key, token, ttl_ms, ends_ms);
	} else if (longer) {
		key->expires_ms = c->redis->now_ms + ttl_ms;
		multi_touch(c->redis, c->session->database, word(c, NAME));
	}
	reply(c, f, 1, number, 0, token);
}

void script_upgrade(struct call *c)
{
	upgrade(c, &(struct form){.script = RL_SCRIPT_UPGRADE}, false);
}

void script_guarded_upgrade(struct call *c)
{
	if (is_admitted(c))
		upgrade(c, &(struct form){RL_SCRIPT_GUARDED_UPGRADE, 2, true}, false);
}

void script_upgrade_fenced(struct call *c)
{
	const struct form f = {RL_SCRIPT_UPGRADE_FENCED, 5, true};
	if (!is_admitted(c))
		return;
	if (guard_counts(c))
		upgrade(c, &f, true);
	else
		reply(c, &f, -3, 0, 0, argument(c, 0));
}

void script_share_query(struct call *c)
{
	struct bytes token = argument(c, 0);
	const struct key *key = call_find(c, word(c, NAME));
	bool string = key != NULL && key->type == KEY_STRING, set = key != NULL && key->type == KEY_ZSET;
	struct buffer shown = {0};
	int64_t size = 0;
	if (set) {
		size = share_holders(c, key, &shown);
	} else if (string) {
		size = (int64_t)key->value.size;
		buffer_append(&shown, key->value.at, key->value.size);
	}
	bool ours =
	    (string && bytes_equal(key->value, token)) || (set && share_ends(key, token) >= c->redis->now_ms);
	call_reply(c, "*5");
	call_reply_bulk(c, text_bytes(key == NULL ? "none" : key_type_names[key->type]));
	call_reply_number(c, call_life(c, key));
	call_reply_number(c, size);
	call_reply_bulk(c, (struct bytes){shown.length > 0 ? buffer_front(&shown) : "",
	                                  shown.length < SHOWN ? shown.length : SHOWN});
	call_reply_number(c, ours);
	buffer_free(&shown);
}
