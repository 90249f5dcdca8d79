/* SPDX-License-Identifier: MIT */
/*
 * Nodes that are dead, hung or slow. The node timeout is long on purpose: whatever waited for a bad node
 * would take that long, and "at once" here means less than half of it.
 */
#include "child.h"
#include "fixture.h"
#include "proxy.h"

enum { NODES = 5, HANG_MS = 16000 };

#define expect_at_once(lock, want, call)                                                                     \
	do {                                                                                                     \
		uint64_t since_ns_ = wait_now_ns();                                                                  \
		expect_result(lock, want, call);                                                                     \
		assert_true(wait_elapsed_ms(since_ns_) < HANG_MS / 2);                                               \
	} while (0)

static redlock_client *open_warm(void)
{
	redlock_client *client = fixture_open(servers.urls, NODES, HANG_MS);
	redlock_lock *lock = fixture_lock(client, "warm", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (unsigned i = 0; i < NODES; i++) {
		while (!fixture_status(client, i).connected)
			expect_pair(lock);
	}
	redlock_lock_free(lock);
	return client;
}

static void pairs_at_once(redlock_client *client)
{
	own_lock *lock = fixture_lock(client, "fault", WAIT_LONG_TTL_MS, 0);
	for (int i = 0; i < 3; i++) {
		expect_at_once(lock, 0, redlock_acquire(lock));
		expect_at_once(lock, 0, redlock_extend(lock, 0));
		expect_at_once(lock, 0, redlock_release(lock));
		assert_driven(client, servers_with_key(&servers, NODES, "fault") == 0);
	}
}

/* Applies a fault to the last `bad` nodes of a warm client and of a fresh one. */
static void survive(void (*fault)(struct server *), unsigned bad)
{
	own_client *warm = open_warm();
	for (unsigned i = 0; i < bad; i++)
		fault(&servers.server[NODES - 1 - i]);
	own_client *fresh = fixture_open(servers.urls, NODES, HANG_MS);
	own_client *fresh_tcp = fixture_open(servers.tcp_urls, NODES, HANG_MS);
	pairs_at_once(warm);
	pairs_at_once(fresh);
	pairs_at_once(fresh_tcp);
}

TEST(two_killed)
{
	survive(server_kill, 2);
}

TEST(two_hung)
{
	survive(server_pause, 2);
}

TEST(two_slow)
{
	struct proxy slow[2];
	const char *urls[NODES] = {servers.urls[0], servers.urls[1], servers.urls[2]};
	for (unsigned i = 0; i < 2; i++) {
		proxy_start(&slow[i], servers.server[3 + i].socket);
		urls[3 + i] = slow[i].url;
	}
	proxy_set(&slow[0], &slow[0].faults->delay_up_ms, HANG_MS);
	proxy_set(&slow[1], &slow[1].faults->delay_down_ms, HANG_MS);
	redlock_client *client = fixture_open(urls, NODES, HANG_MS);
	pairs_at_once(client);
	redlock_close(client);
	proxy_stop(&slow[0]);
	proxy_stop(&slow[1]);
}

/* A query with a token asks whether the token holds: it ends as soon as a quorum says so. */
TEST(query_by_token_beside_a_hung_node)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.token = "mine";
	options.token_len = 4;
	server_pause(&servers.server[0]);
	own_client *client = fixture_open(servers.urls, NODES, HANG_MS);
	own_lock *lock = fixture_lock_with(client, "asked", &options);
	expect_at_once(lock, REDLOCK_E_GONE, redlock_query(lock));
	expect_at_once(lock, 0, redlock_acquire(lock));
	expect_at_once(lock, 0, redlock_query(lock));
	expect_at_once(lock, 0, redlock_release(lock));
}

TEST(answers_in_single_bytes)
{
	struct proxy trickle[3];
	const char *urls[3];
	for (unsigned i = 0; i < 3; i++) {
		proxy_start(&trickle[i], servers.server[i].socket);
		proxy_set(&trickle[i], &trickle[i].faults->trickle, 1);
		urls[i] = trickle[i].url;
	}
	redlock_client *client = fixture_open(urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = fixture_held(client, "bytes", WAIT_LONG_TTL_MS, 0);
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	expect_settled(client, 3, "bytes");
	redlock_lock_free(lock);
	redlock_close(client);
	for (unsigned i = 0; i < 3; i++)
		proxy_stop(&trickle[i]);
}

/* Without a quorum the refusal is as quick as the answers, and the two nodes that granted are given back. */
static void no_quorum_at_once(redlock_client *client)
{
	own_lock *lock = fixture_lock(client, "lonely", WAIT_LONG_TTL_MS, 0);
	expect_at_once(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_true(fixture_votes_of_kind(lock, NODES, REDLOCK_KIND_MISSING) >= 3);
	assert_int_equal(redlock_remaining_ms(lock), 0);
	assert_soon(redlock_drain(client, 10) >= 0 && servers_with_key(&servers, NODES, "lonely") == 0);
}

TEST(held_with_two_dead_is_busy)
{
	server_kill(&servers.server[0]);
	server_pause(&servers.server[1]);
	on_servers(2, NODES, server_must(it, "OK", "SET", "held", "by somebody else", NULL));
	own_client *client = fixture_open(servers.urls, NODES, HANG_MS);
	own_lock *lock = fixture_lock(client, "held", WAIT_LONG_TTL_MS, 0);
	expect_at_once(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	assert_int_equal(servers_with_value(&servers, NODES, "held", "by somebody else"), 3);
}

static bool votes_again(redlock_client *client, unsigned node)
{
	redlock_lock *lock = fixture_lock(client, "again", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	int result = redlock_acquire(lock);
	redlock_release(lock);
	redlock_drain(client, 100); /* gives the slower nodes time to connect */
	redlock_lock_free(lock);
	return result == 0 && fixture_status(client, node).connected;
}

TEST(restarted_nodes_vote_again)
{
	own_client *client = open_warm();
	on_servers(0, 3, server_kill(it));
	no_quorum_at_once(client);
	server_restart(&servers.server[0]);
	assert_soon(votes_again(client, 0));
	server_restart(&servers.server[1]);
	server_restart(&servers.server[2]);
	assert_soon(votes_again(client, 1) && votes_again(client, 2));
	/* Their votes count: without them there is no quorum. */
	server_kill(&servers.server[3]);
	server_kill(&servers.server[4]);
	own_lock *lock = fixture_lock(client, "fault", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_pair(lock);
}

SERVER_TESTS(NODES)
