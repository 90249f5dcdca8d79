/* SPDX-License-Identifier: MIT */
/*
 * Moves an amount from one account to another. Both are locked at once, so that two transfers in opposite
 * directions never wait for each other:
 *
 *     transfer FROM TO AMOUNT URL...      an account is a file with a number in it, and the name of its lock
 *
 * Exit code: 0 moved, 1 not moved, 2 usage.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

enum { TTL_MS = 5000, WAIT_MS = 10000, LEAST_MS = 1000 };

static int complain(const char *what, int error)
{
	fprintf(stderr, "transfer: %s: %s\n", what, redlock_strerror(error));
	return 1;
}

/* Says why the last operation of a handle failed, in more words than its error code has. */
static int explain(const redlock_lock *lock, const char *what)
{
	char why[512];
	redlock_last_error(lock, why, sizeof why);
	fprintf(stderr, "transfer: %s: %s\n", what, why);
	return 1;
}

/* ---- the accounts ---- */

static bool read_account(const char *path, long *ret)
{
	FILE *in = fopen(path, "r");
	bool ok = in != NULL && fscanf(in, "%ld", ret) == 1;
	if (in != NULL)
		(void)fclose(in);
	return ok;
}

static bool write_account(const char *path, long amount)
{
	FILE *out = fopen(path, "w");
	bool ok = out != NULL && fprintf(out, "%ld\n", amount) > 0;
	return out != NULL && fclose(out) == 0 && ok;
}

static bool move_amount(const char *from, const char *to, long amount)
{
	long here, there;
	bool ok = read_account(from, &here) && read_account(to, &there) && here >= amount;
	return ok && write_account(from, here - amount) && write_account(to, there + amount);
}

/* ---- under the lock ---- */

static int transfer(redlock_lock *lock, const char *const accounts[2], long amount)
{
	unsigned busy;
	int error = redlock_acquire(lock);
	if (error == REDLOCK_E_BUSY && redlock_lock_obstacle(lock, &busy) == 0)
		return explain(lock, accounts[busy]);
	if (error < 0)
		return explain(lock, "acquire");
	/* A transfer must not be cut off, so it begins only with time enough for all of it. */
	bool moved = redlock_remaining_ms(lock) >= LEAST_MS && move_amount(accounts[0], accounts[1], amount);
	error = redlock_release(lock);
	if (error < 0) /* the TTL ended meanwhile: others may have seen half of it */
		return explain(lock, "release");
	if (!moved)
		fprintf(stderr, "transfer: nothing was moved\n");
	return moved ? 0 : 1;
}

static int with_client(redlock_client *client, const char *const accounts[2], long amount)
{
	struct redlock_lock_options options;
	redlock_lock *lock;
	redlock_lock_options_init(&options);
	options.ttl_ms = TTL_MS;
	options.wait_ms = WAIT_MS;
	int error = redlock_lock_new_many(client, accounts, 2, &options, &lock);
	if (error < 0)
		return complain("lock", error);
	int code = transfer(lock, accounts, amount);
	redlock_lock_free(lock);
	(void)redlock_drain(client, 1000);
	return code;
}

int main(int argc, char **argv)
{
	struct redlock_options options;
	redlock_client *client;
	if (argc < 5) {
		fprintf(stderr, "usage: transfer FROM TO AMOUNT URL...\n");
		return 2;
	}
	redlock_options_init(&options);
	options.urls = (const char *const *)argv + 4;
	options.url_count = (size_t)(argc - 4);
	int error = redlock_open(&options, &client);
	if (error < 0)
		return complain("open", error);
	const char *const accounts[2] = {argv[1], argv[2]};
	int code = with_client(client, accounts, strtol(argv[3], NULL, 10));
	redlock_close(client);
	return code;
}
