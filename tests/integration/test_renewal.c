/* SPDX-License-Identifier: MIT */
/* The keeper renews held locks in the background, over outages, beside other calls, and up to a cap; and
 * tells of danger and loss. */
#include <pthread.h>

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

TEST(renewal_over_several_ttls)
{
	redlock_client *client = fixture_open(servers.urls, NODES, TIMEOUT_MS);
	expect_ok(NULL, redlock_keeper_start(client));
	expect_result(NULL, REDLOCK_E_STATE, redlock_keeper_start(client));
	redlock_lock *lock = renewed(client, "kept", RENEW_MS);
	struct fixture_token token = fixture_token(lock);
	uint64_t start_ns = wait_now_ns();
	while (wait_elapsed_ms(start_ns) < 2ull * TTL_MS) {
		assert_true(redlock_remaining_ms(lock) > 0);
		assert_true(servers_with_value(&servers, NODES, "kept", token.text) >= 3);
		wait_ms(100);
	}
	assert_true(fixture_no_notice(client));

	/* Without its keeper it ends, with a TTL's delay at most. */
	expect_ok(NULL, redlock_keeper_stop(client));
	expect_ok(NULL, redlock_keeper_stop(client));
	assert_soon(redlock_remaining_ms(lock) == 0);
	assert_soon(servers_with_key(&servers, NODES, "kept") == 0);

	/* A new keeper finds out what happened. */
	expect_ok(NULL, redlock_keeper_start(client));
	while (fixture_next_notice(client).kind != REDLOCK_EVENT_LOST) {
	}
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_close(client); /* stops the keeper too */
}

/* Such a lock would end in silence. */
TEST(nothing_would_renew)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.renew_ms = 5000;
	own_lock *lock = fixture_lock_with(client, "silent", &options);
	expect_result(lock, REDLOCK_E_UNRENEWED, redlock_acquire(lock));
	assert_int_equal(servers_with_key(&servers, NODES, "silent"), 0);
	expect_ok(NULL, redlock_keeper_start(client));
	expect_pair(lock);
	expect_ok(NULL, redlock_keeper_stop(client));
	expect_result(lock, REDLOCK_E_UNRENEWED, redlock_acquire(lock));
	expect_ok(NULL, redlock_process(client)); /* an event loop */
	expect_pair(lock);
}

/* A renewal that fails is tried again until the validity ends: a short outage of all nodes is survived. */
TEST(renewal_over_an_outage)
{
	own_client *client = fixture_open(servers.urls, NODES, 300);
	struct redlock_lock_options options = fixture_options(20000);
	options.renew_ms = 200;
	options.wait_ms = WAIT_SOON_MS;
	own_lock *lock = fixture_lock_with(client, "outage", &options);
	expect_ok(NULL, redlock_keeper_start(client));
	expect_ok(lock, redlock_acquire(lock));
	on_servers(0, NODES, server_pause(it));
	wait_ms(1500);
	on_servers(0, NODES, server_resume(it));
	uint64_t later_ns = redlock_deadline_ns(lock) + 1000000000u;
	assert_soon(redlock_deadline_ns(lock) > later_ns);
	assert_true(fixture_no_notice(client));
	expect_ok(lock, redlock_release(lock));
}

static void *take_and_give(void *client)
{
	redlock_lock *lock = NULL;
	int failures = redlock_lock_new(client, "busy", NULL, &lock);
	for (int i = 0; i < 100 && failures == 0; i++) {
		failures += redlock_acquire(lock) != 0;
		failures += redlock_release(lock) != 0;
	}
	redlock_lock_free(lock);
	return failures == 0 ? client : NULL;
}

/* Many renewed locks beside a thread that uses the same client all the time, and a keeper that comes and
 * goes. */
TEST(keeper_beside_blocking_calls)
{
	enum { LOCKS = 16 };
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *locks[LOCKS];
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.renew_ms = 5;
	expect_ok(NULL, redlock_keeper_start(client)); /* else nothing would renew them */
	for (int i = 0; i < LOCKS; i++) {
		char name[] = {'k', (char)('a' + i), '\0'};
		locks[i] = fixture_lock_with(client, name, &options);
		expect_ok(locks[i], redlock_acquire(locks[i]));
	}
	expect_ok(NULL, redlock_keeper_stop(client));
	pthread_t thread;
	void *result = NULL;
	assert_int_equal(pthread_create(&thread, NULL, take_and_give, client), 0);
	for (int i = 0; i < 20; i++) {
		expect_ok(NULL, redlock_keeper_start(client));
		uint64_t later_ns = redlock_deadline_ns(locks[0]);
		assert_soon(redlock_deadline_ns(locks[0]) > later_ns);
		expect_ok(NULL, redlock_keeper_stop(client));
	}
	pthread_join(thread, &result);
	assert_non_null(result);
	for (int i = 0; i < LOCKS; i++) {
		assert_true(redlock_remaining_ms(locks[i]) > 0);
		redlock_lock_free(locks[i]);
	}
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(server_key_count(&servers.server[0]), 0);
}

TEST(renewal_up_to_a_cap)
{
	own_client *client = fixture_open(servers.urls, NODES, TIMEOUT_MS);
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.renew_ms = RENEW_MS;
	options.wait_ms = WAIT_SOON_MS;
	options.max_hold_ms = TTL_MS + TTL_MS / 2;
	own_lock *lock = fixture_lock_with(client, "capped", &options);
	expect_ok(NULL, redlock_keeper_start(client));
	expect_ok(lock, redlock_acquire(lock));
	uint64_t start_ns = wait_now_ns();
	while (redlock_remaining_ms(lock) > 0)
		wait_ms(5);
	assert_in_range(wait_elapsed_ms(start_ns), TTL_MS, 2ull * TTL_MS + WAIT_SOON_MS);
	assert_int_equal(fixture_next_notice(client).kind, REDLOCK_EVENT_DANGER);
	assert_int_equal(fixture_next_notice(client).kind, REDLOCK_EVENT_LOST);
}

/* ---- notice of danger and loss: in time, also while every node hangs ---- */

TEST(danger_and_loss_while_all_nodes_hang)
{
	own_client *client = fixture_open(servers.urls, NODES, TIMEOUT_MS);
	expect_ok(NULL, redlock_keeper_start(client));
	own_lock *lock = renewed(client, "hang", RENEW_MS);
	on_servers(0, NODES, server_pause(it));
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
