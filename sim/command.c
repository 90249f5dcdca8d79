/* SPDX-License-Identifier: MIT */
/*
 * The commands of a modelled server: those that the library uses, as redis-server 7.0 answers them. What the
 * library must never send (unknown commands, wrong numbers of words) is a violation. Here: the table, and the
 * commands on connections.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"

/* ---- commands on connections ---- */

static void run_ping(struct call *c)
{
	call_reply(c, "+PONG");
}

static void run_auth(struct call *c)
{
	const struct plan *plan = &c->w->plan;
	struct bytes user = c->count == 3 ? c->words[1] : text_bytes("default");
	struct bytes password = c->words[c->count - 1];
	if (plan->password == NULL) {
		call_reply(c, "-ERR AUTH <password> called without any password configured for the default user.");
	} else if (word_is(user, plan->user != NULL ? plan->user : "default") &&
	           bytes_equal(password, text_bytes(plan->password)) && !c->node->other_password) {
		c->conn->session.greeted = true;
		call_reply(c, "+OK");
	} else {
		call_reply(c, "-WRONGPASS invalid username-password pair or user is disabled.");
	}
}

static void run_select(struct call *c)
{
	int64_t number = word_number(c->words[1]);
	if (number < 0 || number > 15 || c->node->no_database) {
		call_reply(c, "-ERR DB index is out of range");
		return;
	}
	c->conn->session.database = (unsigned)number;
	call_reply(c, "+OK");
}

static void run_client(struct call *c)
{
	if (word_is(c->words[1], "ID") && c->count == 2) {
		call_reply_number(c, (int64_t)c->conn->session.id);
	} else if (word_is(c->words[1], "KILL") && c->count == 4 && word_is(c->words[2], "ID")) {
		uint64_t id = (uint64_t)word_number(c->words[3]);
		if (c->node->kill_denied)
			call_reply(c, "-NOPERM this user has no permissions to run the 'client|kill' command");
		else if (id == c->conn->session.id) /* SKIPME is the default */
			call_reply_number(c, 0);
		else
			call_reply_number(c, node_kill_session(c->w, c->conn->node, id) ? 1 : 0);
	} else {
		check_fail(c->w, VIOLATION_PROTOCOL, "CLIENT with unknown words");
	}
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

/* ---- the table ---- */

enum { ANYBODY = 1, WHILE_LOADING = 2, WHILE_BUSY = 4 };

static const struct command {
	const char *name;
	unsigned words_min;
	unsigned words_max;
	unsigned allowed;
	void (*run)(struct call *c);
} commands[] = {
    {"SET", 6, 6, 0, run_set},
    {"EVALSHA", 4, 6, 0, run_evalsha},
    {"EVAL", 4, 6, 0, run_eval},
    {"PING", 1, 1, 0, run_ping},
    {"CLIENT", 2, 4, WHILE_LOADING, run_client},
    {"INFO", 1, 2, WHILE_LOADING, run_info},
    {"AUTH", 2, 3, ANYBODY | WHILE_LOADING | WHILE_BUSY, run_auth},
    {"SELECT", 2, 2, WHILE_LOADING, run_select},
    {"GET", 2, 2, 0, run_get},
    {"DEL", 2, 2, 0, run_del},
    {"PEXPIRE", 3, 3, 0, run_pexpire},
    {"PTTL", 2, 2, 0, run_pttl},
    {"TYPE", 2, 2, 0, run_type},
};

/* A command that is refused before it is looked at; NULL: it may run. */
static const char *refusal(const struct call *c, const struct command *command)
{
	if (!c->conn->session.greeted && (command->allowed & ANYBODY) == 0)
		return "-NOAUTH Authentication required.";
	if (c->node->mode == MODE_LOADING && (command->allowed & WHILE_LOADING) == 0)
		return "-LOADING Redis is loading the dataset in memory";
	if (c->node->mode == MODE_BUSY && (command->allowed & WHILE_BUSY) == 0)
		return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
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
	if (strcmp(name, "SET") == 0)
		token = c->words[2];
	else if (strncmp(name, "EVAL", 4) == 0 && c->count > SCRIPT_TOKEN)
		token = c->words[SCRIPT_TOKEN];
	TRACE(c->w, "n%u conn %u of c%u: %s%s %.8s -> %s", c->conn->node, c->conn_number, c->conn->actor, name,
	      c->count > SCRIPT_TTL && strncmp(name, "EVAL", 4) == 0 ? " (extend)" : "",
	      token.size >= 8 ? token.at : "-", answer);
}

void call_execute(struct call *c)
{
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		const struct command *command = &commands[i];
		if (!word_is(c->words[0], command->name))
			continue;
		if (c->count < command->words_min || c->count > command->words_max)
			break;
		size_t replied_from = c->out->length;
		const char *refused = refusal(c, command);
		if (refused != NULL)
			call_reply(c, refused);
		else
			command->run(c);
		c->w->cover->commands++;
		if (c->w->trace.on)
			trace_call(c, command->name, replied_from);
		return;
	}
	check_fail(c->w, VIOLATION_PROTOCOL, "command '%.*s' with %u words", (int)c->words[0].size,
	           c->words[0].at, c->count);
}
