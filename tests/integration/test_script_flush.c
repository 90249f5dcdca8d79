/* SPDX-License-Identifier: MIT */
/* Scripts that a server has forgotten are sent again, and nobody sees it. */
#include <unistd.h>

#include "child.h"
#include "fixture.h"

enum { NODES = 5 };

static redlock_client *client;

static void flush_scripts(unsigned count)
{
	on_servers(0, count, server_must(it, "OK", "SCRIPT", "FLUSH", NULL));
}

/* All nodes, a majority or a minority forget between any two calls. The requests that slower nodes are asked
 * again leave when the client is driven the next time. */
TEST(flush_while_held)
{
	own_lock *lock = fixture_lock(client, "flushed", WAIT_LONG_TTL_MS, 0);
	const unsigned counts[] = {NODES, 3, 1};
	for (int i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		flush_scripts(counts[i]);
		expect_ok(lock, redlock_extend(lock, 2 * WAIT_LONG_TTL_MS));
		on_servers(0, NODES, assert_driven(client, server_pttl(it, "flushed") > WAIT_LONG_TTL_MS));
		flush_scripts(counts[i]);
		expect_ok(lock, redlock_query(lock));
		flush_scripts(counts[i]);
		expect_ok(lock, redlock_release(lock));
		expect_settled(client, NODES, "flushed");
	}
}

/* One handle with a value of its own, claimed again at once: the release that a slower node is asked for must
 * not come after the next SET there, since it would delete the key that this has just set. */
TEST(flush_before_the_same_value_again)
{
	redlock_lock *lock = fixture_value_lock(client, "again", WAIT_LONG_TTL_MS, "value");
	for (int i = 0; i < 50; i++) {
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, servers_with_key(&servers, NODES, "again") == NODES);
		flush_scripts(NODES);
		expect_ok(lock, redlock_release(lock));
	}
	redlock_lock_free(lock);
	expect_settled(client, NODES, "again");
}

/* Somebody flushes all the time. Also between the check and the repeat: still one call. */
TEST(flush_all_the_time)
{
	pid_t pid = child_fork();
	if (pid == 0) {
		for (;;)
			flush_scripts(NODES);
	}
	redlock_lock *lock = fixture_lock(client, "always", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (int i = 0; i < (wait_is_slow() ? 30 : 200); i++) {
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
	}
	child_kill(pid);
	redlock_lock_free(lock);
	expect_settled(client, NODES, "always");
}

static void start(void)
{
	client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
}

static void stop(void)
{
	redlock_close(client);
}

SERVER_TESTS(NODES, .start = start, .stop = stop)
