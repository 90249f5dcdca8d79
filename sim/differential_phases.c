/* SPDX-License-Identifier: MIT */
/* Puts the real server and the modelled node into the same state for some steps, and opens their sessions. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "differential.h"
#include "resp.h"
#include "wait.h"

static const enum redis_mode modes[PHASES] = {
    [PHASE_NORMAL] = REDIS_NORMAL,     [PHASE_OOM] = REDIS_OOM,   [PHASE_MISCONF] = REDIS_MISCONF,
    [PHASE_READONLY] = REDIS_READONLY, [PHASE_BUSY] = REDIS_BUSY, [PHASE_PASSWORD] = REDIS_NORMAL,
};

/* ---- sessions ---- */

void connect_real(struct diff *d, struct raw *ret)
{
	if (raw_open(ret, d->servers.server[0].socket, 20000) != 0)
		child_die("the server takes no connection");
}

const char *ask_real(struct raw *raw, const char *const *words)
{
	static struct raw_reply reply;
	struct raw_arg args[RESP_WORDS];
	size_t count = 0;
	for (; words[count] != NULL; count++)
		args[count] = (struct raw_arg){words[count], strlen(words[count])};
	if (raw_send(raw, args, count) != 0 || raw_receive(raw, &reply) != 0)
		child_die(words[0]);
	return reply.text;
}

bool send_real(struct pair *s, const struct buffer *bytes)
{
	size_t sent = 0;
	while (sent < bytes->length) {
		ssize_t n = send(s->raw.fd, buffer_front(bytes) + sent, bytes->length - sent, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return false;
		sent += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* The size of the reply at the front; 0: not all there. An array is as many replies more as it has items. */
static size_t reply_size(const char *at, size_t size)
{
	size_t used = 0;
	for (long open = 1; open > 0; open--) {
		const char *end = used < size ? memchr(at + used, '\n', size - used) : NULL;
		if (end == NULL)
			return 0;
		char mark = at[used];
		long number = strtol(at + used + 1, NULL, 10);
		used = (size_t)(end - at) + 1;
		if (mark == '$' && number >= 0)
			used += (size_t)number + 2;
		if (mark == '*' && number > 0)
			open += number;
	}
	return used <= size ? used : 0;
}

bool receive_real(struct pair *s, struct buffer *reply)
{
	size_t size;
	while ((size = reply_size(buffer_front(&s->in), s->in.length)) == 0) {
		char bytes[4096];
		ssize_t n = recv(s->raw.fd, bytes, sizeof bytes, 0);
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0)
			buffer_append(&s->in, bytes, (size_t)n);
	}
	buffer_move(reply, &s->in, size);
	return true;
}

/* The id of the connection that was made last. */
static uint64_t newest_id(struct diff *d)
{
	uint64_t newest = 0;
	const char *list = ASK(d, "CLIENT", "LIST");
	for (const char *at = list; at != NULL; at = strchr(at, '\n'), at += at != NULL) {
		uint64_t id = strncmp(at, "id=", 3) == 0 ? strtoull(at + 3, NULL, 10) : 0;
		newest = id > newest ? id : newest;
	}
	return newest;
}

void open_session(struct diff *d, struct pair *s)
{
	static const char *const ping[] = {"PING", NULL};
	connect_real(d, &s->raw);
	buffer_drop(&s->in, s->in.length);
	buffer_drop(&s->inbox, s->inbox.length);
	s->session = redis_accept(&d->redis);
	ask_real(&s->raw, ping); /* then it has been accepted */
	s->session->id = newest_id(d);
}

static void close_session(struct diff *d, struct pair *s)
{
	raw_close(&s->raw);
	redis_forget(&d->redis, s->session);
}

/* ---- phases ---- */

static void set_config(struct diff *d, const char *name, const char *value)
{
	if (strncmp(ASK(d, "CONFIG", "SET", name, value), "OK", 2) != 0) {
		printf("CONFIG SET %s %s failed\n", name, value);
		exit(EXIT_FAILURE);
	}
}

/* A background save that cannot write its file. */
static void fail_to_save(struct diff *d)
{
	rmdir(d->servers.server[0].dir);
	set_config(d, "save", "3600 1");
	ASK(d, "BGSAVE");
	while (strstr(ASK(d, "INFO", "persistence"), "rdb_last_bgsave_status:err") == NULL)
		wait_ms(5);
}

static void run_endless_script(struct diff *d)
{
	static const struct raw_arg words[] = {{"EVAL", 4}, {"while true do end", 17}, {"0", 1}};
	raw_send(&d->script, words, 3);
	while (strncmp(ASK(d, "PING"), "BUSY", 4) != 0)
		wait_ms(1);
}

static void end_endless_script(struct diff *d)
{
	static struct raw_reply reply;
	while (strncmp(ASK(d, "SCRIPT", "KILL"), "OK", 2) != 0)
		wait_ms(1);
	raw_receive(&d->script, &reply);
}

void begin_phase(struct diff *d, enum phase phase)
{
	d->phase = phase;
	d->redis.mode = modes[phase];
	switch (phase) {
	case PHASE_OOM:
		set_config(d, "maxmemory", "1");
		break;
	case PHASE_MISCONF:
		fail_to_save(d);
		break;
	case PHASE_READONLY:
		ASK(d, "REPLICAOF", "127.0.0.1", "1");
		break;
	case PHASE_BUSY:
		run_endless_script(d);
		break;
	case PHASE_PASSWORD:
		set_config(d, "requirepass", "secret");
		d->redis.password = "secret";
		for (int i = 0; i < SESSIONS; i++) {
			close_session(d, &d->sessions[i]);
			open_session(d, &d->sessions[i]);
		}
		break;
	default:
		break;
	}
}

void end_phase(struct diff *d)
{
	switch (d->phase) {
	case PHASE_OOM:
		set_config(d, "maxmemory", "0");
		break;
	case PHASE_MISCONF:
		set_config(d, "save", "");
		break;
	case PHASE_READONLY:
		ASK(d, "REPLICAOF", "NO", "ONE");
		d->redis.promoted = true;
		break;
	case PHASE_BUSY:
		end_endless_script(d);
		break;
	case PHASE_PASSWORD:
		set_config(d, "requirepass", "");
		d->redis.password = NULL;
		for (int i = 0; i < SESSIONS; i++)
			d->sessions[i].session->greeted = true;
		break;
	default:
		break;
	}
}
