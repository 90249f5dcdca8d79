/* SPDX-License-Identifier: MIT */
/* A user's program: one handle acquires, another one is refused, and gets the lock after the release. */
#include <stdio.h>
#include <string.h>

#include <redlock/redlock.h>

static int expect(const char *what, int result, int wanted)
{
	if (result == wanted)
		return 0;
	fprintf(stderr, "%s: %s, expected %s\n", what, redlock_error_name(result), redlock_error_name(wanted));
	return 1;
}

static int use(redlock_lock *first, redlock_lock *second)
{
	int failures = 0;

	failures += expect("first acquire", redlock_acquire(first), 0);
	failures += expect("validity", redlock_remaining_ms(first) > 0, 1);
	failures += expect("second acquire", redlock_acquire(second), REDLOCK_E_BUSY);
	failures += expect("first release", redlock_release(first), 0);
	failures += expect("second acquire", redlock_acquire(second), 0);
	failures += expect("second release", redlock_release(second), 0);
	return failures;
}

int main(int argc, char **argv)
{
	struct redlock_options options;
	redlock_client *client = NULL;
	redlock_lock *first = NULL, *second = NULL;
	const char *url = argc > 1 ? argv[1] : "";
	int failures = 1;

	if (strcmp(redlock_version(), REDLOCK_VERSION) != 0)
		return 1;
	redlock_options_init(&options);
	options.urls = &url;
	options.url_count = 1;
	if (expect("open", redlock_open(&options, &client), 0))
		return 1;
	if (!expect("first handle", redlock_lock_new(client, "job", NULL, &first), 0) &&
	    !expect("second handle", redlock_lock_new(client, "job", NULL, &second), 0))
		failures = use(first, second);
	redlock_lock_free(second);
	redlock_lock_free(first);
	redlock_close(client);
	return failures != 0;
}
