/* SPDX-License-Identifier: MIT */
/*
 * SETs that arrive late: a node that was hung, or cut off, executes what it was sent long after the attempt
 * was decided. Its key must not stay, or it must be said that it may.
 */
#include "child.h"
#include "fixture.h"
#include "proxy.h"

enum { NODES = 5, LATE = 4 };

static struct servers servers;
static struct proxy proxy; /* in front of node LATE */

static redlock_client *open_through_proxy(void)
{
	const char *urls[NODES] = {servers.urls[0], servers.urls[1], servers.urls[2], servers.urls[3], proxy.url};
	return fixture_open(urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
}

static struct redlock_node_status late_status(redlock_client *client)
{
	struct redlock_node_status status;
	expect_ok(NULL, redlock_node_status(client, LATE, &status));
	return status;
}

static bool connected(redlock_client *client)
{
	redlock_lock *lock = fixture_lock(client, "warm", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_drain(client, 50);
	return late_status(client).connected;
}

static void hold_elsewhere(const char *key)
{
	for (unsigned i = 0; i < 3; i++)
		server_must(&servers.server[i], "OK", "SET", key, "somebody else", NULL);
}

/* The key is gone from the late node, or the client says that it may linger. Never neither. */
static void expect_gone_or_reported(redlock_client *client, const char *key)
{
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	if (server_has(&servers.server[LATE], key))
		assert_true(late_status(client).lingering > 0);
	assert_false(server_has(&servers.server[3], key));
}

static void test_granted_without_the_late_node(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "late", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	server_pause(&servers.server[LATE]);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	assert_true(redlock_drain(client, 0) > 0 || late_status(client).waiting > 0);
	server_resume(&servers.server[LATE]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(late_status(client).lingering, 0);
	assert_int_equal(servers_with_key(&servers, NODES, "late"), 0);
	redlock_lock_free(lock);
	redlock_close(client);
}

static void test_lost_without_the_late_node(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "lost", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	hold_elsewhere("lost");
	server_pause(&servers.server[LATE]);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	server_resume(&servers.server[LATE]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(late_status(client).lingering, 0);
	assert_false(server_has(&servers.server[3], "lost"));
	assert_false(server_has(&servers.server[LATE], "lost"));
	assert_int_equal(servers_with_value(&servers, NODES, "lost", "somebody else"), 3);
	redlock_lock_free(lock);
	redlock_close(client);
}

/* The client closes without waiting; a process that ends would do the same. What it sent is in order. */
static void test_closed_before_the_late_node_answers(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "closed", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	server_pause(&servers.server[LATE]);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_close(client);
	server_resume(&servers.server[LATE]);
	assert_soon(proxy.faults->open == 0);
	assert_soon(servers_with_key(&servers, NODES, "closed") == 0);
}

/* The SET is with the server, which is stopped, when the connection is reset. The server goes on, and
 * executes what it has: whatever the client did meanwhile, the key must go or be reported. */
static void test_cut_off_with_a_set_in_flight(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "cut", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	hold_elsewhere("cut");
	unsigned passed = proxy.faults->up_bytes;
	server_pause(&servers.server[LATE]);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	redlock_drain(client, 50);
	assert_soon(proxy.faults->up_bytes > passed);
	proxy_reset(&proxy);
	redlock_drain(client, 200);
	server_resume(&servers.server[LATE]);
	expect_gone_or_reported(client, "cut");
	redlock_lock_free(lock);
	redlock_close(client);
}

/* The same with the SET alone at the server: the release behind it is kept back by the network and lost. */
static void test_cut_off_between_set_and_release(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "between", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	proxy_set(&proxy, &proxy.faults->drop_down, 1);
	expect_ok(lock, redlock_acquire(lock));
	assert_soon(server_has(&servers.server[LATE], "between"));
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	expect_ok(lock, redlock_release(lock));
	assert_true(redlock_drain(client, 50) > 0);
	proxy_reset(&proxy);
	proxy_set(&proxy, &proxy.faults->drop_down, 0);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	/* This server can still be asked, so here it must be gone, not just be reported. */
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(late_status(client).owed, 0);
	assert_false(server_has(&servers.server[LATE], "between"));
	redlock_lock_free(lock);
	redlock_close(client);
}

/* Closed in order by the server's side, with the SET kept back and never passed: nothing can linger. */
static void test_cut_off_before_the_set_arrives(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "before", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	expect_ok(lock, redlock_acquire(lock));
	proxy_cut(&proxy);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	expect_ok(lock, redlock_release(lock));
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(servers_with_key(&servers, NODES, "before"), 0);
	redlock_lock_free(lock);
	redlock_close(client);
}

/* A lock that is held through a break of one connection is still released on that node. */
static void test_release_after_a_reconnect(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "reconnect", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	expect_ok(lock, redlock_acquire(lock));
	assert_soon(server_has(&servers.server[LATE], "reconnect"));
	proxy_reset(&proxy);
	expect_ok(lock, redlock_release(lock));
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(servers_with_key(&servers, NODES, "reconnect"), 0);
	redlock_lock_free(lock);
	redlock_close(client);
}

/* Connections that break all the time, on one node, harm no acquisition and leave nothing. */
static void test_connection_that_keeps_breaking(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "flaky", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	assert_soon(connected(client));
	for (int i = 0; i < 60; i++) {
		expect_ok(lock, redlock_acquire(lock));
		if (i % 3 == 0)
			proxy_reset(&proxy);
		expect_ok(lock, redlock_release(lock));
		if (i % 3 == 1)
			proxy_cut(&proxy);
	}
	expect_gone_or_reported(client, "flaky");
	redlock_lock_free(lock);
	redlock_close(client);
}

/* A node behind a network that swallows everything costs nothing, and is found again when it is back. */
static void test_black_hole(void **state)
{
	(void)state;
	redlock_client *client = open_through_proxy();
	redlock_lock *lock = fixture_lock(client, "hole", WAIT_LONG_TTL_MS, 0);
	assert_soon(connected(client));
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	proxy_set(&proxy, &proxy.faults->hold_down, 1);
	for (int i = 0; i < 10; i++) {
		uint64_t start_ns = wait_now_ns();
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_release(lock));
		assert_true(wait_elapsed_ms(start_ns) < FIXTURE_NODE_TIMEOUT_MS / 2);
	}
	proxy_set(&proxy, &proxy.faults->hold_down, 0);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(servers_with_key(&servers, NODES, "hole"), 0);
	assert_soon(connected(client));
	redlock_lock_free(lock);
	redlock_close(client);
}

static int start(void **state)
{
	(void)state;
	servers_start(&servers, NODES, NULL);
	proxy_start(&proxy, servers.server[LATE].socket);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	proxy_stop(&proxy);
	servers_stop(&servers);
	return 0;
}

static int heal(void **state)
{
	(void)state;
	proxy_stop(&proxy);
	servers_heal(&servers);
	proxy_start(&proxy, servers.server[LATE].socket);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_granted_without_the_late_node, heal),
	    cmocka_unit_test_teardown(test_lost_without_the_late_node, heal),
	    cmocka_unit_test_teardown(test_closed_before_the_late_node_answers, heal),
	    cmocka_unit_test_teardown(test_cut_off_with_a_set_in_flight, heal),
	    cmocka_unit_test_teardown(test_cut_off_between_set_and_release, heal),
	    cmocka_unit_test_teardown(test_cut_off_before_the_set_arrives, heal),
	    cmocka_unit_test_teardown(test_release_after_a_reconnect, heal),
	    cmocka_unit_test_teardown(test_connection_that_keeps_breaking, heal),
	    cmocka_unit_test_teardown(test_black_hole, heal),
	};
	return cmocka_run_group_tests_name("partition", tests, start, stop);
}
