/* SPDX-License-Identifier: MIT */
/* A server that follows a script: one process, and one more per connection. See scripted.h. */
#include "scripted.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "wait.h"

struct talk {
	int fd;
	const struct scripted_plan *plan;
	struct scripted_counts *counts;
	char run_id[41];
	size_t at, end;
	char input[4096];
};

static int talk_byte(struct talk *talk)
{
	if (talk->at == talk->end) {
		ssize_t got = recv(talk->fd, talk->input, sizeof talk->input, 0);
		if (got <= 0)
			_exit(0);
		talk->at = 0;
		talk->end = (size_t)got;
	}
	return (unsigned char)talk->input[talk->at++];
}

static long talk_number(struct talk *talk)
{
	long number = 0;
	for (int byte = talk_byte(talk); byte != '\n'; byte = talk_byte(talk)) {
		if (isdigit(byte))
			number = number * 10 + (byte - '0');
	}
	return number;
}

/* Reads one request and keeps its first word, in capitals. */
static void talk_command(struct talk *talk, char *word, size_t size)
{
	long count = talk_number(talk);
	for (long i = 0; i < count; i++) {
		long length = talk_number(talk);
		for (long j = 0; j < length + 2; j++) {
			int byte = talk_byte(talk);
			if (i == 0 && j < length && (size_t)j + 1 < size) {
				word[j] = (char)toupper(byte);
				word[j + 1] = '\0';
			}
		}
	}
}

/* Returns how many bytes were taken before the client went. */
static size_t talk_send(struct talk *talk, const char *bytes, size_t size, size_t step)
{
	size_t at = 0;
	while (at < size) {
		size_t part = size - at < step ? size - at : step;
		ssize_t sent = send(talk->fd, bytes + at, part, MSG_NOSIGNAL);
		if (sent <= 0)
			break;
		at += (size_t)sent;
	}
	return at;
}

static void talk_flood(struct talk *talk)
{
	static char filler[65536];
	memset(filler, 'x', sizeof filler);
	for (size_t left = talk->plan->flood; left > 0;) {
		size_t part = left < sizeof filler ? left : sizeof filler;
		size_t sent = talk_send(talk, filler, part, part);
		talk->counts->flooded += sent;
		if (sent < part)
			_exit(0);
		left -= part;
	}
}

static const char *healthy_reply(const struct talk *talk, const char *word, char *buffer, size_t size)
{
	static const char *const table[][2] = {
	    {"SET", "+OK\r\n"},    {"EVAL", ":1\r\n"},   {"EVALSHA", ":1\r\n"},
	    {"CLIENT", ":1\r\n"},  {"AUTH", "+OK\r\n"},  {"SELECT", "+OK\r\n"},
	    {"PING", "+PONG\r\n"}, {"GET", "$-1\r\n"},   {"PTTL", ":-2\r\n"},
	    {"TYPE", "+none\r\n"}, {"EXISTS", ":0\r\n"}, {"COMMAND", "*2\r\n*-1\r\n*-1\r\n"},
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (strcmp(table[i][0], word) == 0)
			return table[i][1];
	}
	if (strcmp(word, "INFO") != 0)
		return "-ERR unknown command\r\n";
	snprintf(buffer, size, "$81\r\n# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\n\r\n", talk->run_id);
	return buffer;
}

/* NULL: no rule matches. */
static const struct scripted_rule *rule_for(const struct talk *talk, const char *word)
{
	const struct scripted_rule *rule = talk->plan->rules;
	for (; rule != NULL && rule->command != NULL; rule++) {
		if (strcmp(rule->command, "*") == 0 || strcmp(rule->command, word) == 0)
			return rule;
	}
	return NULL;
}

static void serve_connection(struct talk *talk)
{
	int on = 1;
	setsockopt(talk->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (talk->plan->early != NULL)
		talk_send(talk, talk->plan->early, strlen(talk->plan->early), SIZE_MAX);
	for (;;) {
		char word[32] = "";
		char buffer[128];
		talk_command(talk, word, sizeof word);
		talk->counts->commands++;
		if (talk->plan->close_on_command)
			_exit(0);
		const struct scripted_rule *rule = rule_for(talk, word);
		const char *reply = rule != NULL ? rule->reply : healthy_reply(talk, word, buffer, sizeof buffer);
		talk_send(talk, reply, strlen(reply), talk->plan->one_byte ? 1 : SIZE_MAX);
		if (rule != NULL && talk->plan->flood > 0)
			talk_flood(talk);
		if (rule != NULL && rule->close)
			_exit(0);
	}
}

/* Says why and ends, in order: what the client says meanwhile is read, so that no reset overtakes the reason.
 */
static void turn_away(struct talk *talk)
{
	talk_send(talk, talk->plan->greeting, strlen(talk->plan->greeting), SIZE_MAX);
	shutdown(talk->fd, SHUT_WR);
	for (;;)
		talk_byte(talk);
}

static void serve(int listener, const struct scripted_plan *plan, struct scripted_counts *counts)
{
	struct talk talk = {.plan = plan, .counts = counts};
	/* Two servers with one identity would be refused as one server. */
	snprintf(talk.run_id, sizeof talk.run_id, "%040x", (unsigned)getpid());
	signal(SIGCHLD, SIG_IGN); /* nobody waits for the connections' processes */
	for (;;) {
		talk.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (talk.fd < 0)
			continue;
		counts->connections++;
		if (!plan->close_on_accept && child_fork() == 0) {
			close(listener);
			if (plan->greeting != NULL)
				turn_away(&talk);
			serve_connection(&talk);
		}
		close(talk.fd);
	}
}

void scripted_start(struct scripted *scripted, const struct scripted_plan *plan)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 64) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) != 0)
		child_die("the scripted server cannot listen");
	*scripted = (struct scripted){.port = ntohs(address.sin_port)};
	snprintf(scripted->url, sizeof scripted->url, "redis://127.0.0.1:%d", scripted->port);
	scripted->counts =
	    mmap(NULL, sizeof *scripted->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (scripted->counts == MAP_FAILED)
		child_die("mmap");
	scripted->pid = child_fork();
	if (scripted->pid == 0) {
		child_detach(&listener, 1);
		serve(listener, plan, scripted->counts);
	}
	close(listener);
}

void scripted_stop(struct scripted *scripted)
{
	child_kill(scripted->pid);
	munmap(scripted->counts, sizeof *scripted->counts);
	scripted->pid = 0;
}
