/* SPDX-License-Identifier: MIT */
/* The library's scripts. They are known by their text or SHA1, and run as C here; the originals are in
 * scripts/. */
#include "redis_call.h"
#include "scripts.h"

/* Where the words of a script call are: EVALSHA sha 1 key [token [ttl_ms]]. */
enum { SCRIPT_KEY = 3, SCRIPT_TOKEN, SCRIPT_TTL };

static struct bytes word(const struct call *c, unsigned i)
{
	return i < c->w.count ? c->w.at[i] : text_bytes("");
}

bool script_fails_at(struct call *c, const char *error, enum rl_script script, unsigned line)
{
	if (error != NULL)
		call_reply_text(c, "%s script: %s, on @user_script:%u.", error, rl_scripts[script].sha, line);
	return error != NULL;
}

/* The first line of release and extend: 1 ours, 0 not; -1: an answer was given. */
static int ours(struct call *c, const struct key *key, enum rl_script script)
{
	if (script_fails_at(c, key != NULL && key->type != KEY_STRING ? call_wrongtype : NULL, script, 1))
		return -1;
	return key != NULL && bytes_equal(key->value, word(c, SCRIPT_TOKEN)) ? 1 : 0;
}

static void script_release(struct call *c)
{
	struct key *key = call_find(c, word(c, SCRIPT_KEY));
	int mine = ours(c, key, RL_SCRIPT_RELEASE);
	if (mine < 0 || (mine == 1 && script_fails_at(c, call_write_refused(c), RL_SCRIPT_RELEASE, 1)))
		return;
	if (mine == 1)
		call_delete(c, key);
	call_reply_number(c, mine);
}

static void script_extend(struct call *c)
{
	struct key *key = call_find(c, word(c, SCRIPT_KEY));
	int mine = ours(c, key, RL_SCRIPT_EXTEND);
	if (mine < 0)
		return;
	if (key == NULL && c->redis->extends_all)
		mine = 1;
	int64_t left = call_life(c, key), wanted = word_number(word(c, SCRIPT_TTL));
	if (mine == 1 && left >= 0 && left < wanted) {
		if (script_fails_at(c, call_write_refused(c), RL_SCRIPT_EXTEND, 3))
			return;
		key->expires_ms += wanted - left;
		multi_touch(c->redis, c->session->database, word(c, SCRIPT_KEY));
	}
	call_reply_number(c, mine);
}

static void script_inspect(struct call *c)
{
	const struct key *key = call_find(c, word(c, SCRIPT_KEY));
	bool shown = key != NULL && (key->type == KEY_STRING || key->type == KEY_HASH);
	struct bytes value = shown ? key->value : text_bytes("");
	struct buffer holders = {0};
	int64_t size =
	    key != NULL && key->type == KEY_ZSET ? share_holders(c, key, &holders) : (int64_t)value.size;
	if (holders.length > 0)
		value = (struct bytes){buffer_front(&holders), holders.length};
	call_reply(c, "*4");
	call_reply_bulk(c, text_bytes(key == NULL ? "none" : key_type_names[key->type]));
	call_reply_number(c, call_life(c, key));
	call_reply_number(c, size);
	call_reply_bulk(c, (struct bytes){value.at, value.size < 1024 ? value.size : 1024});
	buffer_free(&holders);
}

typedef void script(struct call *c);

static void run_script(struct call *c, enum rl_script number)
{
	static script *const scripts[RL_SCRIPT_COUNT] = {
	    [RL_SCRIPT_RELEASE] = script_release,
	    [RL_SCRIPT_EXTEND] = script_extend,
	    [RL_SCRIPT_INSPECT] = script_inspect,
	    [RL_SCRIPT_ENTER] = script_enter,
	    [RL_SCRIPT_VACATE] = script_vacate,
	    [RL_SCRIPT_LEAVE] = script_leave,
	    [RL_SCRIPT_HAND] = script_hand,
	    [RL_SCRIPT_CLAIM] = script_claim,
	    [RL_SCRIPT_CLAIM_FENCED] = script_claim_fenced,
	    [RL_SCRIPT_RAISE] = script_raise,
	    [RL_SCRIPT_MEET] = script_meet,
	    [RL_SCRIPT_ADMIT] = script_admit,
	    [RL_SCRIPT_GUARDED_ENTER] = script_guarded_enter,
	    [RL_SCRIPT_GUARDED_EXTEND] = script_guarded_extend,
	    [RL_SCRIPT_CLAIM_ALL] = script_claim_all,
	    [RL_SCRIPT_CLAIM_ALL_FENCED] = script_claim_all_fenced,
	    [RL_SCRIPT_EXTEND_ALL] = script_extend_all,
	    [RL_SCRIPT_RELEASE_ALL] = script_release_all,
	    [RL_SCRIPT_ENTER_ALL] = script_enter_all,
	    [RL_SCRIPT_GUARDED_ENTER_ALL] = script_guarded_enter_all,
	    [RL_SCRIPT_GUARDED_CLAIM_ALL] = script_guarded_claim_all,
	    [RL_SCRIPT_GUARDED_EXTEND_ALL] = script_guarded_extend_all,
	    [RL_SCRIPT_SHARE] = script_share,
	    [RL_SCRIPT_SHARE_EXTEND] = script_share_extend,
	    [RL_SCRIPT_SHARE_RELEASE] = script_share_release,
	    [RL_SCRIPT_SHARE_QUERY] = script_share_query,
	    [RL_SCRIPT_UPGRADE] = script_upgrade,
	    [RL_SCRIPT_GUARDED_SHARE] = script_guarded_share,
	    [RL_SCRIPT_GUARDED_SHARE_EXTEND] = script_guarded_share_extend,
	    [RL_SCRIPT_GUARDED_UPGRADE] = script_guarded_upgrade,
	    [RL_SCRIPT_UPGRADE_FENCED] = script_upgrade_fenced,
	    [RL_SCRIPT_SETNX] = script_setnx,
	    [RL_SCRIPT_SETNX_EXTEND] = script_setnx_extend,
	    [RL_SCRIPT_SETNX_RELEASE] = script_setnx_release,
	    [RL_SCRIPT_SETNX_QUERY] = script_setnx_query,
	    [RL_SCRIPT_SLOT] = script_slot,
	    [RL_SCRIPT_SLOT_ENTER] = script_slot_enter,
	    [RL_SCRIPT_SLOT_RELEASE] = script_slot_release,
	};
	c->redis->cached |= UINT64_C(1) << number;
	if (scripts[number] != NULL)
		scripts[number](c);
	else
		call_wrong(c, "script %s, which the model lacks", rl_scripts[number].name);
}

/* Whether one of the keys is none of a lock itself. */
static bool has_side_key(const struct call *c)
{
	int64_t keys = c->w.count > 2 ? word_number(c->w.at[2]) : 0;
	for (unsigned i = SCRIPT_KEY; (int64_t)i < SCRIPT_KEY + keys && i < c->w.count; i++)
		if (memmem(c->w.at[i].at, c->w.at[i].size, ":redlock:", 9) != NULL ||
		    word_is(c->w.at[i], "redlock:set"))
			return true;
	return false;
}

static bool is_denied(struct call *c, const char *command)
{
	bool queue = (c->redis->queue_denied || c->session->queue_denied) && has_side_key(c);
	if (c->redis->eval_denied)
		call_reply_text(c, "-NOPERM this user has no permissions to run the '%s' command", command);
	else if (queue)
		call_reply(c, "-NOPERM this user has no permissions to access one of the keys used as arguments");
	return c->redis->eval_denied || queue;
}

void run_eval(struct call *c)
{
	if (is_denied(c, "eval"))
		return;
	for (int i = 0; i < RL_SCRIPT_COUNT; i++)
		if (bytes_equal(c->w.at[1], (struct bytes){rl_scripts[i].text, rl_scripts[i].length})) {
			run_script(c, (enum rl_script)i);
			return;
		}
	call_wrong(c, "EVAL of an unknown script");
}

void run_evalsha(struct call *c)
{
	if (is_denied(c, "evalsha"))
		return;
	for (int i = 0; i < RL_SCRIPT_COUNT; i++)
		if ((c->redis->cached >> i & 1) != 0 && word_is(c->w.at[1], rl_scripts[i].sha)) {
			run_script(c, (enum rl_script)i);
			return;
		}
	call_reply(c, "-NOSCRIPT No matching script. Please use EVAL.");
}

void run_script_flush(struct call *c)
{
	c->redis->cached = 0;
	call_reply(c, "+OK");
}
