/* SPDX-License-Identifier: MIT */
/* EVAL and EVALSHA of the library's scripts, which are known by their text or SHA1. */
#include "redis_call.h"
#include "scripts.h"

enum { SCRIPT = 1, KEYS, FIRST_KEY };

/* Whether one of the keys is none of a lock itself. */
static bool has_side_key(const struct call *c)
{
	int64_t keys = word_number(c->w.at[KEYS]);
	for (unsigned i = FIRST_KEY; (int64_t)i < FIRST_KEY + keys && i < c->w.count; i++)
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
		if (bytes_equal(c->w.at[SCRIPT], (struct bytes){rl_scripts[i].text, rl_scripts[i].length})) {
			c->redis->cached |= UINT64_C(1) << i;
			call_script(c, (enum rl_script)i);
			return;
		}
	call_wrong(c, "EVAL of an unknown script");
}

void run_evalsha(struct call *c)
{
	if (is_denied(c, "evalsha"))
		return;
	for (int i = 0; i < RL_SCRIPT_COUNT; i++)
		if ((c->redis->cached >> i & 1) != 0 && word_is(c->w.at[SCRIPT], rl_scripts[i].sha)) {
			call_script(c, (enum rl_script)i);
			return;
		}
	call_reply(c, "-NOSCRIPT No matching script. Please use EVAL.");
}

void run_script_flush(struct call *c)
{
	c->redis->cached = 0;
	call_reply(c, "+OK");
}
