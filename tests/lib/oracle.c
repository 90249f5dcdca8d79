/* SPDX-License-Identifier: MIT */
/* The oracle: asks the servers for their real keys, over connections of its own. Declared in servers.h. */
#include <stdarg.h>
#include <stdio.h>

#include "child.h"
#include "servers.h"
#include "wait.h"

enum { MAX_WORDS = 24 };

static int ask_once(struct raw *raw, const struct raw_arg *args, size_t count, struct raw_reply *ret_reply)
{
	return raw_send(raw, args, count) == 0 ? raw_receive(raw, ret_reply) : -1;
}

const char *server_call(const struct server *server, const struct raw_arg *args, size_t count,
                        struct raw_reply *ret_reply)
{
	struct raw raw;
	memset(ret_reply, 0, offsetof(struct raw_reply, text) + 1);
	if (raw_open(&raw, server->socket, WAIT_SOON_MS) != 0)
		return ret_reply->text;
	if (server->password[0] != '\0') {
		struct raw_arg auth[] = {{"AUTH", 4}, {server->password, strlen(server->password)}};
		ask_once(&raw, auth, 2, ret_reply);
	}
	ask_once(&raw, args, count, ret_reply);
	raw_close(&raw);
	return ret_reply->text;
}

static size_t collect(struct raw_arg *args, const char *word, va_list rest)
{
	size_t count = 0;
	for (; word != NULL; word = va_arg(rest, const char *)) {
		if (count == MAX_WORDS)
			child_die("too many words in a command");
		args[count++] = (struct raw_arg){word, strlen(word)};
	}
	return count;
}

const char *server_ask(const struct server *server, struct raw_reply *ret_reply, const char *word, ...)
{
	struct raw_arg args[MAX_WORDS];
	va_list rest;
	va_start(rest, word);
	size_t count = collect(args, word, rest);
	va_end(rest);
	return server_call(server, args, count, ret_reply);
}

void server_must(const struct server *server, const char *answer, const char *word, ...)
{
	struct raw_arg args[MAX_WORDS];
	struct raw_reply reply;
	va_list rest;
	va_start(rest, word);
	size_t count = collect(args, word, rest);
	va_end(rest);
	server_call(server, args, count, &reply);
	if (reply.type == 0 || strcmp(reply.text, answer) != 0) {
		fprintf(stderr, "%s answered '%s' and not '%s'\n", word, reply.text, answer);
		child_die("a server did not do what the test needs");
	}
}

bool server_has(const struct server *server, const char *key)
{
	struct raw_reply reply;
	server_ask(server, &reply, "EXISTS", key, NULL);
	if (reply.type != ':')
		child_die("EXISTS was not answered");
	return reply.integer == 1;
}

bool server_has_value(const struct server *server, const char *key, const char *value)
{
	struct raw_reply reply;
	server_ask(server, &reply, "GET", key, NULL);
	return reply.type == '$' && reply.length == strlen(value) && memcmp(reply.text, value, reply.length) == 0;
}

long long server_pttl(const struct server *server, const char *key)
{
	struct raw_reply reply;
	server_ask(server, &reply, "PTTL", key, NULL);
	if (reply.type != ':')
		child_die("PTTL was not answered");
	return reply.integer;
}

long long server_key_count(const struct server *server)
{
	static const char offers[] = ":redlock:offers";
	struct raw_reply reply, remembered;
	server_ask(server, &reply, "DBSIZE", NULL);
	if (reply.type != ':')
		child_die("DBSIZE was not answered");
	server_ask(server, &remembered, "KEYS", "*:redlock:offers", NULL);
	const char *at = remembered.text;
	for (; (at = strstr(at, offers)) != NULL; at += sizeof offers - 1)
		reply.integer--;
	return reply.integer;
}

unsigned servers_with_key(const struct servers *servers, unsigned count, const char *key)
{
	unsigned found = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct server *server = &servers->server[i];
		if (server->pid != 0 && !server->paused && server_has(server, key))
			found++;
	}
	return found;
}

unsigned servers_with_value(const struct servers *servers, unsigned count, const char *key, const char *value)
{
	unsigned found = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct server *server = &servers->server[i];
		if (server->pid != 0 && !server->paused && server_has_value(server, key, value))
			found++;
	}
	return found;
}
