/* SPDX-License-Identifier: MIT */
/*
 * Runs the library's scripts, the very text that servers get, by the Lua that Redis is made with (5.1), over
 * the commands of this server: redis.call() returns the answer that a session would get. One interpreter
 * serves all servers of a process, one script after the other.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "scripts.h"

enum { KEYS = 2, FIRST_KEY };

static struct {
	pthread_mutex_t lock; /* servers of a test may be threads */
	lua_State *lua;
	const struct script_edit *edits; /* with which it was compiled */
	int compiled[RL_SCRIPT_COUNT];   /* references; 0: not yet */
	struct call *call;               /* the EVAL that runs */
	struct script script;
	struct buffer answer; /* of a command that it calls */
} interpreter = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "fake redis: %s: %s\n", name, what);
	abort();
}

/* ---- answers as Lua values ---- */

static void push_line(lua_State *lua, const char *field, const char *at, size_t size)
{
	lua_createtable(lua, 0, 1);
	lua_pushlstring(lua, at, size);
	lua_setfield(lua, -2, field);
}

static const char *push_answer(lua_State *lua, const char *at);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as an answer is */
static const char *push_array(lua_State *lua, const char *at, long count)
{
	lua_createtable(lua, (int)count, 0);
	for (int i = 1; i <= count; i++) {
		at = push_answer(lua, at);
		lua_rawseti(lua, -2, i);
	}
	return at;
}

/* Returns the begin of the next one. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as an answer is */
static const char *push_answer(lua_State *lua, const char *at)
{
	const char *end = (const char *)rawmemchr(at, '\r') + 2;
	long long number = strchr(":$*", *at) != NULL ? strtoll(at + 1, NULL, 10) : 0;
	if (*at == '+' || *at == '-') {
		push_line(lua, *at == '+' ? "ok" : "err", at + 1, (size_t)(end - at) - 3);
	} else if (*at == ':') {
		lua_pushnumber(lua, (lua_Number)number);
	} else if (number < 0) {
		lua_pushboolean(lua, false);
	} else if (*at == '*') {
		return push_array(lua, end, (long)number);
	} else {
		lua_pushlstring(lua, end, (size_t)number);
		end += number + 2;
	}
	return end;
}

/* ---- redis.call() and redis.pcall() ---- */

enum { DIGITS = 32 };

static void read_words(lua_State *lua, struct words *ret, char digits[RESP_WORDS][DIGITS])
{
	int count = lua_gettop(lua);
	if (count < 1 || count > RESP_WORDS)
		luaL_error(lua, "a call of %d words", count);
	ret->count = (unsigned)count;
	for (int i = 0; i < count; i++) {
		struct bytes *word = &ret->at[i];
		if (lua_type(lua, i + 1) == LUA_TNUMBER) {
			*word = (struct bytes){digits[i], 0};
			word->size = (size_t)snprintf(digits[i], DIGITS, "%.17g", lua_tonumber(lua, i + 1));
		} else {
			word->at = lua_tolstring(lua, i + 1, &word->size);
		}
		if (word->at == NULL)
			luaL_error(lua, "Lua redis lib command arguments must be strings or integers");
	}
}

/* Returns whether it is an error. */
static bool run_command(lua_State *lua)
{
	char digits[RESP_WORDS][DIGITS];
	struct call *outer = interpreter.call;
	struct call c;
	c.redis = outer->redis;
	c.session = outer->session;
	c.out = &interpreter.answer;
	c.asked = outer->asked;
	c.in_exec = c.inside = c.made = c.deleted = false;
	c.changes = outer->changes;
	c.script = &interpreter.script;
	read_words(lua, &c.w, digits);
	buffer_drop(c.out, c.out->length);
	call_from_script(&c);
	push_answer(lua, buffer_front(c.out));
	return *buffer_front(c.out) == '-';
}

static int redis_call(lua_State *lua)
{
	return run_command(lua) ? lua_error(lua) : 1;
}

static int redis_pcall(lua_State *lua)
{
	run_command(lua);
	return 1;
}

/* ---- the interpreter ---- */

/* buffer_realloc() is not realloc(3), which some tests replace. */
static void *allocate(void *nothing, void *block, size_t old_size, size_t size)
{
	(void)nothing;
	(void)old_size;
	if (size > 0)
		return buffer_realloc(block, size);
	free(block);
	return NULL;
}

static int refuse_global(lua_State *lua)
{
	return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
	                  lua_tostring(lua, 2));
}

static void lock_globals(lua_State *lua)
{
	lua_createtable(lua, 0, 2);
	lua_pushcfunction(lua, refuse_global);
	lua_setfield(lua, -2, "__index");
	lua_pushcfunction(lua, refuse_global);
	lua_setfield(lua, -2, "__newindex");
	lua_setmetatable(lua, LUA_GLOBALSINDEX);
}

static lua_State *open_lua(void)
{
	static const luaL_Reg libraries[] = {{"", luaopen_base},
	                                     {LUA_TABLIBNAME, luaopen_table},
	                                     {LUA_STRLIBNAME, luaopen_string},
	                                     {LUA_MATHLIBNAME, luaopen_math}};
	static const luaL_Reg redis[] = {{"call", redis_call}, {"pcall", redis_pcall}, {NULL, NULL}};
	static const char *const absent[] = {"dofile", "loadfile", "print"};
	lua_State *lua = lua_newstate(allocate, NULL);
	for (unsigned i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		lua_pushcfunction(lua, libraries[i].func);
		lua_pushstring(lua, libraries[i].name);
		lua_call(lua, 1, 0);
	}
	for (unsigned i = 0; i < sizeof absent / sizeof absent[0]; i++) {
		lua_pushnil(lua);
		lua_setglobal(lua, absent[i]);
	}
	luaL_register(lua, "redis", redis);
	lua_settop(lua, 0);
	lua_pushvalue(lua, LUA_GLOBALSINDEX);
	lock_globals(lua);
	lua_settop(lua, 0);
	return lua;
}

/* ---- the scripts ---- */

static bool is_of(const struct script_edit *edit, unsigned script)
{
	return edit->script == NULL || strcmp(edit->script, rl_scripts[script].name) == 0;
}

/* An edit that finds nothing breaks nothing. */
static void check_edits(const struct script_edit *edits)
{
	for (; edits != NULL && edits->find != NULL; edits++) {
		bool found = false;
		for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++)
			found |= is_of(edits, i) && strstr(rl_scripts[i].text, edits->find) != NULL;
		if (!found)
			die(edits->find, "no script has this text, which an edit replaces");
	}
}

static void edit(struct buffer *text, const struct script_edit *edit)
{
	struct buffer old = *text;
	const char *at = buffer_front(&old), *found;
	*text = (struct buffer){0};
	while ((found = strstr(at, edit->find)) != NULL) {
		buffer_append(text, at, (size_t)(found - at));
		buffer_append(text, edit->replace, strlen(edit->replace));
		at = found + strlen(edit->find);
	}
	buffer_append(text, at, strlen(at) + 1);
	buffer_free(&old);
}

static int compile(lua_State *lua, unsigned script)
{
	struct buffer text = {0};
	const struct script_edit *e = interpreter.edits;
	buffer_append(&text, rl_scripts[script].text, rl_scripts[script].length + 1);
	for (; e != NULL && e->find != NULL; e++)
		if (is_of(e, script))
			edit(&text, e);
	if (luaL_loadbuffer(lua, buffer_front(&text), text.length - 1, "@user_script") != 0)
		die(lua_tostring(lua, -1), rl_scripts[script].name);
	buffer_free(&text);
	return luaL_ref(lua, LUA_REGISTRYINDEX);
}

static void push_script(lua_State *lua, const struct script_edit *edits, unsigned script)
{
	if (edits != interpreter.edits) {
		check_edits(edits);
		for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++)
			if (interpreter.compiled[i] != 0)
				luaL_unref(lua, LUA_REGISTRYINDEX, interpreter.compiled[i]);
		memset(interpreter.compiled, 0, sizeof interpreter.compiled);
		interpreter.edits = edits;
	}
	if (interpreter.compiled[script] == 0)
		interpreter.compiled[script] = compile(lua, script);
	lua_rawgeti(lua, LUA_REGISTRYINDEX, interpreter.compiled[script]);
}

static void set_words(lua_State *lua, const char *global, const struct bytes *words, unsigned count)
{
	lua_pushstring(lua, global);
	lua_createtable(lua, (int)count, 0);
	for (unsigned i = 0; i < count; i++) {
		lua_pushlstring(lua, words[i].at, words[i].size);
		lua_rawseti(lua, -2, (int)i + 1);
	}
	lua_rawset(lua, LUA_GLOBALSINDEX);
}

/* ---- the answer of a script ---- */

static void reply_value(struct call *c, lua_State *lua);

/* An array ends before its first nil. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a script's tables are */
static void reply_array(struct call *c, lua_State *lua)
{
	int count = 0;
	for (bool more = true; more; lua_pop(lua, 1)) {
		lua_rawgeti(lua, -1, count + 1);
		more = !lua_isnil(lua, -1);
		count += more;
	}
	call_reply_array(c, (unsigned)count);
	for (int i = 1; i <= count; i++) {
		lua_rawgeti(lua, -1, i);
		reply_value(c, lua);
		lua_pop(lua, 1);
	}
}

/* False: the table has no such text. */
static bool reply_line(struct call *c, lua_State *lua, char mark, const char *field)
{
	lua_getfield(lua, -1, field);
	bool is = lua_type(lua, -1) == LUA_TSTRING;
	if (is) {
		buffer_append(c->out, &mark, 1);
		call_reply(c, lua_tostring(lua, -1));
	}
	lua_pop(lua, 1);
	return is;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a script's tables are */
static void reply_value(struct call *c, lua_State *lua)
{
	struct bytes text;
	switch (lua_type(lua, -1)) {
	case LUA_TSTRING:
		text.at = lua_tolstring(lua, -1, &text.size);
		call_reply_bulk(c, text);
		break;
	case LUA_TNUMBER:
		call_reply_number(c, (int64_t)lua_tonumber(lua, -1));
		break;
	case LUA_TBOOLEAN:
		call_reply(c, lua_toboolean(lua, -1) ? ":1" : "$-1");
		break;
	case LUA_TTABLE:
		if (!reply_line(c, lua, '-', "err") && !reply_line(c, lua, '+', "ok"))
			reply_array(c, lua);
		break;
	default:
		call_reply(c, "$-1");
		break;
	}
}

/* The line of the script at which it failed: in a table, with what a command was answered; what is no such
 * answer is a mistake in the script. */
static int note_line(lua_State *lua)
{
	lua_Debug at = {0};
	for (int level = 1; lua_getstack(lua, level, &at) != 0; level++) {
		lua_getinfo(lua, "Sl", &at);
		if (*at.what != 'C')
			break;
	}
	if (!lua_istable(lua, 1)) {
		call_wrong(interpreter.call, "script: %s", lua_tostring(lua, 1));
		lua_createtable(lua, 0, 2);
		lua_pushfstring(lua, "ERR %s", lua_tostring(lua, 1));
		lua_setfield(lua, -2, "err");
	}
	lua_pushinteger(lua, at.currentline);
	lua_setfield(lua, -2, "line");
	return 1;
}

static void reply_failed(struct call *c, lua_State *lua, const char *sha)
{
	lua_getfield(lua, -1, "err");
	lua_getfield(lua, -2, "line");
	call_reply_text(c, "-%s script: %s, on @user_script:%d.", lua_tostring(lua, -2), sha,
	                (int)lua_tointeger(lua, -1));
}

static void run(struct call *c, unsigned script, unsigned keys)
{
	lua_State *lua = interpreter.lua != NULL ? interpreter.lua : (interpreter.lua = open_lua());
	interpreter.call = c;
	interpreter.script = (struct script){.heir = KEY_NOBODY};
	lua_pushcfunction(lua, note_line);
	push_script(lua, c->redis->edits, script);
	set_words(lua, "KEYS", &c->w.at[FIRST_KEY], keys);
	set_words(lua, "ARGV", &c->w.at[FIRST_KEY + keys], c->w.count - FIRST_KEY - keys);
	if (lua_pcall(lua, 0, 1, 1) == 0)
		reply_value(c, lua);
	else
		reply_failed(c, lua, rl_scripts[script].sha);
	lua_settop(lua, 0);
	c->heir = interpreter.script.heir;
}

void call_script(struct call *c, enum rl_script script)
{
	int64_t keys;
	if (!call_integer(c, c->w.at[KEYS], &keys))
		return;
	if (keys < 0 || keys > (int64_t)c->w.count - FIRST_KEY) {
		call_reply(c, keys < 0 ? "-ERR Number of keys can't be negative"
		                       : "-ERR Number of keys can't be greater than number of args");
		return;
	}
	pthread_mutex_lock(&interpreter.lock);
	run(c, (unsigned)script, (unsigned)keys);
	pthread_mutex_unlock(&interpreter.lock);
}
