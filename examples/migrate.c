/* SPDX-License-Identifier: MIT */
/*
 * Serves under a shared lock, and migrates what is served under the same lock made exclusive: any number of
 * servers run side by side, and one of them moves the schema forward while none of the others is at work.
 *
 *     migrate FILE VERSION URL...     the file has the number of the schema, and is the name of the lock
 *
 * A server that finds an older version than VERSION upgrades its lock. If it is busy, others share the lock:
 * it gives it back and waits for its turn with an exclusive one, as two that wait for each other would wait
 * for ever.
 *
 * Exit code: 0 served at that version, 1 not, 2 usage.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

enum { TTL_MS = 5000, WAIT_MS = 10000 };

static int complain(const char *what, int error)
{
	fprintf(stderr, "migrate: %s: %s\n", what, redlock_strerror(error));
	return 1;
}

/* Says why the last operation of a handle failed, in more words than its error code has. */
static int explain(const redlock_lock *lock, const char *what)
{
	char why[512];
	redlock_last_error(lock, why, sizeof why);
	fprintf(stderr, "migrate: %s: %s\n", what, why);
	return 1;
}

static long version_of(const char *path)
{
	long version = 0;
	FILE *in = fopen(path, "r");
	if (in != NULL && fscanf(in, "%ld", &version) != 1)
		version = 0;
	if (in != NULL)
		(void)fclose(in);
	return version;
}

static bool move_forward(const char *path, long version)
{
	FILE *out = fopen(path, "w");
	bool ok = out != NULL && fprintf(out, "%ld\n", version) > 0;
	return out != NULL && fclose(out) == 0 && ok;
}

/* The first program to get the lock has migrated: the others find that it is done. */
static int migrate(redlock_lock *alone, const char *path, long version)
{
	if (version_of(path) >= version)
		return 0;
	printf("migrates %s to %ld, %llu ms left\n", path, version,
	       (unsigned long long)redlock_remaining_ms(alone));
	return move_forward(path, version) ? 0 : 1;
}

static int serve(redlock_lock *shared, const char *path)
{
	printf("serves %s at version %ld\n", path, version_of(path));
	return redlock_release(shared) == 0 ? 0 : 1;
}

/* Behind those that share it now, with a place in line. */
static int wait_and_migrate(redlock_lock *exclusive, const char *path, long version)
{
	int error = redlock_acquire(exclusive);
	if (error < 0)
		return explain(exclusive, "acquire");
	int code = migrate(exclusive, path, version);
	return redlock_release(exclusive) == 0 ? code : 1;
}

static int run(redlock_lock *shared, redlock_lock *exclusive, const char *path, long version)
{
	int error = redlock_acquire(shared);
	if (error < 0)
		return explain(shared, "acquire shared");
	if (version_of(path) >= version)
		return serve(shared, path);
	error = redlock_upgrade(shared);
	if (error == 0) { /* nobody else is at work */
		int code = migrate(shared, path, version);
		error = redlock_downgrade(shared);
		return code == 0 && error == 0 ? serve(shared, path) : 1;
	}
	(void)redlock_release(shared);
	if (error != REDLOCK_E_BUSY)
		return explain(shared, "upgrade");
	if (wait_and_migrate(exclusive, path, version) != 0)
		return 1;
	error = redlock_acquire(shared);
	return error < 0 ? explain(shared, "acquire shared") : serve(shared, path);
}

static int with_client(redlock_client *client, const char *path, long version)
{
	struct redlock_lock_options options;
	redlock_lock *shared = NULL, *exclusive = NULL;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	int error = redlock_lock_new(client, path, &options, &exclusive);
	options.mode = REDLOCK_SHARED;
	if (error == 0)
		error = redlock_lock_new(client, path, &options, &shared);
	int code = error < 0 ? complain("lock", error) : run(shared, exclusive, path, version);
	redlock_lock_free(shared);
	redlock_lock_free(exclusive);
	(void)redlock_drain(client, 1000);
	return code;
}

int main(int argc, char **argv)
{
	struct redlock_options options;
	redlock_client *client;
	if (argc < 4) {
		fprintf(stderr, "usage: migrate FILE VERSION URL...\n");
		return 2;
	}
	redlock_options_init(&options);
	options.urls = (const char *const *)argv + 3;
	options.url_count = (size_t)(argc - 3);
	int error = redlock_open(&options, &client);
	if (error < 0)
		return complain("open", error);
	int code = with_client(client, argv[1], strtol(argv[2], NULL, 10));
	redlock_close(client);
	return code;
}
