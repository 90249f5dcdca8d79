/* SPDX-License-Identifier: MIT */
/*
 * The commands of a modelled server: those that the library uses, as redis-server 7.0 answers them. What the
 * library must never send (unknown commands, wrong numbers of words) is a violation. Here: the table, and the
 * commands on connections.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "command_multi.h"

/* ---- commands on connections ---- */

static void run_ping(struct call *c)
{
	if (c->node->mode == MODE_MISCONF) /* tells who only looks */
		call_reply(c, call_write_refused(c));
	else if (c->count == 2)
		call_reply_bulk(c, c->words[1]);
	else
		call_reply(c, "+PONG");
}

/* Some servers do so without a word while answers of the connection are unsent (addAuthErrReply()). */
static void refuse_login(struct call *c)
{
	if (!c->node->quiet_login || c->out->length == 0)
		call_reply(c, "-WRONGPASS invalid username-password pair or user is disabled.");
}

static void run_auth(struct call *c)
{
	const struct plan *plan = &c->w->plan;
	struct bytes user = c->count == 3 ? c->words[1] : text_bytes("default");
	struct bytes password = c->words[c->count - 1];
	if (plan->password == NULL && c->count == 2) {
		call_reply(
		    c, "-ERR AUTH <password> called without any password configured for the default user. Are you "
		       "sure your configuration is correct?");
	} else if (plan->password == NULL && word_is(user, "default")) {
		call_reply(c, "+OK"); /* any will do */
	} else if (plan->password == NULL) {
		refuse_login(c);
	} else if (word_is(user, plan->user != NULL ? plan->user : "default") &&
	           bytes_equal(password, text_bytes(plan->password)) && !c->node->other_password) {
		c->conn->session.greeted = true;
		call_reply(c, "+OK");
	} else {
		refuse_login(c);
	}
}

static void run_select(struct call *c)
{
	int64_t number;
	if (!word_integer(c->words[1], &number)) {
		call_reply(c, "-ERR value is not an integer or out of range");
		return;
	}
	if (number < 0 || number > 15 || c->node->no_database) {
		call_reply(c, "-ERR DB index is out of range");
		return;
	}
	c->conn->session.database = (unsigned)number;
	call_reply(c, "+OK");
}

static void run_client_id(struct call *c)
{
	call_reply_number(c, (int64_t)c->conn->session.id);
}

static void run_client_kill(struct call *c)
{
	if (c->count != 4 || !word_is(c->words[2], "ID")) {
		check_fail(c->w, VIOLATION_PROTOCOL, "CLIENT KILL without ID");
		call_reply(c, "-ERR syntax error");
		return;
	}
	int64_t id = word_number(c->words[3]);
	if (c->node->kill_denied)
		call_reply(c, "-NOPERM this user has no permissions to run the 'client|kill' command");
	else if (id <= 0)
		call_reply(c, "-ERR client-id should be greater than 0");
	else if ((uint64_t)id == c->conn->session.id) /* SKIPME is the default */
		call_reply_number(c, 0);
	else
		call_reply_number(c, node_kill_session(c->w, c->conn->node, (uint64_t)id) ? 1 : 0);
}

static void run_info(struct call *c)
{
	char text[256];
	if (c->node->info_denied) {
		call_reply(c, "-NOPERM this user has no permissions to run the 'info' command");
		return;
	}
	snprintf(text, sizeof text,
	         "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%s\r\ntcp_port:6379\r\n",
	         c->node->run_id);
	call_reply_bulk(c, text_bytes(text));
}

/* How many elements, and that they are there, is all that the library reads. */
static void run_command_info(struct call *c)
{
	char head[16];
	snprintf(head, sizeof head, "*%u", c->count - 2);
	call_reply(c, head);
	for (unsigned i = 2; i < c->count; i++) {
		bool has = (word_is(c->words[i], "delex") && c->node->native == NATIVE_DELEX) ||
		           (word_is(c->words[i], "delifeq") && c->node->native == NATIVE_DELIFEQ);
		call_reply(c, has ? "*3\r\n$5\r\ndelex\r\n:-2\r\n*2\r\n+write\r\n+fast" : "$-1");
	}
}

/* ---- the table ---- */

/* FOREIGN: the library never sends it. AT_ONCE: never queued. */
/* INSIDE: it sends it only in a transaction. */
/* GROWS: what it writes needs memory. BESIDE: Valkey 9.1 runs it beside a script. */
enum {
	ANYBODY = 1,
	WHILE_LOADING = 2,
	WHILE_BUSY = 4,
	FOREIGN = 8,
	INSIDE = 16,
	WRITES = 32,
	AT_ONCE = 64,
	GROWS = 128,
	BESIDE = 256
};

static const struct command {
	const char *name; /* in lower case, with the subcommand as servers write it */
	unsigned words_min;
	unsigned words_max;
	unsigned flags;
	void (*run)(struct call *c);
} commands[] = {
    {"set", 3, MAX_WORDS, WRITES | GROWS, run_set},
    {"multi", 1, 1, WHILE_LOADING | WHILE_BUSY | AT_ONCE, run_multi},
    {"exec", 1, 1, WHILE_LOADING | AT_ONCE, run_exec},
    {"watch", 2, MAX_WORDS, WHILE_LOADING | WHILE_BUSY | AT_ONCE, run_watch},
    {"getrange", 4, 4, 0, run_getrange},
    {"strlen", 2, 2, INSIDE, run_strlen},
    {"command|info", 2, MAX_WORDS, WHILE_LOADING, run_command_info},
    {"delex", 4, 4, WRITES, run_delex},
    {"delifeq", 3, 3, WRITES, run_delifeq},
    {"evalsha", 3, 6, 0, run_evalsha},
    {"eval", 3, 6, 0, run_eval},
    {"client|id", 2, 2, WHILE_LOADING | BESIDE, run_client_id},
    {"client|kill", 3, 4, WHILE_LOADING, run_client_kill},
    {"info", 1, 2, WHILE_LOADING, run_info},
    {"auth", 2, 3, ANYBODY | WHILE_LOADING | WHILE_BUSY, run_auth},
    {"select", 2, 2, WHILE_LOADING | BESIDE, run_select},
    {"ping", 1, 2, FOREIGN, run_ping},
    {"get", 2, 2, FOREIGN, run_get},
    {"del", 2, 2, INSIDE | WRITES, run_del},
    {"pexpire", 3, 3, INSIDE | WRITES, run_pexpire},
    {"pttl", 2, 2, 0, run_pttl},
    {"type", 2, 2, INSIDE, run_type},
    {"hset", 4, 4, FOREIGN | WRITES | GROWS, run_hset},
    {"rpush", 3, 3, FOREIGN | WRITES | GROWS, run_rpush},
    {"script|flush", 2, 2, FOREIGN, run_script_flush},
};

/* A command that is refused before it is looked at; NULL: it may run. */
static const char *refusal(const struct call *c, const struct command *command)
{
	bool exec = command->run == run_exec;
	bool queues = multi_is_open(c) && !exec;
	if (c->in_exec)
		return NULL;
	if (!c->conn->session.greeted && (command->flags & ANYBODY) == 0)
		return "-NOAUTH Authentication required.";
	if (c->node->mode == MODE_LOADING &&
	    ((command->flags & WHILE_LOADING) == 0 || (exec && multi_has_commands(c))))
		return "-LOADING Redis is loading the dataset in memory";
	unsigned beside = WHILE_BUSY | (c->node->is_valkey_9 ? BESIDE : 0);
	if (c->node->mode == MODE_BUSY && (command->flags & beside) == 0)
		return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
	bool needs_memory = !c->node->queues_when_full || (command->flags & GROWS) != 0;
	if (queues && c->node->mode == MODE_OOM && needs_memory) /* so does the queue */
		return "-OOM command not allowed when used memory > 'maxmemory'.";
	if ((queues && (command->flags & WRITES) != 0) || (exec && multi_writes(c)))
		return call_write_refused(c);
	return NULL;
}

/* For the trace: the command's name and its key or other first word, and what was answered. */
static void trace_call(struct call *c, const char *name, size_t replied_from)
{
	char answer[48];
	size_t size = c->out->length - replied_from;
	if (size > sizeof answer - 1)
		size = sizeof answer - 1;
	memcpy(answer, buffer_front(c->out) + replied_from, size);
	answer[size] = '\0';
	answer[strcspn(answer, "\r\n")] = '\0';
	struct bytes token = {"", 0};
	if (strcmp(name, "set") == 0)
		token = c->words[2];
	else if (strncmp(name, "eval", 4) == 0 && c->count > SCRIPT_TOKEN)
		token = c->words[SCRIPT_TOKEN];
	TRACE(c->w, "n%u conn %u of c%u: %s%s %.8s -> %s", c->conn->node, c->conn_number, c->conn->actor, name,
	      c->count > SCRIPT_TTL && strncmp(name, "eval", 4) == 0 ? " (extend)" : "",
	      token.size >= 8 ? token.at : "-", answer);
}

static bool has_name(const struct call *c, const struct command *command)
{
	const char *bar = strchr(command->name, '|');
	if (bar == NULL)
		return word_is(c->words[0], command->name);
	return c->words[0].size == (size_t)(bar - command->name) &&
	       strncasecmp(c->words[0].at, command->name, c->words[0].size) == 0 && c->count > 1 &&
	       word_is(c->words[1], bar + 1);
}

static const struct command *look_up(const struct call *c)
{
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (has_name(c, &commands[i]))
			return &commands[i];
	return NULL;
}

/* The words behind a command, as servers quote them: in 128 characters, and on one line. */
static const char *quoted_words(const struct call *c)
{
	static char text[256];
	size_t used = 0;
	text[0] = '\0';
	for (unsigned i = 1; i < c->count && used < 128; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "'%.*s' ",
		                         (int)(c->words[i].size < 128 - used ? c->words[i].size : 128 - used),
		                         c->words[i].at);
	for (char *at = text; (at = strpbrk(at, "\r\n")) != NULL; at++)
		*at = ' ';
	return text;
}

/* For the differential test: what a server says to what the library never sends. */
static void refuse_unknown(struct call *c)
{
	char text[384];
	struct bytes name = c->words[0], sub = c->count > 1 ? c->words[1] : (struct bytes){"", 0};
	bool container = word_is(name, "CLIENT") || word_is(name, "SCRIPT");
	multi_fail(c);
	if (container && c->count == 1)
		snprintf(text, sizeof text, "-ERR wrong number of arguments for '%s' command",
		         word_is(name, "CLIENT") ? "client" : "script");
	else if (container)
		snprintf(text, sizeof text, "-ERR unknown subcommand '%.*s'. Try %s HELP.", (int)sub.size, sub.at,
		         word_is(name, "CLIENT") ? "CLIENT" : "SCRIPT");
	else
		snprintf(text, sizeof text, "-ERR unknown command '%.*s', with args beginning with: %s",
		         (int)name.size, name.at, quoted_words(c));
	call_reply(c, text);
}

static void refuse_count(struct call *c, const struct command *command)
{
	char text[96];
	multi_fail(c);
	snprintf(text, sizeof text, "-ERR wrong number of arguments for '%s' command", command->name);
	call_reply(c, text);
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

/* Newer servers have more commands. */
static bool is_missing(const struct call *c, const struct command *command)
{
	return (command->run == run_delex && c->node->native != NATIVE_DELEX) ||
	       (command->run == run_delifeq && c->node->native != NATIVE_DELIFEQ);
}

void call_execute(struct call *c)
{
	const struct command *command = look_up(c);
	if (command != NULL && is_missing(c, command))
		command = NULL;
	bool counted = command != NULL && c->count >= command->words_min && c->count <= command->words_max;
	size_t replied_from = c->out->length;
	bool inside = counted && (c->in_exec || multi_is_open(c));
	if (!counted || (command->flags & FOREIGN) != 0 || ((command->flags & INSIDE) != 0 && !inside))
		check_fail(c->w, VIOLATION_PROTOCOL, "command '%.*s' with %u words", (int)c->words[0].size,
		           c->words[0].at, c->count);
	c->w->cover->commands++;
	bool anybody = c->conn->session.greeted || (command != NULL && (command->flags & ANYBODY) != 0);
	if (c->node->is_valkey_9 && !anybody && !counted)
		call_reply(c, "-NOAUTH Authentication required.");
	else if (command == NULL)
		refuse_unknown(c);
	else if (!counted)
		refuse_count(c, command);
	else if (refusal(c, command) != NULL)
		refuse(c, command, refusal(c, command));
	else if (multi_is_open(c) && !c->in_exec && (command->flags & AT_ONCE) == 0)
		multi_queue(c, (command->flags & WRITES) != 0);
	else
		command->run(c);
	if (c->w->trace.on && command != NULL)
		trace_call(c, command->name, replied_from);
	if (c->w->plan.broken == BREAK_ANSWERS && !inside && prng_chance(&c->w->chaos, 10))
		c->out->length = replied_from;
}
