/* SPDX-License-Identifier: MIT */
/*
 * The blocking calls: take a lock, work in steps while it may be relied on, give it back.
 *
 *     blocking NAME URL...
 *
 * Exit code: 0 the work is done, 1 it is not, 2 usage.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <redlock/redlock.h>

enum { TTL_MS = 2000, WAIT_MS = 1000, STEPS = 5, STEP_MS = 100, MARGIN_MS = 400, DRAIN_MS = 500 };

static redlock_client *open_client(char **urls, int count)
{
	char why[256] = "";
	redlock_client *client = NULL;
	struct redlock_options options;
	redlock_options_init(&options);
	options.urls = (const char *const *)urls;
	options.url_count = (size_t)count;
	options.node_timeout_ms = 500;
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_open(&options, &client);
	if (error < 0)
		fprintf(stderr, "blocking: %s: %s\n", redlock_strerror(error), why);
	return client;
}

static redlock_lock *make_lock(redlock_client *client, const char *name)
{
	redlock_lock *lock = NULL;
	struct redlock_lock_options options;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	int error = redlock_lock_new(client, name, &options, &lock);
	if (error < 0)
		fprintf(stderr, "blocking: %s: %s\n", name, redlock_strerror(error));
	return lock;
}

/* A step is begun only if it will be over, by a good margin, while the lock may still be relied on. */
static bool work(const redlock_lock *lock)
{
	for (int step = 1; step <= STEPS; step++) {
		uint64_t left_ms = redlock_remaining_ms(lock);
		if (left_ms < STEP_MS + MARGIN_MS) {
			fprintf(stderr, "blocking: only %" PRIu64 " ms left, stopping before step %d\n", left_ms, step);
			return false;
		}
		printf("step %d of %d, %" PRIu64 " ms left\n", step, STEPS, left_ms);
		poll(NULL, 0, STEP_MS); /* the work */
	}
	return true;
}

/* What a release says about the work that was done under the lock. */
static bool release(redlock_lock *lock)
{
	int error = redlock_release(lock);
	if (error == 0) {
		printf("released\n");
		return true;
	}
	fprintf(stderr, "blocking: release: %s\n", redlock_strerror(error));
	/* GONE: it ended before we were done. NOQUORUM: the work was in time, others wait until the TTL ends. */
	return error == REDLOCK_E_NOQUORUM;
}

static bool run(redlock_client *client, const char *name)
{
	redlock_lock *lock = make_lock(client, name);
	if (lock == NULL)
		return false;
	bool done = false;
	int error = redlock_acquire(lock);
	if (error == 0) {
		printf("acquired, to be relied on for %" PRIu64 " ms\n", redlock_remaining_ms(lock));
		done = work(lock);
		done = release(lock) && done;
	} else {
		/* BUSY: try again later. NOQUORUM: look at the nodes. The rest is a mistake of ours. */
		fprintf(stderr, "blocking: acquire: %s (%s)\n", redlock_strerror(error), redlock_error_name(error));
	}
	redlock_lock_free(lock);
	return done;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: blocking NAME URL...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	redlock_client *client = open_client(argv + 2, argc - 2);
	if (client == NULL)
		return 1;
	bool done = run(client, argv[1]);
	/* Nodes that were slow get their release too, if that does not take long. */
	int owed = redlock_drain(client, DRAIN_MS);
	if (owed > 0)
		fprintf(stderr, "blocking: %d releases are not confirmed\n", owed);
	redlock_close(client);
	return done ? 0 : 1;
}
