/* SPDX-License-Identifier: MIT */
/*
 * A file that refuses a late writer. The lock has a fencing token, a number that only rises; the file keeps
 * the highest one that has written, in its first line, and takes nothing from a lower one:
 *
 *     fence FILE TEXT NAME URL...         the nodes are a guarded set: `redlock init`
 *
 * Between the grant and the write the program waits for a moment. Stop it there (Ctrl-Z) for longer than the
 * TTL, let another one write, and continue it: it still believes that it may write, and the file does not let
 * it. The check and the write are one step, which no other writer can interrupt: here under flock(2), in a
 * database in one statement (fence.sql), in a service under its own mutex.
 *
 * Exit code: 0 written, 1 not written, 2 usage.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <redlock/redlock.h>

enum { TTL_MS = 2000, WAIT_MS = 10000, WORK_MS = 500, LINE_MAX_SIZE = 1024 };

/* ---- the resource: it knows nothing of the lock but the number ---- */

static uint64_t highest(int fd)
{
	char line[32] = "";
	return pread(fd, line, sizeof line - 1, 0) > 0 ? strtoull(line, NULL, 10) : 0;
}

/* Number and text are on the disk, both or none of them, or it says that they may not be. */
static bool replace(const char *path, uint64_t fence, const char *text)
{
	char temporary[LINE_MAX_SIZE];
	snprintf(temporary, sizeof temporary, "%s.new", path);
	FILE *out = fopen(temporary, "w");
	if (out == NULL)
		return false;
	bool ok =
	    fprintf(out, "%" PRIu64 "\n%s\n", fence, text) > 0 && fflush(out) == 0 && fsync(fileno(out)) == 0;
	return fclose(out) == 0 && ok && rename(temporary, path) == 0;
}

/* The file itself is replaced, so that another one, which stays, is locked. */
static bool fenced_write(const char *path, uint64_t fence, const char *text)
{
	char guard[LINE_MAX_SIZE];
	snprintf(guard, sizeof guard, "%s.lock", path);
	int lock = open(guard, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) != 0) {
		perror(guard);
		if (lock >= 0)
			close(lock);
		return false;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t seen = fd >= 0 ? highest(fd) : 0;
	bool ok = fence >= seen && replace(path, fence, text);
	if (fence < seen)
		fprintf(stderr, "fence: refused: %" PRIu64 " is late, %" PRIu64 " has written\n", fence, seen);
	if (fd >= 0)
		close(fd);
	close(lock);
	return ok;
}

/* ---- the holder ---- */

static redlock_client *open_client(char **urls, int count)
{
	char why[256] = "";
	redlock_client *client = NULL;
	struct redlock_options options;
	redlock_options_init(&options);
	options.urls = (const char *const *)urls;
	options.url_count = (size_t)count;
	options.guard = REDLOCK_GUARD_REQUIRE;
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_open(&options, &client);
	if (error < 0)
		fprintf(stderr, "fence: %s: %s\n", redlock_strerror(error), why);
	return client;
}

static bool run(redlock_client *client, const char *name, const char *path, const char *text)
{
	char why[512] = "no handle";
	redlock_lock *lock = NULL;
	struct redlock_lock_options options;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	options.quarantine_wait_ms = REDLOCK_FOREVER;
	options.fence = 1;
	int error = redlock_lock_new(client, name, &options, &lock);
	if (error == 0)
		error = redlock_acquire(lock);
	bool done = false;
	if (error == 0) {
		uint64_t fence = redlock_lock_fence(lock);
		printf("acquired with %" PRIu64 "\n", fence);
		poll(NULL, 0, WORK_MS); /* the work; the file refuses a late write */
		done = fenced_write(path, fence, text);
		redlock_release(lock);
	} else {
		if (redlock_last_error(lock, why, sizeof why) < 0)
			redlock_client_last_error(client, why, sizeof why); /* there is no handle */
		fprintf(stderr, "fence: acquire: %s (%s)\n", why, redlock_error_name(error));
	}
	redlock_lock_free(lock);
	return done;
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: fence FILE TEXT NAME URL...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	redlock_client *client = open_client(argv + 4, argc - 4);
	if (client == NULL)
		return 1;
	bool done = run(client, argv[3], argv[1], argv[2]);
	redlock_drain(client, WORK_MS);
	redlock_close(client);
	return done ? 0 : 1;
}
