/* SPDX-License-Identifier: MIT */
/* Lua in the fake server: its answers are those of a server, byte for byte. */
#include <string.h>
#include <sys/socket.h>

#include "fixture.h"
#include "raw.h"
#include "redis.h"
#include "resp.h"
#include "scripts.h"
#include "unit.h"

enum { ROOM = 4096 };

/* Each runs with the key "k", which has a string, and the arguments "a" and "2". */
static const char *const bodies[] = {
    /* from Lua to RESP */
    "return 2.9",
    "return -2.9",
    "return 1795342681857",
    "return 'text'",
    "return true",
    "return false",
    "return nil",
    "return",
    "return {}",
    "return {1, 2.9, 'x', nil, 4}",
    "return {false, true, {1, {'a', {}}}}",
    "return {ok = 'fine'}",
    "return {err = 'ERR no'}",
    "return {1, {err = 'ERR in it'}, {ok = 'too'}}",
    "return {n = 1}",
    "return redis.call",
    /* from RESP to Lua, and back */
    "return redis.call('get', KEYS[1])",
    "return redis.call('get', 'none')",
    "return redis.call('get', 'none') == false",
    "return redis.call('mget', 'none', KEYS[1], 'none')",
    "return #redis.call('mget', 'none', KEYS[1], 'none')",
    "return redis.call('set', KEYS[1], 'v', 'px', 50000)",
    "return redis.call('set', KEYS[1], 'v', 'nx')",
    "return redis.call('set', KEYS[1], 'v', 'xx').ok",
    "return redis.call('type', KEYS[1]).ok",
    "return type(redis.call('pttl', KEYS[1])) .. redis.call('strlen', KEYS[1])",
    "return #redis.call('time') .. type(redis.call('time')[1])",
    "return redis.pcall('hget', KEYS[1], 'f')",
    "return redis.pcall('hget', KEYS[1], 'f').err",
    /* numbers as words */
    "redis.call('set', KEYS[1], 2 ^ 53) return redis.call('get', KEYS[1])",
    "redis.call('set', KEYS[1], 1795342681857) return redis.call('get', KEYS[1])",
    "return 2 ^ 53 .. ' ' .. 1795342681857 .. ' ' .. 0.1",
    "return string.format('%d', 2 ^ 53)",
    "return ARGV[2] + 1 .. ' ' .. #KEYS .. ' ' .. #ARGV .. ARGV[1] .. KEYS[1]",
    "return tostring(tonumber('0x10')) .. tostring(tonumber(' 12 ')) .. tostring(tonumber('1e3')) .. "
    "tostring(tonumber(''))",
    /* errors, with their lines */
    "return redis.call('hget', KEYS[1], 'f')",
    "local is = 1\n\nif is then\n  return redis.call('hget', KEYS[1], 'f')\nend",
    "local function f() redis.call('incrby', KEYS[1], '1') end\nf()",
    "local set = nil\nreturn set.err",
    "is = 1",
    "return is",
    "return redis.call('nosuch')",
    "return redis.call('get')",
    "return redis.call('get', {})",
    "error({err = 'ERR own'})",
    "redis.call('del', KEYS[1]) redis.call('hset', KEYS[1], 'f', 1) return redis.call('hget', KEYS[1], 'f')",
};

/* Writes the EVAL of a text with one key and two arguments. */
static void write_eval(struct buffer *to, const char *text)
{
	const struct bytes words[] = {text_bytes("EVAL"), text_bytes(text), text_bytes("1"),
	                              text_bytes("k"),    text_bytes("a"),  text_bytes("2")};
	resp_write(to, words, COUNT(words));
}

static void ask_server(const char *body, char *ret)
{
	struct buffer message = {0};
	struct raw raw;
	assert_int_equal(raw_open(&raw, servers.server[0].socket, FIXTURE_NODE_TIMEOUT_MS), 0);
	write_eval(&message, body);
	assert_int_equal(send(raw.fd, buffer_front(&message), message.length, MSG_NOSIGNAL), message.length);
	ssize_t size = recv(raw.fd, ret, ROOM - 1, 0);
	assert_in_range(size, 1, ROOM - 1);
	ret[size] = '\0';
	raw_close(&raw);
	buffer_free(&message);
}

static void ask_fake(struct redis *redis, unsigned body, char *ret)
{
	const struct rl_script_text *release = &rl_scripts[RL_SCRIPT_RELEASE];
	static struct script_edit edits[COUNT(bodies)][2]; /* the fake knows them by their addresses */
	struct session *session = redis_accept(redis);
	struct buffer inbox = {0}, out = {0};
	edits[body][0] = (struct script_edit){release->name, release->text, bodies[body]};
	redis->edits = edits[body];
	write_eval(&inbox, release->text);
	redis_serve(redis, session, &inbox, 1, &out);
	ret[buffer_take(&out, ret, ROOM - 1)] = '\0';
	redis_forget(redis, session);
	buffer_free(&inbox);
	buffer_free(&out);
}

/* Leaves the code of an error and its line: servers word the rest differently. */
static void cut_error(char *answer)
{
	const char *line = strstr(answer, " @user_script:");
	char rest[64] = "";
	if (*answer != '-')
		return;
	if (line != NULL)
		snprintf(rest, sizeof rest, "%s", line);
	snprintf(answer + strcspn(answer, " "), sizeof rest, "%s", rest);
}

TEST(scripts_answer_as_on_a_server)
{
	char want[ROOM], got[ROOM];
	for (unsigned i = 0; i < COUNT(bodies); i++) {
		struct redis redis = {.now_ms = 1000};
		redis_put(&redis, 0, text_bytes("k"), text_bytes("value"));
		server_must(&servers.server[0], "OK", "SET", "k", "value", NULL);
		ask_server(bodies[i], want);
		ask_fake(&redis, i, got);
		cut_error(want);
		cut_error(got);
		if (strcmp(want, got) != 0)
			fail_msg("%s\nserver: %s\nfake: %s", bodies[i], want, got);
		redis_free(&redis);
	}
}

SERVER_TESTS(1)
