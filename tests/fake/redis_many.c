/* SPDX-License-Identifier: MIT */
/* The scripts for several names as C: the originals are in scripts/. */
#include "redis_guard.h"
#include "redis_offers.h"
#include "redis_queue.h"

enum { KEYS = 2, FIRST };

/* What a script is called with. */
struct several {
	const struct bytes *names;
	unsigned count;
	const struct bytes *fences; /* of them; NULL: no number is drawn */
	struct bytes token, second; /* and what is behind it */
	int64_t now_ms;             /* 0: it is not told */
};

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

static struct several read(struct call *c, bool guarded)
{
	unsigned keys = (unsigned)word_number(word(c, KEYS));
	bool timed = guarded && word(c, FIRST + keys + 3).size > 0;
	return (struct several){.names = &c->w.at[FIRST],
	                        .count = keys - guarded,
	                        .token = word(c, FIRST + keys),
	                        .second = word(c, FIRST + keys + 1),
	                        .now_ms = timed ? c->redis->now_ms : 0};
}

/* `about`: which name, or the number that was drawn. */
static void reply(struct call *c, const struct several *s, int64_t verdict, int64_t about, int64_t left)
{
	call_reply(c, "*5");
	call_reply_number(c, verdict);
	call_reply_number(c, about);
	call_reply_number(c, left);
	call_reply_number(c, s->now_ms);
	call_reply_bulk(c, s->token);
}

static bool has_token(const struct key *key, const struct several *s)
{
	return key != NULL && key->type == KEY_STRING && bytes_equal(key->value, s->token);
}

static bool is_admitted(struct call *c, struct several *s)
{
	bool admitted = guard_admits(c, word(c, FIRST + s->count + 3));
	s->now_ms = admitted ? s->now_ms : 0;
	if (!admitted)
		reply(c, s, -1, 0, 0);
	return admitted;
}

/* ---- claim ---- */

static void claim(struct call *c, const struct several *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct key *key = call_find(c, s->names[i]);
		if (key == NULL || c->redis->takes_some)
			continue;
		reply(c, s, 0, i + 1, call_life(c, key));
		return;
	}
	const char *refused = call_memory_refused(c);
	if (refused != NULL) { /* behind a pcall, which knows no line */
		call_reply_text(c, "%s", refused);
		return;
	}
	for (unsigned i = 0; i < s->count; i++)
		if (call_find(c, s->names[i]) == NULL)
			call_store(c, s->names[i], s->token, word_number(s->second));
	reply(c, s, 1, s->fences != NULL ? guard_draw_all(c, s->fences, s->count) : 0, 0);
}

void script_claim_all(struct call *c)
{
	struct several s = read(c, false);
	claim(c, &s);
}

void script_guarded_claim_all(struct call *c)
{
	struct several s = read(c, true);
	if (is_admitted(c, &s))
		claim(c, &s);
}

/* Behind the names are the keys of their counters. */
void script_claim_all_fenced(struct call *c)
{
	struct several s = read(c, true);
	if (!is_admitted(c, &s))
		return;
	s.count /= 2;
	s.fences = s.names + s.count;
	if (guard_counts(c))
		claim(c, &s);
	else
		reply(c, &s, -2, 0, 0);
}

/* ---- extend ---- */

static void extend(struct call *c, const struct several *s, enum rl_script script, unsigned line)
{
	int64_t wanted = word_number(s->second);
	for (unsigned i = 0; i < s->count; i++) {
		const struct key *key = call_find(c, s->names[i]);
		bool other = key != NULL && key->type != KEY_STRING;
		if (script_fails_at(c, other ? call_wrongtype : NULL, script, line))
			return;
		if (!has_token(key, s)) {
			reply(c, s, 0, i + 1, 0);
			return;
		}
	}
	for (unsigned i = 0; i < s->count; i++) {
		struct key *key = call_find(c, s->names[i]);
		int64_t left = call_life(c, key);
		if (left < 0 || left >= wanted)
			continue;
		if (call_write_refused(c) != NULL) {
			call_reply_text(c, "%s", call_write_refused(c));
			return;
		}
		key->expires_ms += wanted - left;
		multi_touch(c->redis, c->session->database, s->names[i]);
	}
	reply(c, s, 1, 0, 0);
}

void script_extend_all(struct call *c)
{
	enum { GET_LINE = 3 };
	struct several s = read(c, false);
	extend(c, &s, RL_SCRIPT_EXTEND_ALL, GET_LINE);
}

void script_guarded_extend_all(struct call *c)
{
	enum { GET_LINE = 7 };
	struct several s = read(c, true);
	if (is_admitted(c, &s))
		extend(c, &s, RL_SCRIPT_GUARDED_EXTEND_ALL, GET_LINE);
}

/* ---- release ---- */

/* True: each of them was there. */
static bool delete_ours(struct call *c, const struct several *s, unsigned names)
{
	unsigned gone = 0;
	for (unsigned i = 0; i < names; i++) {
		struct key *key = call_find(c, s->names[i]);
		if (has_token(key, s))
			call_delete(c, key);
		else
			gone++;
	}
	return gone == 0;
}

static bool has_any(struct call *c, const struct several *s, unsigned names)
{
	for (unsigned i = 0; i < names; i++)
		if (has_token(call_find(c, s->names[i]), s))
			return true;
	return false;
}

/* What waits for one of them, which is the first word of a call as other scripts have it, and its queue the
 * second. True: somebody does. */
static bool wake(struct call *c, bool written, struct bytes place, struct bytes patience, bool quiet)
{
	struct line l;
	line_open(&l, c, RL_SCRIPT_RELEASE_ALL);
	l.written = written;
	bool waits = l.text.length > 0;
	if (waits && line_renew(&l) == NULL) {
		const struct key *key = call_find(c, c->w.at[FIRST]);
		line_give_up(&l, place);
		if (!quiet && queue_is_open(key))
			line_tidy(&l, key == NULL, true, text_bytes(""), patience);
		if (line_changed(&l))
			line_keep(&l);
		waits = l.text.length > 0;
	}
	line_close(&l);
	return waits;
}

void script_release_all(struct call *c)
{
	enum { PLACE = 2, PATIENCE, QUIET };
	struct several s = read(c, false);
	const struct words words = c->w;
	unsigned names = s.count / (unsigned)word_number(s.second), behind = FIRST + s.count;
	bool any = has_any(c, &s, names), waits = false;
	const char *refused = any ? call_write_refused(c) : NULL;
	bool all = refused == NULL && delete_ours(c, &s, names);
	for (unsigned i = names; i < s.count; i++) {
		c->w.at[FIRST] = words.at[FIRST + i - names];
		c->w.at[FIRST + 1] = words.at[FIRST + i];
		bool written = refused == NULL && any;
		waits |= wake(c, written, words.at[behind + PLACE], words.at[behind + PATIENCE],
		              words.at[behind + QUIET].size > 0);
		c->w = words;
	}
	if (refused != NULL) {
		call_reply_text(c, "%s", refused);
		return;
	}
	call_reply(c, "*2");
	call_reply_number(c, all ? 1 + waits : -(int64_t)waits);
	call_reply_bulk(c, s.token);
}

/* ---- who waits for one of them ---- */

struct waiter {
	struct several s;
	struct bytes line, place, patience, holder;
	enum rl_script script;
	unsigned own, way; /* by number: the one that it waits for, and the first one that is there; 0: none is */
	int64_t left;      /* of the life of the one that it waits for */
};

static void reply_waiter(struct call *c, const struct waiter *w, const int64_t numbers[4],
                         struct bytes holder)
{
	call_reply(c, "*6");
	for (unsigned i = 0; i < 4; i++)
		call_reply_number(c, numbers[i]);
	call_reply_bulk(c, w->s.token);
	call_reply_bulk(c, holder);
}

static void look(struct call *c, struct waiter *w)
{
	enum { SHOWN = 1024 };
	const struct key *key = call_find(c, w->line);
	bool shown = key != NULL && key->type == KEY_STRING;
	w->left = c->redis->takes_some ? -2 : call_life(c, key);
	w->holder = shown ? key->value : text_bytes("");
	w->holder.size = w->holder.size < SHOWN ? w->holder.size : SHOWN;
	for (unsigned i = w->s.count; i > 0; i--) {
		if (bytes_equal(w->s.names[i - 1], w->line))
			w->own = i;
		if (call_find(c, w->s.names[i - 1]) != NULL && !c->redis->takes_some)
			w->way = i;
	}
}

static int64_t waiting(const struct line *l)
{
	enum { ENTRY = 31 };
	return (int64_t)(l->text.length / ENTRY);
}

static void drop_first(struct line *l)
{
	line_replace(l, 0, entry_first(line_text(l)).size, text_bytes(""));
}

static void take(struct line *l, const struct waiter *w, bool mine)
{
	struct call *c = l->call;
	const char *refused = l->written ? NULL : call_memory_refused(c);
	if (refused != NULL) { /* behind a pcall, which knows no line */
		call_reply_text(c, "%s", refused);
		return;
	}
	for (unsigned i = 0; i < w->s.count; i++)
		if (call_find(c, w->s.names[i]) == NULL)
			call_store(c, w->s.names[i], w->s.token, word_number(w->s.second));
	l->written = true;
	int64_t number = w->s.fences != NULL ? guard_draw_all(c, w->s.fences, w->s.count) : 0;
	if (mine) {
		offers_drop(c, c->w.at[FIRST + 2], w->place);
		drop_first(l);
	}
	if (line_changed(l))
		line_keep(l);
	reply_waiter(c, w, (int64_t[]){1, waiting(l), number, w->s.now_ms}, text_bytes(""));
}

/* Whose turn it is while another name is in the way lets the next one have it. */
static void refuse(struct line *l, const struct waiter *w, bool mine, bool turn)
{
	unsigned line = w->script == RL_SCRIPT_ENTER_ALL ? 120 : 143; /* of the SET */
	struct call *c = l->call;
	int64_t place = 0;
	if (turn && mine) {
		drop_first(l);
		line_tidy(l, true, true, text_bytes(""), w->patience);
	}
	if (!turn)
		place = line_stand(l, mine, w->place);
	if (line_changed(l) && script_fails_at(c, line_keep(l), l->script, line))
		return;
	int64_t verdict = -1 - (int64_t)(turn ? w->way : w->own);
	reply_waiter(c, w, (int64_t[]){verdict, waiting(l), w->left, place}, w->holder);
}

static void line_up(struct call *c, struct waiter *w, unsigned pexpire_line)
{
	struct line l;
	line_open(&l, c, w->script);
	look(c, w);
	bool free = w->left == -2;
	if (!script_fails_at(c, line_renew(&l), w->script, pexpire_line)) {
		bool open = free || queue_is_open(call_find(c, w->line));
		bool mine = line_tidy(&l, free, open, w->place, w->patience);
		bool turn = free && (mine || l.text.length == 0 || c->redis->any_turn);
		if (turn && w->way == 0)
			take(&l, w, mine);
		else
			refuse(&l, w, mine, turn);
	}
	line_close(&l);
}

/* In a guarded set the keys of the counters are behind the names. */
static struct waiter read_waiter(struct call *c, bool guarded)
{
	enum { OF_LINE = 3, FENCED = 2 };
	struct several s = read(c, guarded);
	unsigned behind = FIRST + s.count + guarded + 2 + 2 * guarded;
	struct waiter w = {.s = s, .line = word(c, FIRST), .place = word(c, behind)};
	w.patience = word(c, behind + 1);
	w.script = guarded ? RL_SCRIPT_GUARDED_ENTER_ALL : RL_SCRIPT_ENTER_ALL;
	w.s.names += OF_LINE;
	w.s.count = (w.s.count - OF_LINE) / (1 + guarded);
	if (guarded && word(c, behind + FENCED).size > 0)
		w.s.fences = w.s.names + w.s.count;
	return w;
}

void script_enter_all(struct call *c)
{
	struct waiter w = read_waiter(c, false);
	line_up(c, &w, 7);
}

void script_guarded_enter_all(struct call *c)
{
	struct several s = read(c, true);
	struct waiter w = read_waiter(c, true);
	if (!is_admitted(c, &s))
		return;
	if (w.s.fences == NULL || guard_counts(c))
		line_up(c, &w, 30);
	else
		reply(c, &s, 2, 0, 0);
}
