/* SPDX-License-Identifier: MIT */
/*
 * SETs that arrive late: a node that was hung, or cut off, executes what it was sent long after the attempt
 * was decided. Its key must not stay, or it must be said that it may.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"
#include "proxy.h"

enum { NODES = 5, LATE = 4 };

#define KEY "late"

static struct proxy proxy; /* in front of node LATE */
static redlock_client *client;
static redlock_lock *lock; /* of KEY */

static bool connected(void)
{
	own_lock *warm = fixture_lock(client, "warm", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_pair(warm);
	redlock_drain(client, 50);
	return fixture_status(client, LATE).connected;
}

static void hold_elsewhere(void)
{
	on_servers(0, 3, server_must(it, "OK", "SET", KEY, "somebody else", NULL));
}

static void open_client(const char *late_url)
{
	const char *urls[NODES] = {servers.urls[0], servers.urls[1], servers.urls[2], servers.urls[3], late_url};
	client = fixture_open(urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	lock = fixture_lock(client, KEY, WAIT_LONG_TTL_MS, 0);
	assert_soon(connected());
}

static void close_client(void)
{
	redlock_lock_free(lock);
	redlock_close(client);
	lock = NULL;
	client = NULL;
}

/* All is sent and answered, and no node has the key. */
#define expect_gone() expect_settled(client, NODES, KEY)

/* The key is gone from the late node, or the client says that it may linger. Never neither. */
static void expect_gone_or_reported(void)
{
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	if (server_has(&servers.server[LATE], KEY))
		assert_true(fixture_status(client, LATE).lingering > 0);
	assert_false(server_has(&servers.server[3], KEY));
}

TEST(granted_without_the_late_node)
{
	server_pause(&servers.server[LATE]);
	expect_pair(lock);
	assert_true(redlock_drain(client, 0) > 0 || fixture_status(client, LATE).waiting > 0);
	server_resume(&servers.server[LATE]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(fixture_status(client, LATE).lingering, 0);
	assert_int_equal(servers_with_key(&servers, NODES, KEY), 0);
}

TEST(lost_without_the_late_node)
{
	hold_elsewhere();
	server_pause(&servers.server[LATE]);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	server_resume(&servers.server[LATE]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(fixture_status(client, LATE).lingering, 0);
	assert_false(server_has(&servers.server[3], KEY));
	assert_false(server_has(&servers.server[LATE], KEY));
	assert_int_equal(servers_with_value(&servers, NODES, KEY, "somebody else"), 3);
}

/* The client closes without waiting; a process that ends would do the same. The requests that it sent stay in
 * order. */
TEST(closed_before_the_late_node_answers)
{
	server_pause(&servers.server[LATE]);
	expect_pair(lock);
	close_client();
	server_resume(&servers.server[LATE]);
	assert_soon(proxy.faults->open == 0);
	assert_soon(servers_with_key(&servers, NODES, KEY) == 0);
}

/* The SET is with the server, which is stopped, when the connection is reset. The server goes on, and
 * executes what it has: whatever the client did meanwhile, the key must go or be reported. */
TEST(cut_off_with_a_set_in_flight)
{
	hold_elsewhere();
	unsigned passed = proxy.faults->up_bytes;
	server_pause(&servers.server[LATE]);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	redlock_drain(client, 50);
	assert_soon(proxy.faults->up_bytes > passed);
	proxy_close(&proxy, PROXY_RESET);
	redlock_drain(client, 200);
	server_resume(&servers.server[LATE]);
	expect_gone_or_reported();
}

/* The SET alone reaches the server: the network keeps back the release after it, and loses it. */
TEST(cut_off_between_set_and_release)
{
	proxy_set(&proxy, &proxy.faults->drop_down, 1);
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, server_has(&servers.server[LATE], KEY));
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	expect_ok(lock, redlock_release(lock));
	assert_true(redlock_drain(client, 50) > 0);
	proxy_close(&proxy, PROXY_RESET);
	proxy_set(&proxy, &proxy.faults->drop_down, 0);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	/* This server can still be asked, so here it must be gone, not just be reported. */
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(fixture_status(client, LATE).owed, 0);
	assert_false(server_has(&servers.server[LATE], KEY));
}

/* A failed attempt gives back through the same cut. The loop is turned by hand: the SET is on the node before
 * the release of it is sent. */
TEST(cut_off_before_a_give_back)
{
	struct redlock_event event = {.size = sizeof event};
	hold_elsewhere();
	proxy_set(&proxy, &proxy.faults->drop_down, 1);
	expect_ok(lock, redlock_start_acquire(lock));
	expect_ok(NULL, redlock_process(client));
	assert_soon(server_has(&servers.server[LATE], KEY));
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	assert_driven(client, redlock_next(client, &event) == 1);
	expect_result(lock, REDLOCK_E_BUSY, event.result);
	assert_true(redlock_drain(client, 50) > 0);
	proxy_close(&proxy, PROXY_RESET);
	proxy_set(&proxy, &proxy.faults->drop_down, 0);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(fixture_status(client, LATE).lingering, 0);
	assert_false(server_has(&servers.server[LATE], KEY));
}

/* The worst of all: the client's end is gone, and the network still has the SET and delivers it to the server
 * after the release on the next connection. Returns whether the key is there in the end. */
static bool late_set_after_the_release(unsigned *ret_lingering)
{
	enum { DELAY_MS = 2000 };
	proxy_set(&proxy, &proxy.faults->delay_up_ms, DELAY_MS);
	uint64_t start_ns = wait_now_ns();
	expect_ok(lock, redlock_acquire(lock));
	wait_ms(200); /* the proxy has got it */
	proxy_set(&proxy, &proxy.faults->delay_up_ms, 0);
	proxy_close(&proxy, PROXY_ABANDON);
	expect_ok(lock, redlock_release(lock));
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	if (wait_elapsed_ms(start_ns) > DELAY_MS)
		skip(); /* too slow a machine for this scene: the SET came before the release */
	while (wait_elapsed_ms(start_ns) < DELAY_MS + 500)
		wait_ms(10);
	*ret_lingering = fixture_status(client, LATE).lingering;
	return server_has(&servers.server[LATE], KEY);
}

TEST(late_set_of_a_lost_connection)
{
	unsigned lingering;
	assert_false(late_set_after_the_release(&lingering)); /* it was CLIENT KILLed */
	assert_int_equal(lingering, 0);
}

TEST(late_set_that_cannot_be_prevented)
{
	unsigned lingering;
	char url[128];
	server_must(&servers.server[LATE], "OK", "ACL", "SETUSER", "limited", "on", ">pw", "~*", "&*", "+@all",
	            "-client", NULL);
	snprintf(url, sizeof url, "redis://limited:pw@127.0.0.1:%d", proxy.port);
	close_client();
	open_client(url);
	assert_true(late_set_after_the_release(&lingering)); /* the scene is what it is meant to be */
	assert_true(lingering > 0);                          /* and it is said */
}

/* A connection on which nothing is answered is given up, abortively: what the kernel still keeps of it is not
 * delivered later. */
TEST(connection_is_given_up_abortively)
{
	char url[64], bytes[4096];
	int port, listener = child_listen(0, &port);
	snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
	const char *urls[] = {servers.urls[0], servers.urls[1], url};
	close_client();
	client = fixture_open(urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	lock = fixture_lock(client, KEY, WAIT_LONG_TTL_MS, 0);
	expect_ok(lock, redlock_acquire(lock));
	int fd = accept(listener, NULL, NULL);
	struct redlock_node_status status = {.size = sizeof status, .connected = 1};
	assert_driven(client, redlock_node_status(client, 2, &status) == 0 &&
	                          status.last_failure != REDLOCK_VOTE_PENDING);
	ssize_t got;
	do
		got = recv(fd, bytes, sizeof bytes, 0);
	while (got > 0);
	assert_int_equal(got, -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	close(listener);
}

/* Closed in order by the server's side, with the SET kept back and never passed: nothing can linger. */
TEST(cut_off_before_the_set_arrives)
{
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	expect_ok(lock, redlock_acquire(lock));
	proxy_close(&proxy, PROXY_CUT);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	expect_ok(lock, redlock_release(lock));
	expect_gone();
}

TEST(release_after_a_reconnect)
{
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, server_has(&servers.server[LATE], KEY));
	proxy_close(&proxy, PROXY_RESET);
	expect_ok(lock, redlock_release(lock));
	expect_gone();
}

TEST(connection_that_keeps_breaking)
{
	for (int i = 0; i < 60; i++) {
		expect_ok(lock, redlock_acquire(lock));
		if (i % 3 == 0)
			proxy_close(&proxy, PROXY_RESET);
		expect_ok(lock, redlock_release(lock));
		if (i % 3 == 1)
			proxy_close(&proxy, PROXY_CUT);
	}
	expect_gone_or_reported();
}

/* A node in a network that swallows everything costs nothing, and is found again when it is back. */
TEST(black_hole)
{
	proxy_set(&proxy, &proxy.faults->hold_up, 1);
	proxy_set(&proxy, &proxy.faults->hold_down, 1);
	for (int i = 0; i < 10; i++) {
		uint64_t start_ns = wait_now_ns();
		expect_pair(lock);
		assert_true(wait_elapsed_ms(start_ns) < FIXTURE_NODE_TIMEOUT_MS / 2);
	}
	proxy_set(&proxy, &proxy.faults->hold_down, 0);
	proxy_set(&proxy, &proxy.faults->hold_up, 0);
	expect_gone();
	assert_soon(connected());
}

static void begin(void)
{
	proxy_start(&proxy, servers.server[LATE].socket);
	open_client(proxy.url);
}

static void end(void)
{
	close_client();
	proxy_stop(&proxy);
}

SERVER_TESTS(NODES, .before = begin, .after = end)
