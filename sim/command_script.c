/* SPDX-License-Identifier: MIT */
/* The library's scripts. They are known by their text or SHA1, and run as C here; the originals are in
 * scripts/. */
#include <stdio.h>
#include <string.h>

#include "command_multi.h"

/* An error of a command inside a script: the server says where. */
static void fail_at(struct call *c, const char *error, enum rl_script script, unsigned line)
{
	char text[512];
	snprintf(text, sizeof text, "%s script: %s, on @user_script:%u.", error, rl_scripts[script].sha, line);
	call_reply(c, text);
}

/* The first line of release and extend: 1 ours, 0 not; -1: an answer was given. */
static int ours(struct call *c, const struct key *key, enum rl_script script)
{
	if (key != NULL && key->type != KEY_STRING) {
		world_hit(c->w, COVER_WRONGTYPE);
		fail_at(c, call_wrongtype, script, 1);
		return -1;
	}
	return key != NULL && bytes_equal(key_value(key), c->words[SCRIPT_TOKEN]) ? 1 : 0;
}

static void script_release(struct call *c)
{
	struct key *key = call_find(c, c->words[SCRIPT_KEY]);
	int mine = ours(c, key, RL_SCRIPT_RELEASE);
	if (mine < 0)
		return;
	if (mine == 1 && call_write_refused(c) != NULL) {
		fail_at(c, call_write_refused(c), RL_SCRIPT_RELEASE, 1);
		return;
	}
	if (mine == 1)
		call_delete(c, key);
	call_reply_number(c, mine);
}

static void script_extend(struct call *c)
{
	struct key *key = call_find(c, c->words[SCRIPT_KEY]);
	int mine = ours(c, key, RL_SCRIPT_EXTEND);
	if (mine < 0)
		return;
	if (key == NULL && c->w->plan.broken == BREAK_EXTEND)
		mine = 1;
	int64_t left = call_life(c, key), wanted = word_number(c->words[SCRIPT_TTL]);
	if (mine == 1 && left >= 0 && left < wanted) {
		if (call_write_refused(c) != NULL) {
			fail_at(c, call_write_refused(c), RL_SCRIPT_EXTEND, 3);
			return;
		}
		key->expires_ms += wanted - left;
		multi_touch(c->w, c->node, c->conn->session.database, c->words[SCRIPT_KEY]);
	}
	call_reply_number(c, mine);
}

static void script_inspect(struct call *c)
{
	const struct key *key = call_find(c, c->words[SCRIPT_KEY]);
	struct bytes value = key != NULL && key->type != KEY_LIST ? key_value(key) : (struct bytes){"", 0};
	call_reply(c, "*4");
	call_reply_bulk(c, text_bytes(key == NULL ? "none" : key_type_names[key->type]));
	call_reply_number(c, call_life(c, key));
	call_reply_number(c, (int64_t)value.size);
	call_reply_bulk(c, (struct bytes){value.at, value.size < 1024 ? value.size : 1024});
}

static void run_script(struct call *c, enum rl_script script)
{
	static const struct {
		unsigned words;
		void (*run)(struct call *c);
	} scripts[RL_SCRIPT_COUNT] = {
	    [RL_SCRIPT_RELEASE] = {5, script_release},
	    [RL_SCRIPT_EXTEND] = {6, script_extend},
	    [RL_SCRIPT_INSPECT] = {4, script_inspect},
	};
	if (c->count != scripts[script].words || word_number(c->words[2]) != 1)
		check_fail(c->w, VIOLATION_PROTOCOL, "script %d with %u words", (int)script, c->count);
	else
		scripts[script].run(c);
}

static bool is_denied(struct call *c, const char *command)
{
	char text[96];
	snprintf(text, sizeof text, "-NOPERM this user has no permissions to run the '%s' command", command);
	if (c->node->eval_denied)
		call_reply(c, text);
	return c->node->eval_denied;
}

void run_eval(struct call *c)
{
	if (is_denied(c, "eval"))
		return;
	for (int i = 0; i < RL_SCRIPT_COUNT; i++) {
		if (!bytes_equal(c->words[1], (struct bytes){rl_scripts[i].text, rl_scripts[i].length}))
			continue;
		c->node->cached[i] = true;
		run_script(c, (enum rl_script)i);
		return;
	}
	check_fail(c->w, VIOLATION_PROTOCOL, "EVAL of an unknown script");
}

void run_evalsha(struct call *c)
{
	if (is_denied(c, "evalsha"))
		return;
	for (int i = 0; i < RL_SCRIPT_COUNT; i++) {
		if (!c->node->cached[i] || !word_is(c->words[1], rl_scripts[i].sha))
			continue;
		run_script(c, (enum rl_script)i);
		return;
	}
	world_hit(c->w, COVER_NOSCRIPT);
	call_reply(c, "-NOSCRIPT No matching script. Please use EVAL.");
}

void run_script_flush(struct call *c)
{
	memset(c->node->cached, 0, sizeof c->node->cached);
	call_reply(c, "+OK");
}
