/* SPDX-License-Identifier: MIT */
/* The counters of redlock_stats() and redlock_node_stats(), exactly, over scenes on real servers. */
#include <stddef.h>
#include <string.h>

#include "client.h"
#include "fixture.h"

enum { NODES = 3, TTL_MS = 100000, CLIENTS = 3 };

static struct redlock_stats stats_of(redlock_client *client)
{
	struct redlock_stats stats = {.size = sizeof stats};
	expect_ok(NULL, redlock_stats(client, &stats));
	return stats;
}

static struct redlock_node_stats node_stats_of(redlock_client *client, unsigned node)
{
	struct redlock_node_stats stats = {.size = sizeof stats};
	expect_ok(NULL, redlock_node_stats(client, node, &stats));
	return stats;
}

static uint64_t sum(const uint64_t *counts, unsigned size)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < size; i++)
		all += counts[i];
	return all;
}

/* Counters of one struct that must fit together. */
static void expect_consistent(const struct redlock_stats *s)
{
	uint64_t acquires = sum(s->acquires, REDLOCK_STATS_RESULTS);
	assert_int_equal(s->wait.count, acquires);
	assert_true(s->attempts + s->passed >= s->acquires[0]);
	assert_true(s->taken_over + s->passed <= s->acquires[0]);
	assert_true(s->handed_over <= sum(s->releases, REDLOCK_STATS_RESULTS));
	assert_true(sum(s->losses, REDLOCK_STATS_LOSSES) + s->validity.count <= s->hold.count);
	const struct redlock_histogram *const all[] = {&s->wait, &s->hold, &s->validity};
	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
		assert_int_equal(all[i]->count, sum(all[i]->buckets, REDLOCK_HISTOGRAM_BUCKETS));
}

/* Two pairs, a refusal, an extension: what each adds, and to nothing else. */
TEST(acquires_and_releases)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_client *other = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "job", TTL_MS, 0), *rival = fixture_lock(other, "job", TTL_MS, 0);
	expect_pair(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	expect_ok(lock, redlock_acquire(lock));
	expect_result(rival, REDLOCK_E_BUSY, redlock_acquire(rival));
	expect_ok(lock, redlock_extend(lock, 0));
	struct redlock_stats s = stats_of(client);
	assert_true(s.held == 1 && s.waiting == 0 && s.hold.count == 1 && s.validity.count == 1);
	expect_ok(lock, redlock_release(lock));
	expect_result(lock, REDLOCK_E_STATE, redlock_release(lock)); /* refused at once: counted nowhere */
	s = stats_of(client);
	expect_consistent(&s);
	assert_true(s.acquires[0] == 2 && s.wait.count == 2 && s.attempts == 2);
	assert_true(s.releases[0] == 2 && sum(s.releases, REDLOCK_STATS_RESULTS) == 2);
	assert_true(s.held == 0 && s.hold.count == 2 && s.validity.count == 2 && s.extends == 1);
	assert_true(s.validity.sum_ns > rl_time_ms(TTL_MS) && s.validity.sum_ns < 2 * rl_time_ms(TTL_MS));
	assert_true(s.renewals + s.failed_renewals + s.failed_extends + s.handed_over + s.passed == 0);
	assert_int_equal(sum(s.losses, REDLOCK_STATS_LOSSES), 0);
	s = stats_of(other);
	expect_consistent(&s);
	assert_true(s.acquires[-REDLOCK_E_BUSY] == 1 && sum(s.acquires, REDLOCK_STATS_RESULTS) == 1);
	assert_true(s.held == 0 && s.attempts >= 1 && s.hold.count == 0);
}

/* Each of two pairs and an extension is one yes of each node, once all have answered. */
TEST(votes_and_connections)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "votes", TTL_MS, 0);
	expect_pair(lock);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	for (unsigned i = 0; i < NODES; i++) {
		assert_driven(client, node_stats_of(client, i).votes[REDLOCK_VOTE_YES] == 5);
		struct redlock_node_stats n = node_stats_of(client, i);
		assert_int_equal(sum(n.votes, REDLOCK_STATS_VOTES), 5);
		assert_true(n.round_trip.count <= 5 && n.round_trip.sum_ns > 0);
		assert_int_equal(n.round_trip.count, sum(n.round_trip.buckets, REDLOCK_HISTOGRAM_BUCKETS));
		assert_true(n.connects == 1 && n.failed_connects == 0 && n.lost_connections == 0);
	}
	server_kill(&servers.server[0]);
	assert_driven(client, node_stats_of(client, 0).failed_connects > 0);
	expect_pair(lock);
	assert_true(node_stats_of(client, 0).votes[REDLOCK_VOTE_YES] == 5);
	server_restart(&servers.server[0]);
	assert_driven(client, node_stats_of(client, 0).connects == 2);
	assert_int_equal(node_stats_of(client, 0).lost_connections, 1);
}

/* A quorum that has lost the keys, the clock, and renewals that were confirmed before. */
TEST(losses_and_renewals)
{
	own_client *client = fixture_open(servers.urls, NODES, 500);
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.renew_ms = 5;
	expect_ok(NULL, redlock_keeper_start(client));
	own_lock *kept = fixture_lock_with(client, "kept", &options);
	expect_ok(kept, redlock_acquire(kept));
	assert_soon(stats_of(client).renewals >= 3);
	on_servers(0, NODES, server_must(it, "1", "DEL", "kept", NULL));
	assert_soon(stats_of(client).losses[REDLOCK_LOSS_GONE] == 1);
	own_lock *brief = fixture_held(client, "brief", 1000, WAIT_SOON_MS);
	assert_soon(stats_of(client).losses[REDLOCK_LOSS_EXPIRED] == 1);
	expect_ok(NULL, redlock_keeper_stop(client));
	(void)redlock_release(brief);
	(void)redlock_release(kept);
	struct redlock_stats s = stats_of(client);
	expect_consistent(&s);
	assert_int_equal(sum(s.losses, REDLOCK_STATS_LOSSES), 2);
	assert_true(s.hold.count == 2 && s.held == 0 && s.validity.count == 0 && s.acquires[0] == 2);
	assert_int_equal(sum(s.releases, REDLOCK_STATS_RESULTS), 2);
}

/* A lock ends by the clock, and not when somebody looks. */
TEST(a_hold_ends_with_the_validity)
{
	own_client *client = fixture_open(servers.urls, NODES, 500);
	own_lock *brief = fixture_held(client, "late", 1000, WAIT_SOON_MS);
	wait_ms(1500);
	(void)redlock_release(brief);
	struct redlock_stats s = stats_of(client);
	expect_consistent(&s);
	assert_true(s.losses[REDLOCK_LOSS_EXPIRED] == 1 && s.hold.count == 1 &&
	            s.hold.sum_ns < UINT64_C(1000000000));
}

/* Handles that are freed, or left, while they hold or wait are not counted as holding or waiting any more. */
TEST(handles_that_go)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *held = fixture_held(client, "go", TTL_MS, 0);
	redlock_lock *left = fixture_held(client, "left", TTL_MS, 0);
	redlock_lock *waits = fixture_lock(client, "left", TTL_MS, WAIT_SOON_MS);
	expect_ok(waits, redlock_start_acquire(waits));
	assert_true(stats_of(client).held == 2 && stats_of(client).waiting == 1);
	redlock_lock_free(waits);
	redlock_lock_leave(left);
	redlock_lock_free(held);
	struct redlock_stats s = stats_of(client);
	expect_consistent(&s);
	assert_true(s.held == 0 && s.waiting == 0 && s.hold.count == 2);
	assert_true(s.validity.count == 1 && s.acquires[-REDLOCK_E_CANCELLED] == 1);
}

/* A caller's own value, which another program acquired: the extension begins to hold the lock. */
TEST(a_value_that_is_taken_up)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_value_lock(client, "own", TTL_MS, "mine");
	on_servers(0, NODES, server_must(it, "OK", "SET", "own", "theirs", "PX", "100000", NULL));
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	on_servers(0, NODES, server_must(it, "OK", "SET", "own", "mine", "PX", "100000", NULL));
	expect_ok(lock, redlock_extend(lock, 0));
	assert_int_equal(stats_of(client).held, 1);
	expect_ok(lock, redlock_release(lock));
	struct redlock_stats s = stats_of(client);
	assert_true(s.held == 0 && s.hold.count == 1 && s.extends == 1 && s.acquires[0] == 0);
}

/* ---- from hand to hand ---- */

struct relay {
	redlock_client *clients[CLIENTS];
	redlock_lock *locks[CLIENTS];
	unsigned holder, acquired, released;
};

static bool drive(struct relay *r)
{
	struct redlock_event event = {.size = sizeof event};
	for (unsigned i = 0; i < CLIENTS; i++) {
		expect_ok(NULL, redlock_process(r->clients[i]));
		while (redlock_next(r->clients[i], &event) == 1) {
			expect_ok(event.lock, event.result);
			bool acquired = event.operation == REDLOCK_OP_ACQUIRE;
			r->holder = acquired ? i : r->holder;
			r->acquired += acquired;
			r->released += !acquired;
		}
	}
	return true;
}

/* The first one releases; the next holder knows of the third one, and hands the lock over. */
static void run_relay(struct relay *r)
{
	r->holder = r->acquired = r->released = 0;
	expect_ok(r->locks[0], redlock_acquire(r->locks[0]));
	for (unsigned i = 1; i < CLIENTS; i++) {
		expect_ok(r->locks[i], redlock_start_acquire(r->locks[i]));
		assert_soon(drive(r) && r->locks[i]->core.queue.placed);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		expect_ok(r->locks[r->holder], redlock_start_release(r->locks[r->holder]));
		assert_soon(drive(r) && r->released == i + 1 && r->acquired == (i + 1 < CLIENTS ? i + 1 : i));
	}
}

/* A lock that was handed over may be found by the waiter's own claim first. So the relay is run until a
 * hand-over has arrived. */
TEST(hand_overs)
{
	struct relay r;
	uint64_t given = 0, taken = 0, rounds = 0;
	for (unsigned i = 0; i < CLIENTS; i++) {
		r.clients[i] = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
		r.locks[i] = fixture_lock(r.clients[i], "job", TTL_MS, WAIT_SOON_MS);
	}
	for (; taken == 0; rounds++) {
		assert_true(rounds < 100);
		run_relay(&r);
		given = taken = 0;
		for (unsigned i = 0; i < CLIENTS; i++) {
			struct redlock_stats s = stats_of(r.clients[i]);
			expect_consistent(&s);
			assert_true(s.acquires[0] == rounds + 1 && s.releases[0] == rounds + 1);
			assert_true(s.held == 0 && s.waiting == 0);
			given += s.handed_over;
			taken += s.taken_over;
		}
		assert_true(given >= taken);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		redlock_lock_free(r.locks[i]);
		redlock_close(r.clients[i]);
	}
}

/* Within a client the lock is passed on without a node: one hold ends, and the next begins. */
TEST(passes)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *holder = fixture_held(client, "job", TTL_MS, WAIT_SOON_MS);
	own_lock *waiter = fixture_lock(client, "job", TTL_MS, WAIT_SOON_MS);
	holder->core.hold.pass_until_ns = UINT64_MAX; /* this machine may be slow */
	expect_ok(waiter, redlock_start_acquire(waiter));
	assert_driven(client, waiter->in_line);
	assert_true(stats_of(client).held == 1 && stats_of(client).waiting == 1);
	expect_ok(holder, redlock_release(holder));
	struct redlock_stats s = stats_of(client);
	expect_consistent(&s);
	assert_true(s.held == 1 && s.waiting == 0 && s.passed == 1 && s.acquires[0] == 2);
	assert_true(s.hold.count == 1 && s.releases[0] == 1 && s.validity.count == 1 && s.handed_over == 0);
}

/* ---- never less ---- */

/* All counters as one row of numbers: the structs have nothing else between `size` and what falls, too. */
enum {
	CLIENT_COUNTERS =
	    (offsetof(struct redlock_stats, waiting) - offsetof(struct redlock_stats, acquires)) / 8,
	NODE_COUNTERS = (sizeof(struct redlock_node_stats) - offsetof(struct redlock_node_stats, votes)) / 8
};

struct seen {
	uint64_t client[CLIENT_COUNTERS], node[NODES][NODE_COUNTERS];
};

static void expect_none_fell(redlock_client *client, struct seen *before)
{
	struct seen now;
	struct redlock_stats stats = stats_of(client);
	memcpy(now.client, stats.acquires, sizeof now.client);
	for (unsigned i = 0; i < NODES; i++) {
		struct redlock_node_stats node = node_stats_of(client, i);
		memcpy(now.node[i], node.votes, sizeof now.node[i]);
	}
	for (unsigned k = 0; k < CLIENT_COUNTERS; k++)
		assert_true(now.client[k] >= before->client[k]);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned k = 0; k < NODE_COUNTERS; k++)
			assert_true(now.node[i][k] >= before->node[i][k]);
	*before = now;
}

/* A server that is replaced by an empty one at its address, while a lock is held and another handle waits. */
static void replace_server(redlock_client *client, unsigned node, redlock_lock *held, struct seen *seen)
{
	uint64_t connects = node_stats_of(client, node).connects;
	server_kill(&servers.server[node]);
	assert_driven(client, node_stats_of(client, node).failed_connects > 0);
	expect_none_fell(client, seen);
	expect_ok(held, redlock_extend(held, 0));
	server_restart(&servers.server[node]);
	assert_driven(client, node_stats_of(client, node).connects > connects);
	expect_none_fell(client, seen);
}

TEST(counters_never_fall)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	static struct seen seen;
	for (unsigned round = 0; round < 2 * NODES; round++) {
		redlock_lock *held = fixture_held(client, "job", TTL_MS, 0);
		redlock_lock *waits = fixture_lock(client, "job", TTL_MS, WAIT_SOON_MS);
		expect_ok(waits, redlock_start_acquire(waits));
		expect_none_fell(client, &seen);
		replace_server(client, round % NODES, held, &seen);
		redlock_lock_free(waits);
		expect_none_fell(client, &seen);
		if (round < NODES)
			expect_ok(held, redlock_release(held));
		redlock_lock_free(held);
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
		expect_none_fell(client, &seen);
	}
	struct redlock_stats s = stats_of(client);
	expect_consistent(&s);
	assert_true(s.acquires[0] == 2 * NODES && s.acquires[-REDLOCK_E_CANCELLED] == 2 * NODES);
	assert_true(s.hold.count == 2 * NODES && s.held == 0 && s.waiting == 0);
	for (unsigned i = 0; i < NODES; i++)
		assert_true(node_stats_of(client, i).lost_connections >= 2 && node_stats_of(client, i).connects >= 3);
}

SERVER_TESTS(NODES)
