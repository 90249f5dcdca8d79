/* SPDX-License-Identifier: MIT */
/* A server that follows a script: one process, and one more per connection. See scripted.h. */
#include "scripted.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "resp.h"
#include "wait.h"

struct talk {
	int fd;
	const struct scripted_plan *plan;
	struct scripted_counts *counts;
	struct redis redis; /* of this connection alone: what no rule matches is its matter */
	struct buffer in;
};

/* Ends with the connection. */
static void talk_receive(struct talk *talk)
{
	char bytes[4096];
	ssize_t got = recv(talk->fd, bytes, sizeof bytes, 0);
	if (got <= 0)
		_exit(0);
	buffer_append(&talk->in, bytes, (size_t)got);
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

/* NULL: no rule matches. */
static const struct scripted_rule *rule_for(const struct talk *talk, struct bytes word)
{
	const struct scripted_rule *rule = talk->plan->rules;
	for (; rule != NULL && rule->command != NULL; rule++) {
		if (strcmp(rule->command, "*") == 0 || word_is(word, rule->command))
			return rule;
	}
	return NULL;
}

static void answer(struct talk *talk, struct session *session)
{
	size_t step = talk->plan->one_byte ? 1 : SIZE_MAX, size;
	struct words words;
	while ((size = resp_command(buffer_front(&talk->in), talk->in.length, &words)) == 0)
		talk_receive(talk);
	talk->counts->commands++;
	if (talk->plan->close_on_command || size == RESP_WRONG)
		_exit(0);
	const struct scripted_rule *rule = rule_for(talk, words.at[0]);
	if (rule == NULL) {
		struct buffer out = {0};
		talk->redis.now_ms = (int64_t)(wait_now_ns() / 1000000);
		redis_expire(&talk->redis);
		redis_serve(&talk->redis, session, &talk->in, 1, &out);
		talk_send(talk, buffer_front(&out), out.length, step);
		buffer_free(&out);
		return;
	}
	buffer_drop(&talk->in, size);
	talk_send(talk, rule->reply, strlen(rule->reply), step);
	if (talk->plan->flood > 0)
		talk_flood(talk);
	if (rule->close)
		_exit(0);
}

static void serve_connection(struct talk *talk)
{
	int on = 1;
	setsockopt(talk->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (talk->plan->early != NULL)
		talk_send(talk, talk->plan->early, strlen(talk->plan->early), SIZE_MAX);
	struct session *session = redis_accept(&talk->redis);
	for (;;)
		answer(talk, session);
}

/* Says why and ends, in order: what the client says meanwhile is read, lest a reset overtakes it. */
static void turn_away(struct talk *talk)
{
	talk_send(talk, talk->plan->greeting, strlen(talk->plan->greeting), SIZE_MAX);
	shutdown(talk->fd, SHUT_WR);
	for (;;)
		talk_receive(talk);
}

static void serve(int listener, const struct scripted_plan *plan, struct scripted_counts *counts)
{
	struct talk talk = {.plan = plan, .counts = counts, .redis.native = plan->native};
	/* Two servers with one identity would be refused as one server. */
	snprintf(talk.redis.run_id, sizeof talk.redis.run_id, "%040x", (unsigned)getpid());
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
	*scripted = (struct scripted){0};
	int listener = child_listen(0, &scripted->port);
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
