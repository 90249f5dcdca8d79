/* SPDX-License-Identifier: MIT */
/* The scripts for several names as C: the originals are in scripts/. */
#include "redis_guard.h"

enum { KEYS = 2, FIRST };

/* What a script is called with. */
struct several {
	const struct bytes *names;
	unsigned count;
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

static void reply(struct call *c, const struct several *s, int64_t verdict, unsigned name, int64_t left)
{
	call_reply(c, "*5");
	call_reply_number(c, verdict);
	call_reply_number(c, name);
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
	reply(c, s, 1, 0, 0);
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
	enum { GET_LINE = 6 };
	struct several s = read(c, true);
	if (is_admitted(c, &s))
		extend(c, &s, RL_SCRIPT_GUARDED_EXTEND_ALL, GET_LINE);
}

/* ---- release ---- */

void script_release_all(struct call *c)
{
	struct several s = read(c, false);
	unsigned names = s.count / (unsigned)word_number(s.second), gone = 0;
	bool waits = false;
	const char *refused = NULL;
	for (unsigned i = 0; i < names; i++) {
		struct key *key = call_find(c, s.names[i]);
		bool ours = has_token(key, &s);
		gone += !ours;
		if (ours && call_write_refused(c) != NULL)
			refused = call_write_refused(c);
		else if (ours)
			call_delete(c, key);
	}
	for (unsigned i = names; i < s.count; i++)
		waits |= call_find(c, s.names[i]) != NULL;
	if (refused != NULL)
		call_reply_text(c, "%s", refused);
	else
		reply(c, &s, gone > 0 ? -(int64_t)waits : 1 + waits, gone, 0);
}
