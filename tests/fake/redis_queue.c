/* SPDX-License-Identifier: MIT */
/* The scripts that keep the queue of those who wait, as C: the originals are in scripts/. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_entry.h"
#include "redis_guard.h"
#include "redis_offers.h"
#include "redis_queue.h"
#include "scripts.h"

/* Where the words of a call are: EVALSHA sha 3 name queue offers token ... */
enum { NAME = 3, QUEUE, OFFERS, TOKEN, ENTER_TTL, ENTER_PLACE, ENTER_TERMS };
enum { LEAVE_PLACE = TOKEN + 1, LEAVE_PATIENCE, LEAVE_BARS };
enum { HAND_NEXT = TOKEN + 1 };
enum { GUARD_FENCE = ENTER_TERMS + 2, GUARD_PASS, GUARD_FENCED, GUARD_TIMED };
enum { VACATE_TOKEN = QUEUE + 1 }; /* it has two keys */
enum { ENTRY = 31, LIFE_MS = 60000, DOUBT_MS = 5000, SHOWN = 1024 };

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

/* ---- the line of them ---- */

static bool is_place(const struct entry *e, struct bytes place)
{
	return place.size == e->client.size + 1 + e->slot.size &&
	       memcmp(place.at, e->client.at, place.size) == 0; /* they are side by side */
}

struct bytes line_text(const struct line *l)
{
	return (struct bytes){l->text.length > 0 ? buffer_front(&l->text) : "", l->text.length};
}

void line_open(struct line *l, struct call *c, enum rl_script script)
{
	struct bytes text;
	*l = (struct line){.call = c, .script = script, .kind = 'w'};
	string_of(c, word(c, QUEUE), &text);
	buffer_append(&l->text, text.at, text.size);
	buffer_append(&l->was, text.at, text.size);
}

void line_close(struct line *l)
{
	buffer_free(&l->text);
	buffer_free(&l->was);
}

bool line_changed(const struct line *l)
{
	return !bytes_equal(line_text(l),
	                    (struct bytes){l->was.length > 0 ? buffer_front(&l->was) : "", l->was.length});
}

const char *line_find(const struct line *l, const char *kinds, struct bytes place)
{
	struct buffer wanted = {0};
	struct bytes text = line_text(l);
	const char *found = NULL;
	buffer_append(&wanted, place.at, place.size);
	buffer_append(&wanted, " ", 1);
	for (size_t i = 1; found == NULL && i + wanted.length <= text.size; i++)
		if (strchr(kinds, text.at[i - 1]) != NULL && text.at[i - 1] != '\0' &&
		    memcmp(text.at + i, buffer_front(&wanted), wanted.length) == 0)
			found = text.at + i - 1;
	buffer_free(&wanted);
	return found;
}

void line_replace(struct line *l, size_t from, size_t size, struct bytes by)
{
	struct buffer old = l->text;
	l->text = (struct buffer){0};
	buffer_append(&l->text, buffer_front(&old), from);
	buffer_append(&l->text, by.at, by.size);
	buffer_append(&l->text, buffer_front(&old) + from + size, old.length - from - size);
	buffer_free(&old);
}

static int say(const struct line *l, const struct entry *e, struct bytes message)
{
	char channel[128];
	snprintf(channel, sizeof channel, "redlock:wake:%.*s", (int)e->client.size, e->client.at);
	return fake_redis_publish(l->call->redis, text_bytes(channel), message);
}

int line_wake(const struct line *l, const struct entry *e)
{
	return say(l, e, e->slot);
}

void line_wake_readers(const struct line *l)
{
	struct bytes rest = line_text(l);
	struct entry e = entry_first(rest);
	while (e.reader && rest.size > e.size) {
		rest = (struct bytes){rest.at + e.size, rest.size - e.size};
		e = entry_first(rest);
		if (e.reader)
			line_wake(l, &e);
	}
}

/* In the place of what stands behind the last space. */
static void put_mark(struct line *l, const struct entry *e, const char *mark)
{
	size_t from = e->size - 1;
	while (line_text(l).at[from - 1] != ' ')
		from--;
	line_replace(l, from, e->size - 1 - from, text_bytes(mark));
}

void line_mark(struct line *l, const struct entry *e, struct bytes patience)
{
	char until[32];
	snprintf(until, sizeof until, "%.14g", (double)(l->call->redis->now_ms + word_number(patience)));
	put_mark(l, e, until);
}

void line_doubt(struct line *l, const struct entry *e)
{
	char until[32];
	snprintf(until, sizeof until, "0%.14g", (double)(l->call->redis->now_ms + DOUBT_MS));
	put_mark(l, e, until);
}

/* A release of several names is not given the keys of their offers. */
static bool has_offers(const struct line *l)
{
	return l->script != RL_SCRIPT_RELEASE_ALL;
}

static void drop_offer(struct line *l, const struct entry *e)
{
	struct bytes place = {e->client.at, e->client.size + 1 + e->slot.size}; /* they are side by side */
	if (!e->placed || !has_offers(l) || call_write_refused(l->call) != NULL)
		return;
	offers_drop(l->call, word(l->call, OFFERS), place);
	l->written = true;
}

/* It is the first one's turn, or whether it still listens is asked. True: it is waited for. */
static bool is_there(struct line *l, const struct entry *e, bool turn, bool stands, struct bytes patience)
{
	int heard = turn || !e->known ? line_wake(l, e) : say(l, e, text_bytes("4294967295"));
	if (!e->known || (heard == 0 && !l->call->redis->waits_for_all))
		return false;
	if (heard < 0) {
		if (!e->woken)
			line_doubt(l, e);
		return !e->woken || stands;
	}
	if (turn) {
		line_wake_readers(l);
		line_mark(l, e, patience);
	} else if (e->doubted) {
		put_mark(l, e, "");
	}
	return true;
}

bool line_tidy(struct line *l, bool free, bool open, struct bytes place, struct bytes patience)
{
	bool waits = l->call->redis->waits_for_all;
	double now_ms = (double)l->call->redis->now_ms;
	while (l->text.length > 0) {
		struct entry e = entry_first(line_text(l));
		bool stands = e.woken && (waits || (e.until > now_ms && e.until <= now_ms + LIFE_MS));
		bool told = e.known && e.woken && !e.doubted, turn = free || (open && e.reader);
		if (e.known && is_place(&e, place))
			return true;
		if (e.known && ((!e.woken && !open) || (told && stands)))
			return false;
		if (e.placed && !told && is_there(l, &e, turn, stands, patience))
			return false;
		drop_offer(l, &e);
		buffer_drop(&l->text, e.size);
	}
	return false;
}

bool queue_is_open(const struct key *key)
{
	return key == NULL || key->type == KEY_ZSET;
}

static struct bytes behind_space(struct bytes text)
{
	size_t digits = entry_run(text, 0, "0123456789");
	return (struct bytes){text.at + digits + 1, text.size - digits - 1};
}

/* "since number ttl token": takes off since when it stands there. Who holds until then has that TTL. */
static bool is_fresh(struct bytes *offer, int64_t now_ms, int64_t holder_ms)
{
	enum { FRESH_MS = 2000, OLD = 8, HELD_MOST_MS = 8000 };
	int64_t age = now_ms - word_number((struct bytes){offer->at, entry_run(*offer, 0, "0123456789")});
	*offer = behind_space(*offer);
	struct bytes ttl = behind_space(*offer);
	ttl.size = entry_run(ttl, 0, "0123456789");
	int64_t held = holder_ms < HELD_MOST_MS ? holder_ms : HELD_MOST_MS;
	return age >= 0 && age <= FRESH_MS && age * OLD <= word_number(ttl) && held <= word_number(ttl);
}

/* What the first one offers: its place, and the rest. */
static struct bytes next_offer(struct line *l, int64_t holder_ms, char *room, size_t size)
{
	struct bytes offer;
	struct bytes text = line_text(l);
	size_t client =
	    text.size > 2 && memcmp(text.at, "1w", 2) == 0 ? entry_run(text, 2, "0123456789abcdefABCDEF") : 0;
	size_t dot = 2 + client;
	size_t slot =
	    client > 0 && dot < text.size && text.at[dot] == '.' ? entry_run(text, dot + 1, "0123456789") : 0;
	struct bytes place = {text.at + 2, client + 1 + slot};
	if (slot == 0 || !offers_get(l->call, word(l->call, OFFERS), place, &offer) ||
	    !is_fresh(&offer, l->call->redis->now_ms, holder_ms))
		return text_bytes("");
	int used = snprintf(room, size, "%.*s %.*s", (int)place.size, place.at, (int)offer.size, offer.at);
	return (struct bytes){room, (size_t)used};
}

const char *line_keep(struct line *l)
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
		key = redis_put(c->redis, c->session->database, word(c, QUEUE), line_text(l));
	else
		keyspace_set_value(key, line_text(l));
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
	int64_t ttl = word_number(word(c, ENTER_TTL));
	call_store(c, word(c, NAME), word(c, TOKEN), ttl);
	char room[1024];
	l->written = true;
	if (mine) {
		offers_drop(c, word(c, OFFERS), word(c, ENTER_PLACE));
		buffer_drop(&l->text, entry_first(line_text(l)).size);
	}
	if (line_changed(l))
		line_keep(l);
	bool guarded = l->script == RL_SCRIPT_GUARDED_ENTER;
	int64_t number = guarded && word(c, GUARD_FENCED).size > 0 ? guard_draw(c, word(c, GUARD_FENCE)) : 0;
	int64_t now_ms = guarded && word(c, GUARD_TIMED).size > 0 ? c->redis->now_ms : 0;
	reply_entered(c, (int64_t[]){1, (int64_t)(l->text.length / ENTRY), number, now_ms},
	              guarded ? text_bytes("") : next_offer(l, ttl, room, sizeof room));
}

int64_t line_stand(struct line *l, bool mine, struct bytes place)
{
	char entry[128];
	struct entry first = mine ? entry_first(line_text(l)) : (struct entry){0};
	if (mine && first.woken)
		put_mark(l, &first, "");
	if (mine || place.size == 0)
		return mine ? 1 : 0;
	const char kinds[] = {l->kind, '\0'};
	const char *found = line_find(l, kinds, place);
	size_t before = found != NULL ? (size_t)(found - line_text(l).at) + 1 : l->text.length;
	snprintf(entry, sizeof entry, "1%c%-27.*s ;", l->kind, (int)place.size, place.at);
	if (found == NULL)
		buffer_append(&l->text, entry, strlen(entry));
	return (int64_t)(before / ENTRY) + 1;
}

static void offer(struct call *c)
{
	char text[1024];
	struct bytes terms = word(c, ENTER_TERMS), number = behind_space(terms), ttl = word(c, ENTER_TTL),
	             token = word(c, TOKEN);
	if (word(c, ENTER_PLACE).size == 0 || bytes_equal(number, text_bytes("0")))
		return;
	int size = snprintf(text, sizeof text, "%" PRId64 " %.*s %.*s %.*s", c->redis->now_ms, (int)number.size,
	                    number.at, (int)ttl.size, ttl.at, (int)token.size, token.at);
	offers_set(c, word(c, OFFERS), word(c, ENTER_PLACE), (struct bytes){text, (size_t)size});
}

static void refuse(struct line *l, bool mine, int64_t left, struct bytes value)
{
	struct call *c = l->call;
	bool guarded = l->script == RL_SCRIPT_GUARDED_ENTER;
	unsigned line = guarded ? 90 : 78; /* of the SET */
	int64_t place = line_stand(l, mine, word(c, ENTER_PLACE));
	if (line_changed(l) && script_fails_at(c, line_keep(l), l->script, line))
		return;
	if (!guarded)
		offer(c);
	reply_entered(c, (int64_t[]){0, (int64_t)(l->text.length / ENTRY), left, place}, value);
}

/* The key is our own: it was handed over. */
static void lengthen(struct call *c, enum rl_script script, struct key *key, struct bytes queue)
{
	bool guarded = script == RL_SCRIPT_GUARDED_ENTER;
	unsigned line = guarded ? 13 : 4; /* of the PEXPIRE */
	int64_t ttl = word_number(word(c, ENTER_TTL)), left = call_life(c, key);
	bool longer = left >= 0 && left < ttl;
	if (script_fails_at(c, longer ? call_write_refused(c) : NULL, script, line))
		return;
	if (longer) {
		key->expires_ms += ttl - left;
		multi_touch(c->redis, c->session->database, word(c, NAME));
	}
	int64_t number = guarded && word(c, GUARD_FENCED).size > 0 ? guard_counter(c, word(c, GUARD_FENCE)) : 0;
	int64_t now_ms = guarded && word(c, GUARD_TIMED).size > 0 ? c->redis->now_ms : 0;
	reply_entered(c, (int64_t[]){1, (int64_t)(queue.size / ENTRY), number, now_ms}, text_bytes(""));
}

const char *line_renew(struct line *l)
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

static void enter(struct call *c, enum rl_script script, unsigned pexpire_line, unsigned set_line)
{
	struct line l;
	struct bytes value;
	struct buffer shown = {0};
	if (string_of(c, word(c, NAME), &value) && bytes_equal(value, word(c, TOKEN))) {
		struct bytes queue;
		string_of(c, word(c, QUEUE), &queue);
		lengthen(c, script, call_find(c, word(c, NAME)), queue);
		return;
	}
	line_open(&l, c, script);
	if (script_fails_at(c, line_renew(&l), script, pexpire_line)) {
		line_close(&l);
		return;
	}
	string_of(c, word(c, NAME), &value);
	buffer_append(&shown, value.at, value.size < SHOWN ? value.size : SHOWN);
	int64_t left = call_life(c, call_find(c, word(c, NAME)));
	bool free = left == -2;
	struct bytes terms = word(c, ENTER_TERMS), patience = {terms.at, entry_run(terms, 0, "0123456789")};
	bool open = queue_is_open(call_find(c, word(c, NAME)));
	bool mine = line_tidy(&l, free, open, word(c, ENTER_PLACE), patience);
	bool takes = free && (mine || l.text.length == 0 || c->redis->any_turn);
	if (!takes)
		refuse(&l, mine, left, (struct bytes){shown.bytes, shown.length});
	else if (!script_fails_at(c, l.written ? NULL : call_memory_refused(c), script, set_line))
		take(&l, mine);
	buffer_free(&shown);
	line_close(&l);
}

void script_enter(struct call *c)
{
	enter(c, RL_SCRIPT_ENTER, 7, 46);
}

/* Its words as those of the other, and the further ones behind them. */
void script_guarded_enter(struct call *c)
{
	enum { SETS = 2, TERMS = 4 };
	struct words before = c->w;
	memcpy(&c->w.at[TOKEN], &before.at[TOKEN + SETS], TERMS * sizeof before.at[0]);
	memcpy(&c->w.at[GUARD_FENCE - 1], &before.at[TOKEN], SETS * sizeof before.at[0]);
	int64_t verdict = !guard_admits(c, word(c, GUARD_PASS))                ? -1
	                  : word(c, GUARD_FENCED).size > 0 && !guard_counts(c) ? -2
	                                                                       : 1;
	if (verdict < 0)
		reply_entered(c, (int64_t[]){verdict, 0, 0, 0}, text_bytes(""));
	else
		enter(c, RL_SCRIPT_GUARDED_ENTER, 16, 55);
}

/* The first lines of both: -1: the key cannot be deleted, and that was answered. */
static int release(struct call *c, enum rl_script script, unsigned token)
{
	struct bytes value;
	bool ours = string_of(c, word(c, NAME), &value) && bytes_equal(value, word(c, token));
	if (ours && script_fails_at(c, call_write_refused(c), script, script == RL_SCRIPT_HAND ? 9 : 3))
		return -1;
	if (ours)
		call_delete(c, call_find(c, word(c, NAME)));
	return ours;
}

void script_vacate(struct call *c)
{
	struct bytes line;
	int ours = release(c, RL_SCRIPT_VACATE, VACATE_TOKEN);
	if (ours >= 0)
		call_reply_number(c, string_of(c, word(c, QUEUE), &line) ? 3 * ours - 1 : ours);
}

/* HSET needs memory, unless something was written before. */
static bool may_bar(const struct call *c, bool written)
{
	return written || call_memory_refused(c) == NULL;
}

bool line_give_up(struct line *l, struct bytes place)
{
	const char *found = line_find(l, "wr", place);
	if (found == NULL)
		return false;
	size_t from = (size_t)(found - line_text(l).at);
	const char *end = memchr(found, ';', l->text.length - from);
	size_t behind = end != NULL ? (size_t)(end - line_text(l).at) + 1 : l->text.length;
	if (has_offers(l) && call_write_refused(l->call) == NULL) {
		offers_drop(l->call, word(l->call, OFFERS), place);
		l->written = true;
	}
	from -= from > 0;
	line_replace(l, from, behind - from, text_bytes(""));
	return true;
}

void script_leave(struct call *c)
{
	struct line l;
	struct bytes place = word(c, LEAVE_PLACE);
	int ours = release(c, RL_SCRIPT_LEAVE, TOKEN);
	if (ours < 0)
		return;
	line_open(&l, c, RL_SCRIPT_LEAVE);
	l.written = ours == 1;
	bool bars = ours == 0 && word(c, LEAVE_BARS).size > 0;
	if (bars && may_bar(c, l.written))
		offers_bar(c, word(c, OFFERS), word(c, TOKEN));
	l.written |= bars && call_write_refused(c) == NULL; /* PEXPIRE needs no memory */
	if (line_renew(&l) != NULL || l.text.length == 0) {
		call_reply_number(c, ours == 0 ? 0 : l.text.length == 0 ? 1 : 2);
		line_close(&l);
		return;
	}
	line_give_up(&l, place);
	bool quiet = bytes_equal(word(c, LEAVE_BARS), text_bytes("2"));
	const struct key *key = call_find(c, word(c, NAME));
	if (!quiet && queue_is_open(key))
		line_tidy(&l, key == NULL, true, text_bytes(""), word(c, LEAVE_PATIENCE));
	if (line_changed(&l))
		line_keep(&l);
	call_reply_number(c, ours == 0 ? 0 : l.text.length == 0 ? 1 : 2);
	line_close(&l);
}

/* ---- handing over ---- */

/* "<client>.<slot> <number> <ttl> <token>" */
struct next {
	struct bytes place, client, slot, number, ttl, token;
};

static bool cut(struct bytes *rest, const char *characters, char end, struct bytes *ret)
{
	*ret = (struct bytes){rest->at, entry_run(*rest, 0, characters)};
	if (ret->size == 0 || ret->size >= rest->size || rest->at[ret->size] != end)
		return false;
	*rest = (struct bytes){rest->at + ret->size + 1, rest->size - ret->size - 1};
	return true;
}

static bool read_next(struct bytes text, struct next *ret)
{
	static const char digits[] = "0123456789";
	const char *begin = text.at;
	if (!cut(&text, "0123456789abcdefABCDEF", '.', &ret->client) || !cut(&text, digits, ' ', &ret->slot))
		return false;
	ret->place = (struct bytes){begin, ret->client.size + 1 + ret->slot.size};
	ret->token = (struct bytes){NULL, 0};
	bool numbers = cut(&text, digits, ' ', &ret->number) && cut(&text, digits, ' ', &ret->ttl);
	ret->token = text;
	return numbers && text.size > 0 && memchr(text.at, ' ', text.size) == NULL;
}

/* Who listens has the key then. False: nobody does. */
static bool hand_to(struct line *l, const struct next *next, int64_t waiting, struct bytes offer)
{
	struct call *c = l->call;
	char channel[128], head[2048];
	struct buffer message = {0}; /* a name may have any bytes */
	snprintf(channel, sizeof channel, "redlock:wake:%.*s", (int)next->client.size, next->client.at);
	int size = snprintf(head, sizeof head, "%.*s;%.*s;%.*s;%d;%.*s;", (int)next->slot.size, next->slot.at,
	                    (int)next->number.size, next->number.at, (int)next->token.size, next->token.at,
	                    (int)waiting, (int)offer.size, offer.at);
	const struct session *heir = fake_redis_listener(c->redis, text_bytes(channel));
	if (heir == NULL || c->redis->publish_denied)
		return false;
	call_store_for(c, heir->owner, word(c, NAME), next->token, word_number(next->ttl));
	buffer_append(&message, head, (size_t)size);
	buffer_append(&message, word(c, NAME).at, word(c, NAME).size);
	int heard = fake_redis_publish(c->redis, text_bytes(channel),
	                               (struct bytes){buffer_front(&message), message.length});
	buffer_free(&message);
	return heard > 0;
}

void script_hand(struct call *c)
{
	struct line l;
	struct bytes queue, offer = text_bytes("");
	struct next next;
	char room[1024];
	bool waited = string_of(c, word(c, QUEUE), &queue);
	int ours = release(c, RL_SCRIPT_HAND, TOKEN);
	if (ours <= 0) {
		if (ours == 0 && may_bar(c, false))
			offers_bar(c, word(c, OFFERS), word(c, TOKEN));
		if (ours == 0)
			call_reply_number(c, waited ? -1 : 0);
		return;
	}
	line_open(&l, c, RL_SCRIPT_HAND);
	l.written = true;
	bool good = read_next(word(c, HAND_NEXT), &next);
	bool found = good && (!waited || line_find(&l, "w", next.place) != NULL);
	bool told = found && !offers_drop(c, word(c, OFFERS), next.token) && word_number(next.ttl) > 0;
	if (told && waited) {
		line_give_up(&l, next.place);
		line_keep(&l);
		offer = next_offer(&l, word_number(next.ttl), room, sizeof room);
	}
	int64_t waiting = (int64_t)(l.text.length / ENTRY);
	bool handed = told && hand_to(&l, &next, waiting, offer);
	bool others = told ? waiting > 0 : waited;
	call_reply_number(c, handed || !others ? 1 : 2);
	line_close(&l);
}
