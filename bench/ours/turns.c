/* SPDX-License-Identifier: MIT */
/* Claimants of one name over the blocking calls: threads that share one client. See common/turns.h. */
#include "turns.h"

#include <string.h>

#include "client.h"

static redlock_client *client;
static _Atomic uint64_t *attempts;

/* Counts new attempts, by the name of their requests in the trace. */
static void count_attempts(void *user, const char *line)
{
	(void)user;
	if (strstr(line, "| send acquire #") != NULL && strstr(line, " again to ") == NULL)
		++*attempts;
}

static redlock_lock *new_lock(const struct options *o)
{
	struct redlock_lock_options options;
	redlock_lock *lock = NULL;
	redlock_lock_options_init(&options);
	options.wait_ms = REDLOCK_FOREVER;
	if (o->ttl_ms > 0)
		options.ttl_ms = o->ttl_ms;
	client_check(redlock_lock_new(client, TURNS_NAME, &options, &lock), "lock_new");
	return lock;
}

static void open_client(const struct options *o, _Atomic uint64_t *count)
{
	attempts = count;
	client = client_open_traced(o, o->counts ? count_attempts : NULL);
	redlock_lock *lock = new_lock(o);
	client_check(redlock_acquire(lock), "acquire"); /* connects */
	client_check(redlock_release(lock), "release");
	client_check(redlock_drain(client, 2000), "drain");
	redlock_lock_free(lock);
}

static void *claimant(const struct options *o)
{
	return new_lock(o);
}

static bool acquire(void *lock)
{
	while (redlock_acquire(lock) < 0)
		if (turns_stopping)
			return false;
	return true;
}

static void release(void *lock)
{
	(void)redlock_release(lock); /* of a node that was killed it may say anything */
}

static void stop(void *lock)
{
	client_check(redlock_cancel(lock), "cancel");
}

static void close_client(void)
{
	(void)redlock_drain(client, 500);
	redlock_close(client);
}

int main(int argc, char **argv)
{
	static const struct turns_kind kind = {open_client, claimant, acquire, release, stop, close_client};
	return turns_main(argc, argv, &kind);
}
