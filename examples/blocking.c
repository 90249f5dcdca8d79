/* SPDX-License-Identifier: MIT */
/*
 * The blocking calls: take a lock, work, give it back. Nodes and times are those of the redlock command: its
 * configuration files, REDLOCK_URLS, REDLOCK_TTL, REDLOCK_WAIT. Long work looks at redlock_remaining_ms()
 * between its steps, or has the lock renewed: see keeper.c.
 *
 *     blocking NAME
 *
 * Exit code: 0 the work was done under the lock, 1 it was not.
 */
#include <poll.h>
#include <stdio.h>

#include <redlock/redlock.h>

int main(int argc, char **argv)
{
	char why[512];
	redlock_client *client = NULL;
	redlock_lock *lock = NULL;
	int error = redlock_open_configured(NULL, why, sizeof why, &client);
	if (error == 0)
		error = redlock_lock_new(client, argc > 1 ? argv[1] : "job", NULL, &lock);
	if (error == 0)
		error = redlock_acquire(lock);
	if (error == 0) {
		printf("acquired, to be relied on for %d ms\n", (int)redlock_remaining_ms(lock));
		fflush(stdout);
		poll(NULL, 0, 500);            /* the work */
		error = redlock_release(lock); /* GONE: the lock ended before the work */
	}
	if (redlock_last_error(lock, why, sizeof why) < 0)
		redlock_client_last_error(client, why, sizeof why); /* no handle; without a client, `why` stays */
	if (error < 0)
		fprintf(stderr, "blocking: %s: %s\n", redlock_error_name(error), why);
	redlock_lock_free(lock);
	redlock_close(client);
	return error < 0;
}
