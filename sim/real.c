/* SPDX-License-Identifier: MIT */
/*
 * redlock-sim-real: some clients contend for a lock on real servers. Writes a record of each step of their
 * cores, and of each command of the servers, to standard output, in the order of time (real.h).
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "child.h"
#include "client.h"
#include "raw.h"
#include "real.h"
#include "record.h"
#include "servers.h"

enum { TTL_MS = 30000, DRAIN_MS = 5000 };

static struct {
	pthread_mutex_t mutex;
	struct real_head **all;
	size_t count, room;
} log_ = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct servers servers;
static _Thread_local unsigned this_client;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* CLOCK_REALTIME minus CLOCK_BOOTTIME, and never more than that, even if this thread has to wait between the
 * two readings: a client whose clock was recorded too early would seem to count on more than its TTL. */
static uint64_t offset_ns;

static void measure_offset(void)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint64_t real_ns = now_ns(CLOCK_REALTIME), boot_ns = now_ns(CLOCK_BOOTTIME);
		if (real_ns - boot_ns > offset_ns)
			offset_ns = real_ns - boot_ns;
	}
}

static void note(uint64_t at_ns, enum real_kind kind, unsigned who, const void *bytes, size_t size)
{
	struct real_head *head = malloc(sizeof *head + size);
	if (head == NULL)
		child_die("out of memory");
	*head = (struct real_head){at_ns, kind, who, (uint32_t)size};
	memcpy(head + 1, bytes, size);
	pthread_mutex_lock(&log_.mutex);
	if (log_.count == log_.room) {
		log_.room = log_.room * 2 + 1024;
		log_.all = realloc(log_.all, log_.room * sizeof *log_.all);
	}
	if (log_.all == NULL)
		child_die("out of memory");
	log_.all[log_.count++] = head;
	pthread_mutex_unlock(&log_.mutex);
}

/* ---- steps ---- */

int real_step(struct rl_lock *lock, const struct rl_event *event,
              struct rl_effects *effects) __asm__("__real_rl_lock_step");
int noted_step(struct rl_lock *lock, const struct rl_event *event,
               struct rl_effects *effects) __asm__("__wrap_rl_lock_step");
void real_submit(struct rl_nodes *nodes, struct rl_request *request, uint32_t to,
                 uint64_t now_ns) __asm__("__real_rl_nodes_submit");
void noted_submit(struct rl_nodes *nodes, struct rl_request *request, uint32_t to,
                  uint64_t now_ns) __asm__("__wrap_rl_nodes_submit");

static void copy(const struct rl_lock *core, struct real_lock *ret)
{
	const redlock_lock *lock =
	    (const redlock_lock *)(const void *)((const char *)core - offsetof(redlock_lock, core));
	size_t size = (size_t)(rl_handle_token_bytes(lock) + RL_HANDLE_TOKEN_ROOM - (const char *)lock);
	if (size > sizeof ret->block || core->rules->node_count > REAL_NODES)
		child_die("a handle that the record has no room for");
	memset(ret, 0, sizeof *ret);
	ret->size = size;
	memcpy(ret->block, lock, size);
	ret->rules = *core->rules;
	ret->has_numbers = core->numbers != NULL;
	if (ret->has_numbers)
		memcpy(ret->numbers, core->numbers,
		       sizeof *core->numbers + core->rules->node_count * sizeof core->numbers->of[0]);
}

/* The step that this thread has taken last. It is noted once its fresh token is there: when the request
 * is sent. */
static _Thread_local struct {
	const struct rl_lock *signs; /* NULL: it is noted */
	uint64_t at_ns;
	struct real_step step;
} last;

static void note_last(void)
{
	if (last.signs == NULL)
		return;
	copy(last.signs, &last.step.ready);
	note(last.at_ns, REAL_STEP, this_client, &last.step, sizeof last.step);
	last.signs = NULL;
}

int noted_step(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects)
{
	note_last();
	copy(lock, &last.step.before);
	int error = real_step(lock, event, effects);
	copy(lock, &last.step.after);
	last.step.event = *event;
	last.step.effects = *effects;
	last.at_ns = now_ns(CLOCK_REALTIME);
	last.step.boot_ns = last.at_ns - offset_ns;
	last.signs = lock;
	if (!effects->send.sign)
		note_last();
	return error;
}

void noted_submit(struct rl_nodes *nodes, struct rl_request *request, uint32_t to, uint64_t sent_ns)
{
	note_last();
	real_submit(nodes, request, to, sent_ns);
}

/* ---- servers ---- */

static FILE *monitors[REAL_NODES];

static FILE *monitor(const struct server *server)
{
	static const struct raw_arg word = {"MONITOR", 7};
	struct raw raw;
	struct raw_reply reply;
	FILE *lines = NULL;
	if (raw_open(&raw, server->socket, 0) == 0 && raw_send(&raw, &word, 1) == 0 &&
	    raw_receive(&raw, &reply) == 0 && reply.type == '+')
		lines = fdopen(raw.fd, "r");
	if (lines == NULL)
		child_die("MONITOR was refused");
	return lines;
}

/* The last command of each server, so that its listener reads all lines before the server is killed: what a
 * killed server has not written yet is lost. */
static const char last_word[] = "the record ends here";

/* Each line is +1700000000.123456 [0 unix:...] "set" "name" ..., until the last word. */
static void *listen_to(void *argument)
{
	unsigned node = (unsigned)((FILE **)argument - monitors);
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, monitors[node]) > 0 && strstr(line, last_word) == NULL) {
		uint64_t seconds = 0, us = 0;
		(void)sscanf(line, "+%" SCNu64 ".%" SCNu64, &seconds, &us);
		const char *words = strstr(line, "] ");
		if (words != NULL && strstr(line, "[0 lua]") == NULL)
			note(seconds * 1000000000 + us * 1000, REAL_COMMAND, node, words + 2, strlen(words + 2) + 1);
	}
	free(line);
	fclose(monitors[node]);
	return NULL;
}

static void note_run_id(unsigned node)
{
	struct raw_reply reply;
	const char *id = strstr(server_ask(&servers.server[node], &reply, "INFO", "server", NULL), "run_id:");
	note(0, REAL_RUN_ID, node, id != NULL ? id + 7 : "", 41);
}

/* ---- clients ---- */

struct work {
	unsigned client, pairs;
	bool fenced;
};

static void use(redlock_lock *lock, unsigned turn)
{
	int error = redlock_acquire(lock);
	if (error == 0 && turn % 3 == 0)
		error = redlock_extend(lock, 0);
	if (error == 0)
		error = redlock_release(lock);
	if (error != 0)
		child_die(redlock_error_name(error));
}

static void *contend(void *argument)
{
	const struct work *work = argument;
	char owner[16], why[256] = "";
	struct redlock_options options;
	struct redlock_lock_options lock_options;
	redlock_client *client;
	redlock_lock *lock;
	this_client = work->client;
	snprintf(owner, sizeof owner, "client-%u", work->client);
	redlock_options_init(&options);
	options.urls = servers.urls;
	options.url_count = REAL_NODES;
	options.owner = owner;
	options.guard = work->fenced ? REDLOCK_GUARD_REQUIRE : REDLOCK_GUARD_OFF;
	options.node_timeout_ms = 5000;
	options.error_text = why;
	options.error_text_size = sizeof why;
	redlock_lock_options_init(&lock_options);
	lock_options.ttl_ms = TTL_MS;
	lock_options.wait_ms = 60000;
	lock_options.fence = work->fenced;
	if (redlock_open(&options, &client) != 0 || redlock_lock_new(client, "stock", &lock_options, &lock) != 0)
		child_die(why);
	for (unsigned i = 0; i < work->pairs; i++)
		use(lock, i + work->client);
	redlock_lock_free(lock);
	(void)redlock_drain(client, DRAIN_MS);
	redlock_close(client);
	return NULL;
}

/* ---- */

static int is_later(const void *a, const void *b)
{
	const struct real_head *x = *(struct real_head *const *)a, *y = *(struct real_head *const *)b;
	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

int main(int argc, char **argv)
{
	bool fenced = argc == 3 && strcmp(argv[1], "fenced") == 0;
	unsigned pairs = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	if (pairs == 0 || (!fenced && strcmp(argv[1], "plain") != 0)) {
		fputs("usage: redlock-sim-real plain|fenced PAIRS | redlock-sim-replay plain|fenced\n", stderr);
		return EXIT_FAILURE;
	}
	pthread_t ears[REAL_NODES], clients[REAL_CLIENTS];
	struct work work[REAL_CLIENTS];
	measure_offset();
	servers_start(&servers, REAL_NODES, NULL);
	for (unsigned i = 0; i < REAL_NODES; i++) {
		note_run_id(i);
		monitors[i] = monitor(&servers.server[i]);
		pthread_create(&ears[i], NULL, listen_to, &monitors[i]);
	}
	if (fenced)
		record_write(&servers, REAL_NODES, TTL_MS, "0");
	for (unsigned i = 0; i < REAL_CLIENTS; i++) {
		work[i] = (struct work){i, pairs, fenced};
		pthread_create(&clients[i], NULL, contend, &work[i]);
	}
	for (unsigned i = 0; i < REAL_CLIENTS; i++)
		pthread_join(clients[i], NULL);
	for (unsigned i = 0; i < REAL_NODES; i++) {
		server_must(&servers.server[i], last_word, "ECHO", last_word, NULL);
		pthread_join(ears[i], NULL);
	}
	servers_stop(&servers);
	qsort(log_.all, log_.count, sizeof(struct real_head *), is_later);
	for (size_t i = 0; i < log_.count; i++) {
		fwrite(log_.all[i], sizeof *log_.all[i] + log_.all[i]->size, 1, stdout);
		free(log_.all[i]);
	}
	free(log_.all);
	return EXIT_SUCCESS;
}
