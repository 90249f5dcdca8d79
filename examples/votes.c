/* SPDX-License-Identifier: MIT */
/*
 * Why was the lock not acquired? Prints each node's vote, and the value it has under the name.
 *
 *     votes NAME URL...
 *
 * Tries once, and releases the lock if it was acquired. Exit code: 0 acquired, 1 not acquired, 2 usage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <redlock/redlock.h>

static int complain(const char *what, int error)
{
	fprintf(stderr, "votes: %s: %s\n", what, redlock_strerror(error));
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

/* PENDING is a node that was not waited for: the others had decided already. */
static void print_vote(redlock_client *client, const redlock_lock *lock, unsigned node)
{
	struct redlock_vote vote = {.size = sizeof vote};
	struct redlock_node_status status = {.size = sizeof status};
	if (redlock_lock_vote(lock, node, &vote) < 0 || redlock_node_status(client, node, &status) < 0)
		return;
	enum redlock_vote_kind kind = redlock_vote_kind(vote.code);
	printf("  %s: %s, %s", status.address, redlock_vote_name(vote.code), redlock_vote_text(vote.code));
	if (vote.rtt_ns > 0)
		printf(", after %.1f ms", (double)vote.rtt_ns / 1e6);
	if (kind >= REDLOCK_KIND_MISSING && status.last_error[0] != '\0')
		printf(" (%s)", status.last_error);
	printf("%s\n", kind == REDLOCK_KIND_FATAL ? ": needs an operator" : "");
}

/* Lengths and lives, not values: a reader of a token can release the lock. */
static void print_finding(const redlock_lock *lock, unsigned node)
{
	struct redlock_finding finding = {.size = sizeof finding};
	if (redlock_lock_finding(lock, node, &finding) < 0 || !finding.known)
		printf("  node %u: did not answer\n", node + 1);
	else if (finding.pttl_ms == -2)
		printf("  node %u: nothing\n", node + 1);
	else if (finding.pttl_ms == -1)
		printf("  node %u: a %s without expiry, it blocks for ever\n", node + 1, finding.type);
	else
		printf("  node %u: a %s of %" PRIu64 " bytes for %" PRId64 " ms more\n", node + 1, finding.type,
		       finding.value_len, finding.pttl_ms);
}

static int try_and_explain(redlock_client *client, redlock_lock *lock)
{
	unsigned count = redlock_node_count(client);
	int error = redlock_acquire(lock);
	printf("%s: %s\n", redlock_error_name(error), redlock_strerror(error));
	for (unsigned i = 0; i < count; i++)
		print_vote(client, lock, i);
	if (error == 0) {
		error = redlock_release(lock);
		return error == 0 ? 0 : complain("release", error);
	}
	/* The handle's own token has just been given back: GONE is the expected answer. */
	int asked = redlock_query(lock);
	if (asked < 0 && asked != REDLOCK_E_GONE && asked != REDLOCK_E_NOQUORUM)
		return complain("query", asked);
	printf("found, for a quorum of %u:\n", redlock_quorum(client));
	for (unsigned i = 0; i < count; i++)
		print_finding(lock, i);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: votes NAME URL...\n");
		return 2;
	}
	redlock_client *client = open_client(argv + 2, argc - 2);
	if (client == NULL)
		return 1;
	redlock_lock *lock = NULL;
	int code = 1;
	int error = redlock_lock_new(client, argv[1], NULL, &lock);
	if (error < 0)
		complain(argv[1], error);
	else
		code = try_and_explain(client, lock);
	redlock_lock_free(lock);
	redlock_close(client);
	return code;
}
