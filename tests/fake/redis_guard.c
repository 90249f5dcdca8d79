/* SPDX-License-Identifier: MIT */
/* The scripts of a guarded node set as C: the originals are in scripts/. */
#include "redis_guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fence.h"
#include "redis_offers.h"

/* Where the words of a call are. */
enum { CLAIM_NAME = 3, CLAIM_SET, CLAIM_TOKEN, CLAIM_TTL, CLAIM_PASS, CLAIM_TIMED };
enum { FENCED_NAME = 3, FENCED_SET, FENCED_FENCE, FENCED_TOKEN, FENCED_TTL, FENCED_PASS, FENCED_TIMED };
enum { EXTEND_TOKEN = 5, EXTEND_TTL, EXTEND_PASS, EXTEND_TIMED };
enum { MEET_SET = 3, MEET_ID, MEET_MEMBERS, MEET_QUORUM, MEET_TTL };
enum { ADMIT_ID = 4, ADMIT_RECORD, ADMIT_STEP = 6, ADMIT_CONFIG, ADMIT_FLOOR = 9, ADMIT_MEMBER = 12 };
enum { LIFE_MS = 86400000 };

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

static struct bytes set_name(void)
{
	return text_bytes("redlock:set");
}

static bool field(struct call *c, const char *name, struct bytes *ret)
{
	*ret = text_bytes("");
	return offers_get(c, set_name(), text_bytes(name), ret);
}

static int64_t field_number(struct call *c, const char *name)
{
	struct bytes text;
	return field(c, name, &text) ? word_number(text) : -1;
}

static void put_number(struct call *c, const char *name, int64_t number)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%" PRId64, number);
	guard_put(c, set_name(), text_bytes(name), text_bytes(digits));
}

void guard_put(struct call *c, struct bytes name, struct bytes place, struct bytes value)
{
	struct key *key = call_find(c, name);
	int64_t life = key != NULL ? key->expires_ms : KEY_FOREVER;
	offers_set(c, name, place, value);
	call_find(c, name)->expires_ms = life;
}

bool guard_admits(struct call *c, struct bytes pass)
{
	struct bytes now, before;
	bool has_now = field(c, "pass", &now), has_before = field(c, "prev", &before);
	return (has_now && bytes_equal(now, pass)) || (has_before && bytes_equal(before, pass));
}

/* Whether it is there, digits, and a number that scripts can count on from. */
static bool is_known(struct call *c, const char *name)
{
	int64_t number = field_number(c, name);
	return number >= 0 && number < RL_FENCE_END;
}

bool guard_counts(struct call *c)
{
	return is_known(c, "floor") && is_known(c, "gmax") &&
	       field_number(c, "floor") <= field_number(c, "gmax") && field_number(c, "gmax") < RL_FENCE_END - 1;
}

int64_t guard_counter(struct call *c, struct bytes fence)
{
	const struct key *key = call_find(c, fence);
	int64_t most = field_number(c, "gmax");
	int64_t was = key != NULL && key->type == KEY_STRING ? word_number(key->value) : most;
	was = was < most ? was : most;
	return was > 0 ? was : 0;
}

enum { COUNTER_KEEPS = -1 };

/* `life_ms`: of the counter from now on; COUNTER_KEEPS: it has one. */
static void put_counter(struct call *c, struct bytes fence, int64_t number, int64_t life_ms)
{
	char digits[24];
	struct key *key = call_find(c, fence);
	snprintf(digits, sizeof digits, "%" PRId64, number);
	if (number > field_number(c, "gmax"))
		put_number(c, "gmax", number);
	if (key != NULL)
		keyspace_set_value(key, text_bytes(digits));
	else
		key = redis_put(c->redis, c->session->database, fence, text_bytes(digits));
	key->type = KEY_STRING;
	if (life_ms != COUNTER_KEEPS)
		key->expires_ms = c->redis->now_ms + life_ms;
	multi_touch(c->redis, c->session->database, fence);
}

/* What is counted on from; 0: it is none, or there is none, or one that the record does not know of. */
static int64_t count_of(struct call *c, struct bytes fence)
{
	char digits[24];
	const struct key *key = call_find(c, fence);
	int64_t count = key != NULL && key->type == KEY_STRING ? word_number(key->value) : 0;
	snprintf(digits, sizeof digits, "%" PRId64, count);
	bool known = count > 0 && count <= field_number(c, "gmax");
	return known && bytes_equal(key->value, text_bytes(digits)) ? count : 0;
}

int64_t guard_draw(struct call *c, struct bytes fence)
{
	enum { REFRESHES = 16 };
	int64_t was = count_of(c, fence), floor = field_number(c, "floor");
	int64_t most = field_number(c, "gmax");
	bool goes_on = was > 0 && was + 1 > floor;
	int64_t number = goes_on ? was + 1 : most + 1;
	put_counter(c, fence, number, goes_on && number % REFRESHES > 0 ? COUNTER_KEEPS : LIFE_MS);
	return number;
}

int64_t guard_draw_all(struct call *c, const struct bytes *fences, unsigned count)
{
	int64_t floor = field_number(c, "floor"), most = field_number(c, "gmax"), last = 0;
	for (unsigned i = 0; i < count; i++) {
		int64_t was = count_of(c, fences[i]);
		was = was > floor ? was : most;
		last = was > last ? was : last;
	}
	for (unsigned i = 0; i < count; i++)
		put_counter(c, fences[i], last + 1, LIFE_MS);
	return last + 1;
}

/* ---- claim and extend ---- */

static void reply(struct call *c, int64_t verdict, int64_t number, int64_t left, bool timed,
                  struct bytes quoted)
{
	call_reply(c, "*5");
	call_reply_number(c, verdict);
	call_reply_number(c, number);
	call_reply_number(c, left);
	call_reply_number(c, timed ? c->redis->now_ms : 0);
	call_reply_bulk(c, quoted);
}

/* The same as one text. */
static void reply_text(struct call *c, int64_t verdict, int64_t number, int64_t left, bool timed,
                       struct bytes quoted)
{
	call_reply_words(c, (int64_t[]){verdict, number, left, timed ? c->redis->now_ms : 0}, 4, quoted);
}

void script_claim(struct call *c)
{
	enum { SET_LINE = 8 };
	struct bytes token = word(c, CLAIM_TOKEN);
	bool timed = word(c, CLAIM_TIMED).size > 0;
	const struct key *key = call_find(c, word(c, CLAIM_NAME));
	if (!guard_admits(c, word(c, CLAIM_PASS))) {
		reply_text(c, -1, 0, 0, false, token);
	} else if (script_fails_at(c, call_memory_refused(c), RL_SCRIPT_CLAIM, SET_LINE)) {
		return;
	} else if (key != NULL) {
		reply_text(c, 0, 0, call_life(c, key), timed, token);
	} else {
		call_store(c, word(c, CLAIM_NAME), token, word_number(word(c, CLAIM_TTL)));
		reply_text(c, 1, 0, 0, timed, token);
	}
}

void script_claim_fenced(struct call *c)
{
	enum { SET_LINE = 13 };
	struct bytes token = word(c, FENCED_TOKEN);
	bool timed = word(c, FENCED_TIMED).size > 0;
	const struct key *key = call_find(c, word(c, FENCED_NAME));
	if (!guard_admits(c, word(c, FENCED_PASS))) {
		reply_text(c, -1, 0, 0, false, token);
	} else if (!guard_counts(c)) {
		reply_text(c, -2, 0, 0, false, token);
	} else if (script_fails_at(c, call_memory_refused(c), RL_SCRIPT_CLAIM_FENCED, SET_LINE)) {
		return;
	} else if (key != NULL) {
		reply_text(c, 0, 0, call_life(c, key), timed, token);
	} else {
		call_store(c, word(c, FENCED_NAME), token, word_number(word(c, FENCED_TTL)));
		reply_text(c, 1, guard_draw(c, word(c, FENCED_FENCE)), 0, timed, token);
	}
}

void script_guarded_extend(struct call *c)
{
	enum { GET_LINE = 8, PEXPIRE_LINE = 10 };
	struct bytes token = word(c, EXTEND_TOKEN);
	struct key *key = call_find(c, word(c, 3));
	bool timed = word(c, EXTEND_TIMED).size > 0;
	if (!guard_admits(c, word(c, EXTEND_PASS))) {
		reply_text(c, -1, 0, 0, false, token);
		return;
	}
	if (script_fails_at(c, key != NULL && key->type != KEY_STRING ? call_wrongtype : NULL,
	                    RL_SCRIPT_GUARDED_EXTEND, GET_LINE))
		return;
	if (key == NULL || !bytes_equal(key->value, token)) {
		reply_text(c, 0, 0, 0, timed, token);
		return;
	}
	int64_t left = call_life(c, key), wanted = word_number(word(c, EXTEND_TTL));
	bool longer = left >= 0 && left < wanted;
	if (longer && script_fails_at(c, call_write_refused(c), RL_SCRIPT_GUARDED_EXTEND, PEXPIRE_LINE))
		return;
	if (longer) {
		key->expires_ms += wanted - left;
		multi_touch(c->redis, c->session->database, word(c, 3));
	}
	reply_text(c, 1, 0, 0, timed, token);
}

/* The first one that is not ours, from 1 on; 0: all are; -1: an answer was given. */
static int others(struct call *c, const struct bytes *names, unsigned count, struct bytes token)
{
	enum { GET_LINE = 5 };
	for (unsigned i = 0; i < count; i++) {
		const struct key *key = call_find(c, names[i]);
		bool odd = key != NULL && key->type != KEY_STRING;
		if (script_fails_at(c, odd ? call_wrongtype : NULL, RL_SCRIPT_RAISE, GET_LINE))
			return -1;
		if (key == NULL || !bytes_equal(key->value, token))
			return (int)i + 1;
	}
	return 0;
}

static bool counts_to(struct call *c, struct bytes fence, int64_t number)
{
	return count_of(c, fence) >= number;
}

/* False: an answer was given. */
static bool raise_one(struct call *c, struct bytes fence, int64_t number)
{
	const char *refused = counts_to(c, fence, number) ? NULL : call_memory_refused(c);
	if (refused != NULL) /* behind a pcall, which knows no line */
		call_reply_text(c, "%s", refused);
	else if (!counts_to(c, fence, number) && !c->redis->raises_none)
		put_counter(c, fence, number, LIFE_MS);
	return refused == NULL;
}

void script_raise(struct call *c)
{
	enum { KEYS = 2, FIRST, HSET_LINE = 9 };
	unsigned keys = (unsigned)word_number(word(c, KEYS)), names = (keys - 1) / 2;
	struct bytes token = word(c, FIRST + keys);
	int64_t number = word_number(word(c, FIRST + keys + 1));
	if (!guard_admits(c, word(c, FIRST + keys + 2))) {
		reply(c, -1, 0, 0, false, token);
		return;
	}
	int other = others(c, &c->w.at[FIRST], names, token);
	if (other > 0)
		reply(c, 0, other, 0, false, token);
	if (other != 0)
		return;
	if (!is_known(c, "gmax")) {
		reply(c, -2, 0, 0, false, token);
		return;
	}
	if (field_number(c, "gmax") < number && !c->redis->raises_none) {
		if (script_fails_at(c, call_memory_refused(c), RL_SCRIPT_RAISE, HSET_LINE))
			return;
		put_number(c, "gmax", number);
	}
	for (unsigned i = 0; i < names; i++)
		if (!raise_one(c, c->w.at[FIRST + names + i], number))
			return;
	reply(c, 1, number, 0, false, token);
}

/* ---- meet and admit ---- */

static const char *run_id_of(const struct call *c)
{
	return c->redis->info_denied ? "-" : c->redis->run_id;
}

static bool same_field(struct call *c, const char *name, struct bytes value)
{
	struct bytes text;
	return field(c, name, &text) && bytes_equal(text, value);
}

static int64_t flags_of(struct call *c)
{
	bool silent = c->redis->info_denied;
	return same_field(c, "members", word(c, MEET_MEMBERS)) |
	       same_field(c, "quorum", word(c, MEET_QUORUM)) << 1 |
	       same_field(c, "prev_members", word(c, MEET_MEMBERS)) << 2 |
	       same_field(c, "prev_quorum", word(c, MEET_QUORUM)) << 3 |
	       (silent || c->redis->mode == REDIS_READONLY) << 4 | (!silent && c->redis->promoted) << 5 |
	       silent << 6;
}

static void tell(struct call *c, int64_t verdict, int64_t left, struct bytes quarantine)
{
	static const char *const names[] = {"",     "set",  "config", "prev_config", "step", "ttl",
	                                    "pass", "prev", "floor",  "gmax",        "",     "node"};
	struct buffer text = {0};
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct bytes value = i == 0 ? text_bytes(run_id_of(c)) : quarantine;
		if (names[i][0] != '\0')
			field(c, names[i], &value);
		if (value.size == 0)
			value = text_bytes("-");
		buffer_append(&text, " ", i > 0);
		buffer_append(&text, value.at, value.size);
	}
	call_reply(c, "*6");
	call_reply_number(c, verdict);
	call_reply_number(c, left);
	call_reply_number(c, c->redis->now_ms);
	call_reply_number(c, flags_of(c));
	call_reply_bulk(c, word(c, MEET_ID));
	call_reply_bulk(c, (struct bytes){buffer_front(&text), text.length});
	buffer_free(&text);
}

/* Whose pass it is: what stands before the colon. */
static bool is_admitted(struct call *c)
{
	struct bytes pass;
	const char *id = run_id_of(c);
	const char *colon = field(c, "pass", &pass) ? memchr(pass.at, ':', pass.size) : NULL;
	struct bytes admitted = {pass.at, colon != NULL ? (size_t)(colon - pass.at) : 0};
	return colon != NULL && (bytes_equal(admitted, text_bytes(id)) || word_is(admitted, "-") ||
	                         (*id == '-' && admitted.size > 0));
}

static int64_t longest(struct call *c)
{
	int64_t own = field_number(c, "ttl"), told = word_number(word(c, MEET_TTL));
	return own > told ? own : told;
}

static bool begin_quarantine(struct call *c, int64_t whole)
{
	enum { HSET_LINE = 42 };
	if (script_fails_at(c, call_memory_refused(c), RL_SCRIPT_MEET, HSET_LINE))
		return false;
	guard_put(c, set_name(), text_bytes("qrid"), text_bytes(run_id_of(c)));
	put_number(c, "quntil", c->redis->now_ms + whole);
	guard_put(c, set_name(), text_bytes("qid"), word(c, MEET_ID));
	return true;
}

void script_meet(struct call *c)
{
	enum { BARE, ADMITTED, PLAIN, QUARANTINE, OVER, NEWER, REMOVED };
	enum { HEALED_MS = 10000 };
	struct bytes version, quarantine, told;
	bool there = field(c, "version", &version);
	field(c, "qid", &told);
	if (same_field(c, "mode", text_bytes("plain"))) {
		tell(c, PLAIN, 0, told);
		return;
	}
	if (same_field(c, "mode", text_bytes("removed"))) {
		tell(c, REMOVED, 0, told);
		return;
	}
	if (there && !word_is(version, "1")) {
		tell(c, NEWER, 0, told);
		return;
	}
	if (there && is_admitted(c)) {
		tell(c, ADMITTED, 0, told);
		return;
	}
	int64_t ttl = longest(c), age = (ttl + 3) / 4 > 1000 ? (ttl + 3) / 4 : 1000;
	int64_t whole = c->redis->admits_all ? 0 : ttl + age + (ttl + 99) / 100 + 2;
	int64_t until = field_number(c, "quntil");
	bool begun =
	    same_field(c, "qrid", text_bytes(run_id_of(c))) && field(c, "qid", &quarantine) && until >= 0;
	if (ttl <= 0) {
		int64_t rest = begun ? until - c->redis->now_ms : -HEALED_MS;
		tell(c, rest > 0 ? QUARANTINE : rest > -HEALED_MS ? OVER : BARE, rest > 0 ? rest : 0, text_bytes(""));
		return;
	}
	int64_t left = begun ? until - c->redis->now_ms : whole + 1;
	if (left > whole && !begin_quarantine(c, whole))
		return;
	left = left > whole ? whole : left;
	field(c, "qid", &quarantine);
	tell(c, left > 0 ? QUARANTINE : OVER, left > 0 ? left : 0, left > 0 ? text_bytes("") : quarantine);
}

static void drop_fields(struct call *c, const char *const *names)
{
	for (; *names != NULL; names++)
		offers_drop(c, set_name(), text_bytes(*names));
}

static void write_record(struct call *c, struct bytes pass)
{
	static const char *const names[] = {"set", "step", "config", "ttl", NULL, "members", "quorum", "node"};
	guard_put(c, set_name(), text_bytes("version"), text_bytes("1"));
	guard_put(c, set_name(), text_bytes("mode"), text_bytes("guard"));
	guard_put(c, set_name(), text_bytes("pass"), pass);
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i] != NULL)
			guard_put(c, set_name(), text_bytes(names[i]), word(c, ADMIT_RECORD + i));
	drop_fields(c,
	            (const char *const[]){"prev", "prev_config", "prev_members", "prev_quorum", "floor", NULL});
}

void script_admit(struct call *c)
{
	enum { HSET_LINE = 12 };
	char text[256];
	struct bytes config = word(c, ADMIT_CONFIG), floor = word(c, ADMIT_FLOOR), was;
	int64_t until = field_number(c, "quntil"), most = is_known(c, "gmax") ? field_number(c, "gmax") : 0;
	bool over = same_field(c, "qid", word(c, ADMIT_ID)) && same_field(c, "qrid", text_bytes(run_id_of(c))) &&
	            until >= 0 && until <= c->redis->now_ms;
	bool ended = same_field(c, "mode", text_bytes("plain")) || same_field(c, "mode", text_bytes("removed"));
	if (!over || ended || field_number(c, "step") > word_number(word(c, ADMIT_STEP))) {
		reply(c, 0, 0, 0, true, word(c, ADMIT_ID));
		return;
	}
	snprintf(text, sizeof text, "%s:%.*s", run_id_of(c), (int)config.size, config.at);
	bool anew = !field(c, "pass", &was) || !bytes_equal(was, text_bytes(text));
	if (anew && script_fails_at(c, call_memory_refused(c), RL_SCRIPT_ADMIT, HSET_LINE))
		return;
	if (anew)
		write_record(c, text_bytes(text));
	if (floor.size > 0 && (anew || call_memory_refused(c) == NULL)) {
		most = word_number(floor) > most || most >= RL_FENCE_END ? word_number(floor) : most;
		put_number(c, "gmax", most);
		put_number(c, "floor", most);
		drop_fields(c, (const char *const[]){"qrid", "quntil", "qid", NULL});
	}
	reply(c, 1, 0, 0, true, word(c, ADMIT_ID));
}
