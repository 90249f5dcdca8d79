/* SPDX-License-Identifier: MIT */
/* What the real server and the modelled node are made to be like, for some steps, and their sessions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "differential.h"
#include "resp.h"

static const enum redis_mode modes[PHASES] = {
    [PHASE_NORMAL] = REDIS_NORMAL,     [PHASE_OOM] = REDIS_OOM,   [PHASE_MISCONF] = REDIS_MISCONF,
    [PHASE_READONLY] = REDIS_READONLY, [PHASE_BUSY] = REDIS_BUSY, [PHASE_PASSWORD] = REDIS_NORMAL,
};

/* ---- sessions ---- */

int connect_real(struct diff *d)
{
	int fd = real_connect(&d->server);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 20}, sizeof(struct timeval));
	return fd;
}

/* Of the connection that was made last. */
static uint64_t newest_id(struct diff *d)
{
	uint64_t newest = 0;
	const char *list = REAL_ASK(d->control, "CLIENT", "LIST");
	for (const char *at = strchr(list, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
		uint64_t id = strncmp(at, "\nid=", 4) == 0 ? strtoull(at + 4, NULL, 10) : 0;
		newest = id > newest ? id : newest;
	}
	return newest;
}

void open_session(struct diff *d, struct pair *s)
{
	s->fd = connect_real(d);
	buffer_drop(&s->in, s->in.length);
	buffer_drop(&s->inbox, s->inbox.length);
	s->session = redis_accept(&d->redis);
	REAL_ASK(s->fd, "PING"); /* then it has been accepted */
	s->session->id = newest_id(d);
}

static void close_session(struct diff *d, struct pair *s)
{
	close(s->fd);
	redis_forget(&d->redis, s->session);
}

/* ---- phases ---- */

static void set_config(struct diff *d, const char *name, const char *value)
{
	if (strncmp(REAL_ASK(d->control, "CONFIG", "SET", name, value), "+OK", 3) != 0) {
		printf("CONFIG SET %s %s failed\n", name, value);
		exit(EXIT_FAILURE);
	}
}

void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* A background save that cannot write its file. */
static void fail_to_save(struct diff *d)
{
	rmdir(d->server.data);
	set_config(d, "save", "3600 1");
	REAL_ASK(d->control, "BGSAVE");
	while (strstr(REAL_ASK(d->control, "INFO", "persistence"), "rdb_last_bgsave_status:err") == NULL)
		pause_ms(5);
}

static void run_endless_script(struct diff *d)
{
	static const struct bytes words[] = {{"EVAL", 4}, {"while true do end", 17}, {"0", 1}};
	struct buffer out = {0};
	resp_write(&out, words, 3);
	real_send(d->script, &out);
	buffer_free(&out);
	while (strncmp(REAL_ASK(d->control, "PING"), "-BUSY", 5) != 0)
		pause_ms(1);
}

static void end_endless_script(struct diff *d)
{
	struct buffer in = {0}, reply = {0};
	while (strncmp(REAL_ASK(d->control, "SCRIPT", "KILL"), "+OK", 3) != 0)
		pause_ms(1);
	real_receive(d->script, &in, &reply);
	buffer_free(&in);
	buffer_free(&reply);
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
		REAL_ASK(d->control, "REPLICAOF", "127.0.0.1", "1");
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
		REAL_ASK(d->control, "REPLICAOF", "NO", "ONE");
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
