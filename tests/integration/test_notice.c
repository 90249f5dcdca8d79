/* SPDX-License-Identifier: MIT */
/* Notice of danger and loss comes in time, also while every node hangs: it hangs on the clock alone. */
#include "fixture.h"

enum { NODES = 5, TTL_MS = 3000, RENEW_MS = 500, TIMEOUT_MS = 600 };

static redlock_lock *renewed(redlock_client *client, const char *name, uint64_t renew_ms)
{
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.renew_ms = renew_ms;
	options.danger_ms = 1000;
	options.wait_ms = WAIT_SOON_MS;
	redlock_lock *lock = fixture_lock_with(client, name, &options);
	expect_ok(lock, redlock_acquire(lock));
	return lock;
}

static void pause_all(void)
{
	on_servers(0, NODES, server_pause(it));
}

TEST(danger_and_loss_while_all_nodes_hang)
{
	own_client *client = fixture_open(servers.urls, NODES, TIMEOUT_MS);
	expect_ok(NULL, redlock_keeper_start(client));
	own_lock *lock = renewed(client, "hang", RENEW_MS);
	pause_all();
	struct redlock_event event = fixture_next_notice(client);
	assert_int_equal(event.kind, REDLOCK_EVENT_DANGER);
	assert_ptr_equal(event.lock, lock);
	assert_true(redlock_remaining_ms(lock) <= 1000);
	event = fixture_next_notice(client);
	assert_int_equal(event.kind, REDLOCK_EVENT_LOST);
	assert_ptr_equal(event.lock, lock);
	assert_int_equal(redlock_remaining_ms(lock), 0);
	assert_true(fixture_no_notice(client));
	/* Nodes that go on do not bring it back. */
	on_servers(0, NODES, server_resume(it));
	wait_ms(2ull * RENEW_MS);
	assert_int_equal(redlock_remaining_ms(lock), 0);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
}

/* The notice comes from the clock alone: without renewals, and with nothing else going on. */
TEST(notice_of_expiry)
{
	own_client *client = fixture_open(servers.urls, NODES, TIMEOUT_MS);
	own_lock *lock = renewed(client, "plain", 0);
	own_lock *released = renewed(client, "released", 0);
	expect_ok(NULL, redlock_keeper_start(client));
	expect_ok(released, redlock_release(released));
	assert_int_equal(fixture_next_notice(client).kind, REDLOCK_EVENT_DANGER);
	struct redlock_event event = fixture_next_notice(client);
	assert_int_equal(event.kind, REDLOCK_EVENT_LOST);
	assert_ptr_equal(event.lock, lock);
	assert_true(fixture_no_notice(client)); /* none for the one that was released */
}

/* A renewal that finds a quorum of the keys gone is a loss at once, long before the TTL is over. */
TEST(notice_of_a_stolen_lock)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.renew_ms = 100;
	own_lock *lock = fixture_lock_with(client, "stolen", &options);
	expect_ok(NULL, redlock_keeper_start(client));
	expect_ok(lock, redlock_acquire(lock));
	on_servers(0, 3, server_must(it, "OK", "SET", "stolen", "thief", NULL));
	struct redlock_event event = fixture_next_notice(client);
	assert_int_equal(event.kind, REDLOCK_EVENT_LOST);
	assert_int_equal(redlock_remaining_ms(lock), 0);
	assert_int_equal(servers_with_value(&servers, NODES, "stolen", "thief"), 3);
}

SERVER_TESTS(NODES)
