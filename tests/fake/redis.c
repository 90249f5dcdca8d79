/* SPDX-License-Identifier: MIT */
/*
 * The commands of a modelled server: those that the library uses, as redis-server 7.0 answers them. The ears
 * hear of commands that the library must never send (unknown ones, wrong numbers of words). Here: the table,
 * and the commands on connections.
 */
#include "redis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "redis_call.h"

/* ---- sessions ---- */

struct session *redis_accept(struct redis *r)
{
	if (r->open_count == r->open_capacity) {
		r->open_capacity = r->open_capacity ? r->open_capacity * 2 : 16;
		r->open = buffer_realloc(r->open, r->open_capacity * sizeof(void *));
	}
	struct session *s = buffer_realloc(NULL, sizeof *s);
	*s = (struct session){.greeted = r->password == NULL, .id = ++r->last_id, .owner = KEY_NOBODY};
	return r->open[r->open_count++] = s;
}

void redis_forget(struct redis *r, struct session *s)
{
	for (uint32_t i = 0; i < r->open_count; i++)
		if (r->open[i] == s) {
			r->open[i] = r->open[--r->open_count];
			multi_free(s);
			pubsub_free(s);
			buffer_free(&s->late);
			free(s);
			return;
		}
}

void redis_free(struct redis *r)
{
	while (r->open_count > 0)
		redis_forget(r, r->open[0]);
	free(r->open);
	r->open = NULL;
	r->open_capacity = 0;
	keyspace_clear(&r->keys);
}

/* ---- replies ---- */

void call_reply(struct call *c, const char *line)
{
	buffer_append(c->out, line, strlen(line));
	buffer_append(c->out, "\r\n", 2);
}

void call_reply_text(struct call *c, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	call_reply(c, text);
}

/* "<mark><number>" and the end of a line. */
static void reply_head(struct call *c, char mark, int64_t number)
{
	char text[32];
	size_t at = sizeof text;
	uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	text[--at] = '\n';
	text[--at] = '\r';
	do
		text[--at] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (number < 0)
		text[--at] = '-';
	text[--at] = mark;
	buffer_append(c->out, text + at, sizeof text - at);
}

void call_reply_number(struct call *c, int64_t number)
{
	reply_head(c, ':', number);
}

void call_reply_array(struct call *c, unsigned count)
{
	reply_head(c, '*', count);
}

void call_reply_bulk(struct call *c, struct bytes b)
{
	reply_head(c, '$', (int64_t)b.size);
	buffer_append(c->out, b.at, b.size);
	buffer_append(c->out, "\r\n", 2);
}

void call_wrong(struct call *c, const char *format, ...)
{
	char text[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (c->redis->ears != NULL && c->redis->ears->wrong != NULL)
		c->redis->ears->wrong(c->redis, text);
}

bool call_integer(struct call *c, struct bytes word, int64_t *ret_number)
{
	bool negative = word.size > 1 && word.at[0] == '-';
	struct bytes digits = {word.at + negative, word.size - negative};
	int64_t number = word_number(digits);
	bool padded = digits.size > 0 && digits.at[0] == '0' && (digits.size > 1 || negative);
	*ret_number = negative ? -number : number;
	if (number < 0 || padded)
		call_reply(c, "-ERR value is not an integer or out of range");
	return number >= 0 && !padded;
}

/* ---- commands on connections ---- */

static void run_ping(struct call *c)
{
	struct bytes word = c->w.count == 2 ? c->w.at[1] : text_bytes("");
	if (c->redis->mode == REDIS_MISCONF) { /* tells who only looks */
		call_reply(c, call_write_refused(c));
	} else if (c->session->channel_count > 0) {
		call_reply(c, "*2\r\n$4\r\npong");
		call_reply_bulk(c, word);
	} else if (c->w.count == 2) {
		call_reply_bulk(c, word);
	} else {
		call_reply(c, "+PONG");
	}
}

/* Some servers do so without a word while answers of the connection are unsent (addAuthErrReply()). */
static void refuse_login(struct call *c)
{
	if (!c->redis->quiet_login || c->out->length == 0)
		call_reply(c, "-WRONGPASS invalid username-password pair or user is disabled.");
}

static void run_auth(struct call *c)
{
	const struct redis *r = c->redis;
	struct bytes user = c->w.count == 3 ? c->w.at[1] : text_bytes("default");
	struct bytes password = c->w.at[c->w.count - 1];
	if (r->password == NULL && c->w.count == 2) {
		call_reply(
		    c, "-ERR AUTH <password> called without any password configured for the default user. Are you "
		       "sure your configuration is correct?");
	} else if (r->password == NULL && word_is(user, "default")) {
		call_reply(c, "+OK"); /* any will do */
	} else if (r->password != NULL && word_is(user, r->user != NULL ? r->user : "default") &&
	           bytes_equal(password, text_bytes(r->password))) {
		c->session->greeted = true;
		call_reply(c, "+OK");
	} else {
		refuse_login(c);
	}
}

static void run_select(struct call *c)
{
	int64_t number, databases = c->redis->databases != 0 ? c->redis->databases : 16;
	if (!call_integer(c, c->w.at[1], &number))
		return;
	if (number < 0 || number >= databases) {
		call_reply(c, "-ERR DB index is out of range");
		return;
	}
	c->session->database = (unsigned)number;
	call_reply(c, "+OK");
}

static void run_client_id(struct call *c)
{
	call_reply_number(c, (int64_t)c->session->id);
}

static bool kill_session(struct redis *r, uint64_t id)
{
	for (uint32_t i = 0; i < r->open_count; i++)
		if (r->open[i]->id == id) {
			if (r->ears != NULL && r->ears->killed != NULL)
				r->ears->killed(r, r->open[i]);
			return true;
		}
	return false;
}

static void run_client_kill(struct call *c)
{
	if (c->w.count != 4 || !word_is(c->w.at[2], "ID")) {
		call_wrong(c, "CLIENT KILL without ID");
		call_reply(c, "-ERR syntax error");
		return;
	}
	int64_t id = word_number(c->w.at[3]);
	if (c->redis->kill_denied)
		call_reply(c, "-NOPERM this user has no permissions to run the 'client|kill' command");
	else if (id <= 0)
		call_reply(c, "-ERR client-id should be greater than 0");
	else if ((uint64_t)id == c->session->id) /* SKIPME is the default */
		call_reply_number(c, 0);
	else
		call_reply_number(c, kill_session(c->redis, (uint64_t)id) ? 1 : 0);
}

static void run_info(struct call *c)
{
	char text[512];
	const struct redis *r = c->redis;
	if (r->info_denied) {
		call_reply(c, "-NOPERM this user has no permissions to run the 'info' command");
		return;
	}
	if (c->w.count > 1 && word_is(c->w.at[1], "replication"))
		snprintf(text, sizeof text,
		         "# Replication\r\nrole:%s\r\nconnected_slaves:0\r\nmaster_replid2:%040d\r\n",
		         r->mode == REDIS_READONLY ? "slave" : "master", r->promoted);
	else
		snprintf(
		    text, sizeof text,
		    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%s\r\ntcp_port:6379\r\n",
		    r->run_id);
	call_reply_bulk(c, text_bytes(text));
}

static void run_time(struct call *c)
{
	char seconds[24], micros[24];
	snprintf(seconds, sizeof seconds, "%lld", (long long)(c->redis->now_ms / 1000));
	snprintf(micros, sizeof micros, "%lld", (long long)(c->redis->now_ms % 1000 * 1000));
	call_reply_array(c, 2);
	call_reply_bulk(c, text_bytes(seconds));
	call_reply_bulk(c, text_bytes(micros));
}

/* How many elements, and that they are there, is all that the library reads. */
static void run_command_info(struct call *c)
{
	call_reply_text(c, "*%u", c->w.count - 2);
	for (unsigned i = 2; i < c->w.count; i++) {
		bool has = (word_is(c->w.at[i], "delex") && c->redis->native == NATIVE_DELEX) ||
		           (word_is(c->w.at[i], "delifeq") && c->redis->native == NATIVE_DELIFEQ);
		call_reply(c, has ? "*3\r\n$5\r\ndelex\r\n:-2\r\n*2\r\n+write\r\n+fast" : "$-1");
	}
}

/* ---- the table ---- */

/* STEP: the library sends it to open a connection or as a step of a transaction; INSIDE: between MULTI and
 * EXEC only. Of all others it sends what is a row of its table of operations (asked.h). */
/* AT_ONCE: never queued. GROWS: what it writes needs memory. BESIDE: Valkey 9.1 runs it beside a script.
 * LISTENING: also who has subscribed may send it, and the library does. SCRIPTED: the library's scripts call
 * it. */
enum {
	ANYBODY = 1,
	WHILE_LOADING = 2,
	WHILE_BUSY = 4,
	STEP = 8,
	INSIDE = 16,
	WRITES = 32,
	AT_ONCE = 64,
	GROWS = 128,
	BESIDE = 256,
	LISTENING = 512,
	SCRIPTED = 1024
};

static const struct command {
	const char *name; /* in lower case, with the subcommand as servers write it */
	unsigned words_min;
	unsigned words_max;
	unsigned flags;
	void (*run)(struct call *c);
} commands[] = {
    {"set", 3, RESP_WORDS, WRITES | GROWS | SCRIPTED, run_set},
    {"pttl", 2, 2, STEP | SCRIPTED, run_pttl},
    {"mget", 2, RESP_WORDS, SCRIPTED, run_mget},
    {"time", 1, 1, WHILE_LOADING | SCRIPTED, run_time},
    {"hdel", 3, RESP_WORDS, WRITES | SCRIPTED, run_hdel},
    {"hset", 4, RESP_WORDS, WRITES | GROWS | SCRIPTED, run_hset},
    {"hmget", 3, RESP_WORDS, STEP | SCRIPTED, run_hmget},
    {"hget", 3, 3, SCRIPTED, run_hget},
    {"hlen", 2, 2, SCRIPTED, run_hlen},
    {"hscan", 3, 5, SCRIPTED, run_hscan},
    {"get", 2, 2, SCRIPTED, run_get},
    {"del", 2, 2, INSIDE | WRITES | SCRIPTED, run_del},
    {"pexpire", 3, 3, INSIDE | WRITES | SCRIPTED, run_pexpire},
    {"pexpireat", 3, 3, WRITES | SCRIPTED, run_pexpireat},
    {"publish", 3, 3, WHILE_LOADING | SCRIPTED, run_publish},
    {"type", 2, 2, INSIDE | SCRIPTED, run_type},
    {"multi", 1, 1, WHILE_LOADING | WHILE_BUSY | AT_ONCE | STEP, run_multi},
    {"exec", 1, 1, WHILE_LOADING | AT_ONCE | STEP, run_exec},
    {"watch", 2, RESP_WORDS, WHILE_LOADING | WHILE_BUSY | AT_ONCE | STEP, run_watch},
    {"getrange", 4, 4, STEP | SCRIPTED, run_getrange},
    {"strlen", 2, 2, INSIDE | SCRIPTED, run_strlen},
    {"incrby", 3, 3, WRITES | GROWS | SCRIPTED, run_incrby},
    {"zadd", 4, 4, WRITES | GROWS | SCRIPTED, run_zadd},
    {"zrem", 3, 3, WRITES | SCRIPTED, run_zrem},
    {"zscore", 3, 3, SCRIPTED, run_zscore},
    {"zcount", 4, 4, SCRIPTED, run_zcount},
    {"zrevrange", 4, 5, SCRIPTED, run_zrevrange},
    {"zrevrangebyscore", 4, 8, SCRIPTED, run_zrevrangebyscore},
    {"zremrangebyscore", 4, 4, WRITES | SCRIPTED, run_zremrangebyscore},
    {"command|info", 2, RESP_WORDS, WHILE_LOADING | STEP, run_command_info},
    {"delex", 4, 4, WRITES, run_delex},
    {"delifeq", 3, 3, WRITES, run_delifeq},
    {"evalsha", 3, RESP_WORDS, 0, run_evalsha},
    {"eval", 3, RESP_WORDS, 0, run_eval},
    {"client|id", 2, 2, WHILE_LOADING | BESIDE | STEP, run_client_id},
    {"client|kill", 3, 4, WHILE_LOADING | STEP, run_client_kill},
    {"info", 1, 2, WHILE_LOADING | STEP | SCRIPTED, run_info},
    {"auth", 2, 3, ANYBODY | WHILE_LOADING | WHILE_BUSY | STEP, run_auth},
    {"select", 2, 2, WHILE_LOADING | BESIDE | STEP, run_select},
    {"ping", 1, 2, LISTENING, run_ping},
    {"subscribe", 2, RESP_WORDS, WHILE_LOADING | STEP | LISTENING, run_subscribe},
    {"unsubscribe", 1, RESP_WORDS, WHILE_LOADING | LISTENING, run_unsubscribe},
    {"rpush", 3, 3, WRITES | GROWS, run_rpush},
    {"script|flush", 2, 2, 0, run_script_flush},
};

/* A command that is refused before it is looked at; NULL: it may run. */
static const char *refusal(const struct call *c, const struct command *command)
{
	const struct redis *r = c->redis;
	bool exec = command->run == run_exec;
	bool queues = multi_is_open(c) && !exec;
	if (c->in_exec)
		return NULL;
	if (!c->session->greeted && (command->flags & ANYBODY) == 0)
		return "-NOAUTH Authentication required.";
	if (r->mode == REDIS_LOADING &&
	    ((command->flags & WHILE_LOADING) == 0 || (exec && multi_has_commands(c))))
		return "-LOADING Redis is loading the dataset in memory";
	unsigned beside = WHILE_BUSY | (r->is_valkey_9 ? BESIDE : 0);
	if (r->mode == REDIS_BUSY && (command->flags & beside) == 0)
		return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
	bool needs_memory = !r->queues_when_full || (command->flags & GROWS) != 0;
	if (queues && r->mode == REDIS_OOM && needs_memory) /* so does the queue */
		return call_memory_refused(c);
	if ((queues && (command->flags & WRITES) != 0) || (exec && multi_writes(c)))
		return call_write_refused(c);
	return NULL;
}

static bool has_name(const struct call *c, const struct command *command)
{
	const char *bar = strchr(command->name, '|');
	if ((*c->w.at[0].at | 0x20) != *command->name) /* a word is followed by its line end, at least */
		return false;
	if (bar == NULL)
		return word_is(c->w.at[0], command->name);
	return c->w.at[0].size == (size_t)(bar - command->name) &&
	       strncasecmp(c->w.at[0].at, command->name, c->w.at[0].size) == 0 && c->w.count > 1 &&
	       word_is(c->w.at[1], bar + 1);
}

/* Newer servers have more commands. */
static bool is_missing(const struct call *c, const struct command *command)
{
	return (command->run == run_delex && c->redis->native != NATIVE_DELEX) ||
	       (command->run == run_delifeq && c->redis->native != NATIVE_DELIFEQ);
}

static const struct command *look_up(const struct call *c)
{
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (has_name(c, &commands[i]))
			return is_missing(c, &commands[i]) ? NULL : &commands[i];
	return NULL;
}

/* The words after a command, as servers quote them: in 128 characters, and on one line. */
static const char *quoted_words(const struct call *c)
{
	static char text[256];
	size_t used = 0;
	text[0] = '\0';
	for (unsigned i = 1; i < c->w.count && used < 128; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "'%.*s' ",
		                         (int)(c->w.at[i].size < 128 - used ? c->w.at[i].size : 128 - used),
		                         c->w.at[i].at);
	for (char *at = text; (at = strpbrk(at, "\r\n")) != NULL; at++)
		*at = ' ';
	return text;
}

/* For the differential test: what a server says to what the library never sends. */
static void refuse_unknown(struct call *c)
{
	struct bytes name = c->w.at[0], sub = c->w.count > 1 ? c->w.at[1] : text_bytes("");
	bool client = word_is(name, "CLIENT"), container = client || word_is(name, "SCRIPT");
	multi_fail(c);
	if (container && c->w.count == 1)
		call_reply_text(c, "-ERR wrong number of arguments for '%s' command", client ? "client" : "script");
	else if (container)
		call_reply_text(c, "-ERR unknown subcommand '%.*s'. Try %s HELP.", (int)sub.size, sub.at,
		                client ? "CLIENT" : "SCRIPT");
	else
		call_reply_text(c, "-ERR unknown command '%.*s', with args beginning with: %s", (int)name.size,
		                name.at, quoted_words(c));
}

static void refuse(struct call *c, const struct command *command, const char *why)
{
	if (command->run == run_exec) {
		multi_abort(c, why);
		return;
	}
	multi_fail(c);
	call_reply(c, why);
}

/* A script that has written something is not stopped for memory. */
static const char *write_refused(const struct call *c, const struct command *command)
{
	if ((command->flags & WRITES) == 0)
		return NULL;
	bool goes_on = (command->flags & GROWS) == 0 || (c->script != NULL && c->script->written);
	return goes_on ? call_write_refused(c) : call_memory_refused(c);
}

static void run(struct call *c, const struct command *command)
{
	const char *why = write_refused(c, command);
	if (why != NULL) {
		call_reply(c, why);
		return;
	}
	if (c->script != NULL)
		c->script->written |= (command->flags & WRITES) != 0;
	command->run(c);
}

static void execute(struct call *c, const struct command *command, bool counted)
{
	bool anybody = c->session->greeted || (command != NULL && (command->flags & ANYBODY) != 0);
	const char *why = counted ? refusal(c, command) : NULL;
	const struct redis_ears *ears = c->redis->ears;
	if (c->redis->is_valkey_9 && !anybody && !counted) {
		call_reply(c, "-NOAUTH Authentication required.");
	} else if (command == NULL) {
		refuse_unknown(c);
	} else if (!counted) {
		multi_fail(c);
		call_reply_text(c, "-ERR wrong number of arguments for '%s' command", command->name);
	} else if (why != NULL) {
		refuse(c, command, why);
	} else if (c->session->channel_count > 0 && (command->flags & LISTENING) == 0) {
		call_reply_text(c,
		                "-ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
		                "RESET are allowed in this context",
		                command->name);
	} else if (multi_is_open(c) && !c->in_exec && (command->flags & AT_ONCE) == 0) {
		multi_queue(c, (command->flags & WRITES) != 0);
	} else {
		if (c->asked.op != NULL && c->asked.op->claims && ears != NULL && ears->claimed != NULL)
			ears->claimed(c->redis, c->session, c->asked.parts[RL_WORD_TOKEN]);
		run(c, command);
	}
}

static bool is_counted(const struct call *c, const struct command *command)
{
	return command != NULL && c->w.count >= command->words_min && c->w.count <= command->words_max;
}

/* The library sends this, and it has done what its row says. */
static void check(struct call *c, const struct command *command, bool counted)
{
	const struct rl_op *op = c->asked.op;
	unsigned may = STEP | (c->inside ? INSIDE : 0) | (c->session->channel_count > 0 ? LISTENING : 0);
	if (!counted || (op == NULL && (command->flags & may) == 0))
		call_wrong(c, "command '%.*s' with %u words", (int)c->w.at[0].size, c->w.at[0].at, c->w.count);
	else if (op != NULL &&
	         ((c->made && !op->claims && op != &rl_ops[RL_OP_HAND]) || (c->deleted && !op->gives_back)))
		call_wrong(c, "'%s' has %s a key", command->name, c->made ? "made" : "deleted");
}

void call_execute(struct call *c)
{
	const struct command *command = look_up(c);
	const struct redis_ears *ears = c->redis->ears;
	bool counted = is_counted(c, command);
	size_t answer = c->out->length;
	struct changes changes = {0};
	c->changes = &changes;
	c->heir = KEY_NOBODY;
	c->inside = c->in_exec || multi_is_open(c);
	c->made = c->deleted = false;
	c->asked.op = NULL;
	if (!c->inside)
		asked_read(&c->w, &c->asked);
	execute(c, command, counted);
	c->changes = &changes; /* those of what was queued had their own */
	changes_tell(c);
	check(c, command, counted);
	if (ears != NULL && ears->answered != NULL)
		ears->answered(c, command != NULL ? command->name : "?", answer);
}

void call_from_script(struct call *c)
{
	const struct command *command = look_up(c);
	bool counted = is_counted(c, command);
	if (counted && (command->flags & SCRIPTED) != 0) {
		run(c, command);
		return;
	}
	call_wrong(c, "'%.*s' with %u words, in a script", (int)c->w.at[0].size, c->w.at[0].at, c->w.count);
	call_reply(c, command == NULL ? "-ERR Unknown Redis command called from script"
	              : counted       ? "-ERR This Redis command is not allowed from script"
	                              : "-ERR Wrong number of args calling Redis command from script");
}

void redis_serve(struct redis *r, struct session *s, struct buffer *inbox, unsigned most, struct buffer *out)
{
	struct call call = {.redis = r, .session = s, .out = out};
	while (most-- > 0 && inbox->length > 0) {
		size_t size = resp_command(buffer_front(inbox), inbox->length, &call.w);
		if (size == RESP_WRONG) {
			call_wrong(&call, "not RESP: '%.*s'", inbox->length < 300 ? (int)inbox->length : 300,
			           buffer_front(inbox));
			s->stray = true;
		}
		if (size == 0 || size == RESP_WRONG)
			return;
		call_execute(&call);
		buffer_drop(inbox, size);
	}
}
