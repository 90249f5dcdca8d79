/* SPDX-License-Identifier: MIT */
/*
 * The keeper: a lock that is renewed in the background, and a program that stops when it is in danger.
 *
 *     keeper NAME MILLISECONDS URL...
 *
 * Works for so long. Exit code: 0 the work is done, 1 it is not, 2 usage.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

/* A renewal every half second; when none has worked until 600 ms before the end, that is the time to stop. */
enum { TTL_MS = 2000, RENEW_MS = 500, DANGER_MS = 600, WAIT_MS = 2000, STEP_MS = 50 };

static int complain(const char *what, int error)
{
	fprintf(stderr, "keeper: %s: %s\n", what, redlock_strerror(error));
	return error;
}

/* Says why the last operation of a handle failed, in more words than its error code has. */
static int explain(const redlock_lock *lock, const char *what)
{
	char why[512];
	redlock_last_error(lock, why, sizeof why);
	fprintf(stderr, "keeper: %s: %s\n", what, why);
	return 1;
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

/* A notice says: look at the clock. A renewal may have come between the notice and its reading. */
static bool must_stop(redlock_client *client, const redlock_lock *lock)
{
	struct redlock_event event = {.size = sizeof event};
	while (redlock_next(client, &event) == 1)
		if (event.kind == REDLOCK_EVENT_LOST || event.kind == REDLOCK_EVENT_DANGER)
			printf("notice: %s\n", event.kind == REDLOCK_EVENT_LOST ? "lost" : "danger");
	uint64_t left_ms = redlock_remaining_ms(lock);
	if (left_ms == 0)
		printf("lost: the work stops at once\n");
	else if (left_ms <= DANGER_MS)
		printf("danger: %" PRIu64 " ms left, the work stops in good order\n", left_ms);
	return left_ms <= DANGER_MS;
}

/* A program with other descriptors polls them in the same call. */
static bool work(redlock_client *client, const redlock_lock *lock, long total_ms)
{
	struct pollfd notice = {.fd = redlock_notice_fd(client), .events = POLLIN};
	if (notice.fd < 0) {
		complain("notice", notice.fd);
		return false;
	}
	for (long done_ms = 0; done_ms < total_ms; done_ms += STEP_MS) {
		if (poll(&notice, 1, STEP_MS) < 0 && errno != EINTR) /* its silence is the work */
			return false;
		if (must_stop(client, lock))
			return false;
	}
	printf("worked for %ld ms, %" PRIu64 " ms left\n", total_ms, redlock_remaining_ms(lock));
	return true;
}

static bool hold_and_work(redlock_client *client, redlock_lock *lock, long total_ms)
{
	int error = redlock_acquire(lock);
	if (error < 0) {
		explain(lock, "acquire");
		return false;
	}
	printf("acquired\n");
	bool done = work(client, lock, total_ms);
	error = redlock_release(lock);
	if (error < 0)
		explain(lock, "release");
	return done && error != REDLOCK_E_GONE;
}

int main(int argc, char **argv)
{
	char *end = NULL;
	long total_ms = argc > 2 ? strtol(argv[2], &end, 10) : 0;
	if (argc < 4 || *end != '\0' || total_ms < 1) {
		fprintf(stderr, "usage: keeper NAME MILLISECONDS URL...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	redlock_client *client = NULL;
	redlock_lock *lock = NULL;
	struct redlock_lock_options options;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	options.renew_ms = RENEW_MS;
	options.danger_ms = DANGER_MS;
	int error = open_client(argv + 3, argc - 3, &client);
	if (error == 0 && (error = redlock_keeper_start(client)) < 0)
		complain("keeper", error);
	if (error == 0 && (error = redlock_lock_new(client, argv[1], &options, &lock)) < 0)
		complain(argv[1], error);
	bool done = error == 0 && hold_and_work(client, lock, total_ms);
	redlock_lock_free(lock);
	redlock_close(client); /* ends the keeper too */
	return done ? 0 : 1;
}
