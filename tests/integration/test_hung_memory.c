/* SPDX-License-Identifier: MIT */
/* One node hangs while thousands of locks come and go: what waits for it is bounded. */
#include <stdio.h>

#include "fixture.h"

enum { NODES = 5, HUNG = 2, ALLOWED_KIB = 2048 };

static int pairs(void)
{
	return wait_is_slow() ? 500 : 10000;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	}
	fclose(file);
	return kib;
}

static void run_pairs(redlock_client *client, const char *name, int count)
{
	own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (int i = 0; i < count; i++)
		expect_pair(lock);
}

/* Requests that owe no release pile up by themselves. */
static void run_extends(redlock_client *client, const char *name, int count)
{
	own_lock *lock = fixture_held(client, name, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (int i = 0; i < count; i++)
		expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
}

typedef void load(redlock_client *client, const char *name, int count);

static struct redlock_node_status hung_status(redlock_client *client)
{
	struct redlock_node_status status = {.size = sizeof status};
	expect_ok(NULL, redlock_node_status(client, HUNG, &status));
	return status;
}

static void run_beside_hung_node(const char *const *urls, const char *name, uint32_t node_timeout_ms,
                                 load *run)
{
	own_client *client = fixture_open(urls, NODES, node_timeout_ms);
	run(client, name, 100);
	server_pause(&servers.server[HUNG]);
	long before_kib = resident_kib();
	run(client, name, pairs());
	long after_kib = resident_kib();
	struct redlock_node_status status = hung_status(client);
	print_message("%d rounds: %ld KiB, then %ld KiB; waiting %u, owed %u, lingering %u\n", pairs(),
	              before_kib, after_kib, status.waiting, status.owed, status.lingering);
	if (!wait_is_slow()) {
		assert_true(after_kib <= before_kib + ALLOWED_KIB);
		assert_true(status.waiting < (unsigned)pairs() / 2);
	}

	/* When it goes on, all is settled or said not to be. */
	server_resume(&servers.server[HUNG]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	if (server_has(&servers.server[HUNG], name))
		assert_true(hung_status(client).lingering > 0);
	assert_int_equal(servers_with_key(&servers, HUNG, name), 0);
	run_pairs(client, name, 100);
	assert_soon(redlock_drain(client, 20) == 0 && hung_status(client).connected);
}

TEST(with_a_patient_client)
{
	run_beside_hung_node(servers.urls, "patient", FIXTURE_NODE_TIMEOUT_MS, run_pairs);
}

TEST(with_a_hasty_client)
{
	run_beside_hung_node(servers.tcp_urls, "hasty", 1000, run_pairs);
}

TEST(with_a_long_holder)
{
	run_beside_hung_node(servers.urls, "holder", FIXTURE_NODE_TIMEOUT_MS, run_extends);
}

SERVER_TESTS(NODES)
