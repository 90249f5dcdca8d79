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

/* All nodes, a majority or a minority forget between any two calls. What the slower ones are asked again
 * leaves when the client is driven the next time. */
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

/* Whether it is the first call of a connection or a late one, and also when it finds the lock gone. */
TEST(flush_before_a_fresh_client)
{
	own_lock *lock = fixture_value_lock(client, "fresh", WAIT_LONG_TTL_MS, "value");
	for (int i = 0; i < 4; i++) {
		own_client *other = fixture_open(servers.tcp_urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *same = fixture_value_lock(other, "fresh", WAIT_LONG_TTL_MS, "value");
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, servers_with_key(&servers, NODES, "fresh") == NODES);
		flush_scripts(NODES);
		expect_ok(same, i % 2 == 0 ? redlock_extend(same, 0) : redlock_query(same));
		flush_scripts(NODES);
		expect_ok(same, redlock_release(same));
		flush_scripts(NODES);
		expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
		/* One value, two connections: a late release of one claim would delete the next one's key. */
		assert_int_equal(redlock_drain(other, WAIT_SOON_MS), 0);
	}
}

/* One handle with a value of its own, claimed again at once: the release that a slower node is asked for must
 * not come behind the next SET there, since it would delete what that has just set. */
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

/* What a failed attempt owes is paid by a script too. */
TEST(flush_before_a_give_back)
{
	own_lock *lock = fixture_lock(client, "partial", WAIT_LONG_TTL_MS, 0);
	on_servers(0, 3, server_must(it, "OK", "SET", "partial", "x", NULL));
	for (int i = 0; i < 5; i++) {
		flush_scripts(NODES);
		expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
		assert_int_equal(servers_with_key(&servers, NODES, "partial"), 3);
	}
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
