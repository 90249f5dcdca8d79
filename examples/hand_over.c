/* SPDX-License-Identifier: MIT */
/*
 * Handing a lock over: one process takes it, another one extends and releases it. The first passes the token
 * on, here through a pipe, where no other user can read it:
 *
 *     hand_over take NAME URL... | hand_over finish NAME URL...
 *
 * Exit code: 0 done, 1 not done, 2 usage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <redlock/redlock.h>

enum { TTL_MS = 10000, DRAIN_MS = 500 };

static int complain(const char *what, int error)
{
	fprintf(stderr, "hand_over: %s: %s\n", what, redlock_strerror(error));
	return 1;
}

/* Says why the last operation of a handle failed, in more words than its error code has. */
static int explain(const redlock_lock *lock, const char *what)
{
	char why[512];
	redlock_last_error(lock, why, sizeof why);
	fprintf(stderr, "hand_over: %s: %s\n", what, why);
	return 1;
}

static redlock_client *open_client(char **urls, int count)
{
	char why[256] = "";
	redlock_client *client = NULL;
	struct redlock_options options;
	redlock_options_init(&options);
	options.urls = (const char *const *)urls;
	options.url_count = (size_t)count;
	options.node_timeout_ms = 1000; /* rather late than wrong */
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_open(&options, &client);
	if (error < 0)
		complain(why, error);
	return client;
}

/* Acquires and prints the token. Until the token is out, nobody else could release the lock. */
static int take(redlock_client *client, const char *name, struct redlock_lock_options options)
{
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t size;
	redlock_lock *lock = NULL;
	int error = redlock_lock_new(client, name, &options, &lock);
	if (error == 0)
		error = redlock_acquire(lock);
	if (error == 0)
		error = redlock_lock_token(lock, token, sizeof token, &size);
	if (error == 0 && (printf("%s\n", token) < 0 || fflush(stdout) != 0)) {
		redlock_lock_free(lock); /* releases it */
		return complain("standard output", REDLOCK_E_SYSTEM);
	}
	if (error < 0) {
		redlock_lock_free(lock);
		return complain("take", error);
	}
	redlock_lock_leave(lock); /* the keys stay */
	return 0;
}

/* Extends first: the answer tells whether the lock is still held, and for how long. Then the work is
 * finished. */
static int finish(redlock_client *client, const char *name, struct redlock_lock_options options)
{
	char token[REDLOCK_MAX_TOKEN + 2];
	redlock_lock *lock = NULL;
	if (fgets(token, sizeof token, stdin) == NULL)
		token[0] = '\0';
	options.token = token;
	options.token_len = strcspn(token, "\n");
	int error = redlock_lock_new(client, name, &options, &lock);
	if (error < 0)
		return complain("the token on standard input", error);
	error = redlock_extend(lock, 0);
	if (error == 0) {
		printf("extended, %" PRIu64 " ms left\n", redlock_remaining_ms(lock));
		error = redlock_release(lock);
		printf("released: %s\n", redlock_error_name(error));
	} else {
		explain(lock, "extend"); /* GONE: it ended, or somebody else has it */
	}
	redlock_lock_free(lock);
	return error == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	int (*step)(redlock_client *, const char *, struct redlock_lock_options) = NULL;
	if (argc > 3 && strcmp(argv[1], "take") == 0)
		step = take;
	else if (argc > 3 && strcmp(argv[1], "finish") == 0)
		step = finish;
	if (step == NULL) {
		fprintf(stderr, "usage: hand_over take|finish NAME URL...\n");
		return 2;
	}
	struct redlock_lock_options options;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	redlock_client *client = open_client(argv + 3, argc - 3);
	if (client == NULL)
		return 1;
	int code = step(client, argv[2], options);
	if (redlock_drain(client, DRAIN_MS) > 0)
		fprintf(stderr, "hand_over: some releases are not confirmed\n");
	redlock_close(client);
	return code;
}
