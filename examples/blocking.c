/* SPDX-License-Identifier: MIT */
/*
 * The blocking calls: take a lock, work, give it back. Nodes and times are those of the redlock command: its
 * configuration files, REDLOCK_URLS, REDLOCK_TTL, REDLOCK_WAIT.
 *
 *     blocking NAME
 *
 * Exit code: 0 the work was done under the lock, 1 it was not, 2 usage.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include <redlock/redlock.h>

enum { WORK_MS = 500 };

/* Long work looks at redlock_remaining_ms() between its steps, or has the lock renewed: see keeper.c. */
static int work_and_release(redlock_lock *lock)
{
	printf("acquired, to be relied on for %" PRIu64 " ms\n", redlock_remaining_ms(lock));
	poll(NULL, 0, WORK_MS);
	return redlock_release(lock); /* GONE: the lock ended before the work */
}

int main(int argc, char **argv)
{
	char why[512] = "";
	redlock_client *client = NULL;
	redlock_lock *lock = NULL;
	struct redlock_options options;
	if (argc != 2)
		return fputs("usage: blocking NAME\n", stderr), 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_options_load(&options, NULL, NULL);
	if (error == 0)
		error = redlock_open(&options, &client);
	if (error == 0)
		error = redlock_lock_new(client, argv[1], NULL, &lock);
	if (error == 0)
		error = redlock_acquire(lock);
	if (error == 0)
		error = work_and_release(lock);
	if (error < 0 && lock != NULL)
		redlock_last_error(lock, why, sizeof why);
	if (error < 0)
		fprintf(stderr, "blocking: %s: %s\n", redlock_error_name(error), why);
	redlock_lock_free(lock);
	redlock_close(client);
	redlock_options_clear(&options);
	return error == 0 ? 0 : 1;
}
