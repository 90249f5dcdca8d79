/* SPDX-License-Identifier: MIT */
/*
 * The calls for event loops: many locks are taken and given back at the same time, by one thread in one
 * poll(2).
 *
 *     poll_loop COUNT NAME URL...
 *
 * The locks are NAME-1 to NAME-COUNT. Exit code: 0 all locks were acquired, 1 not all, 2 usage.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

enum { TTL_MS = 5000, WAIT_MS = 1000, MAX_LOCKS = 10000 };

struct tally {
	unsigned running; /* operations whose end has not been pulled */
	unsigned acquired, released, failed;
};

static int complain(const char *what, int error)
{
	fprintf(stderr, "poll_loop: %s: %s\n", what, redlock_strerror(error));
	return error;
}

static int open_client(char **urls, int count, redlock_client **ret_client)
{
	char why[256] = "";
	struct redlock_options options;
	redlock_options_init(&options);
	options.urls = (const char *const *)urls;
	options.url_count = (size_t)count;
	options.node_timeout_ms = 500;
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_open(&options, ret_client);
	return error < 0 ? complain(why, error) : 0;
}

/* Makes one lock and begins to acquire it. Nothing is sent yet. */
static int begin(redlock_client *client, const char *name, struct tally *t, redlock_lock **ret_lock)
{
	struct redlock_lock_options options;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	int error = redlock_lock_new(client, name, &options, ret_lock);
	if (error == 0)
		error = redlock_start_acquire(*ret_lock);
	if (error < 0)
		return complain(name, error);
	t->running++;
	return 0;
}

/* One operation has ended: what was acquired is released, as if the work took no time. */
static void on_done(const struct redlock_event *event, struct tally *t)
{
	char why[512];
	t->running--;
	if (event->result < 0) {
		redlock_last_error(event->lock, why, sizeof why);
		fprintf(stderr, "poll_loop: %s: %s\n", event->operation == REDLOCK_OP_ACQUIRE ? "acquire" : "release",
		        why);
		t->failed++;
	} else if (event->operation == REDLOCK_OP_RELEASE) {
		t->released++;
	} else {
		t->acquired++;
		if (redlock_start_release(event->lock) == 0)
			t->running++;
	}
}

static int loop(redlock_client *client, struct tally *t)
{
	struct pollfd fds[] = {{.fd = redlock_fd(client), .events = POLLIN}}; /* and the program's own */
	while (t->running > 0) {
		int error = redlock_process(client); /* receives, runs timers, sends */
		if (error < 0)
			return complain("process", error);
		struct redlock_event event = {.size = sizeof event};
		while (redlock_next(client, &event) == 1)
			if (event.kind == REDLOCK_EVENT_DONE)
				on_done(&event, t);
		/* Timers are inside the descriptor; what was just started is not, and must not wait for it. */
		int timeout_ms = redlock_timeout_ns(client) == 0 ? 0 : -1;
		if (t->running > 0 && poll(fds, 1, timeout_ms) < 0 && errno != EINTR)
			return complain("poll", REDLOCK_E_SYSTEM);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static redlock_lock *locks[MAX_LOCKS];
	int count = argc > 1 ? atoi(argv[1]) : 0;
	if (argc < 4 || count < 1 || count > MAX_LOCKS) {
		fprintf(stderr, "usage: poll_loop COUNT NAME URL...\n");
		return 2;
	}
	redlock_client *client = NULL;
	struct tally t = {0};
	int error = open_client(argv + 3, argc - 3, &client);
	for (int i = 0; error == 0 && i < count; i++) {
		char name[256];
		snprintf(name, sizeof name, "%s-%d", argv[2], i + 1);
		error = begin(client, name, &t, &locks[i]);
	}
	if (error == 0)
		error = loop(client, &t);
	printf("%u acquired, %u released, %u failed\n", t.acquired, t.released, t.failed);
	for (int i = 0; i < count; i++)
		redlock_lock_free(locks[i]);
	redlock_close(client);
	return error == 0 && t.released == (unsigned)count ? 0 : 1;
}
