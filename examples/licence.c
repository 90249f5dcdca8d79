/* SPDX-License-Identifier: MIT */
/*
 * A pool of licences: as many of these programs run at a time as there are, each with a licence of its own.
 *
 *     licence COUNT SECONDS URL...      uses one of COUNT licences for SECONDS
 *
 * Each licence is a slot of one name. It prints which one it had. Exit code: 0 used, 1 not, 2 usage.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <redlock/redlock.h>

enum { TTL_MS = 5000, WAIT_MS = 20000, LEAST_MS = 1000, STEP_MS = 50 };

static int complain(const char *what, int error)
{
	fprintf(stderr, "licence: %s: %s\n", what, redlock_strerror(error));
	return 1;
}

/* Says why the last operation of a handle failed, in more words than its error code has. */
static int explain(const redlock_lock *lock, const char *what)
{
	char why[512];
	redlock_last_error(lock, why, sizeof why);
	fprintf(stderr, "licence: %s: %s\n", what, why);
	return 1;
}

static void sleep_ms(long ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	(void)nanosleep(&time, NULL);
}

/* In steps, as long as the licence is ours: another program may have it when its time is over. False: it was
 * not so long. */
static bool use(redlock_lock *lock, long ms)
{
	for (long used = 0; used < ms; used += STEP_MS) {
		if (redlock_remaining_ms(lock) < LEAST_MS && redlock_extend(lock, 0) < 0)
			return false;
		sleep_ms(STEP_MS);
	}
	return true;
}

static int with_lock(redlock_lock *lock, long ms)
{
	unsigned slot;
	int error = redlock_acquire(lock);
	if (error < 0)
		return explain(lock, "no licence is free");
	error = redlock_lock_slot(lock, &slot);
	if (error < 0)
		return complain("which one", error);
	bool done = use(lock, ms);
	error = redlock_release(lock);
	if (!done || error < 0)
		return complain("the licence ended too soon", error);
	printf("used licence %u\n", slot);
	return 0;
}

static int with_client(redlock_client *client, unsigned count, long ms)
{
	struct redlock_lock_options options;
	redlock_lock *lock;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	options.slots = count;
	int error = redlock_lock_new(client, "licences", &options, &lock);
	if (error < 0)
		return complain("lock", error);
	int code = with_lock(lock, ms);
	redlock_lock_free(lock);
	(void)redlock_drain(client, 1000);
	return code;
}

int main(int argc, char **argv)
{
	struct redlock_options options;
	redlock_client *client;
	if (argc < 4) {
		fprintf(stderr, "usage: licence COUNT SECONDS URL...\n");
		return 2;
	}
	redlock_options_init(&options);
	options.urls = (const char *const *)argv + 3;
	options.url_count = (size_t)(argc - 3);
	int error = redlock_open(&options, &client);
	if (error < 0)
		return complain("open", error);
	long ms = (long)(strtod(argv[2], NULL) * 1000);
	int code = with_client(client, (unsigned)strtoul(argv[1], NULL, 10), ms);
	redlock_close(client);
	return code;
}
