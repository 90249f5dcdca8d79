/* SPDX-License-Identifier: MIT */
/* Servers of a guarded set whose wall clocks are set, run too fast or stand still. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fixture.h"
#include "record.h"

enum { NODES = 3, MAX_TTL_MS = 1000, LONG_TTL_MS = 20000, NODE_TIMEOUT_MS = 800 };
#define SECOND INT64_C(1000000000)

static char warning[512]; /* the last one of node 0: its status forgets it with the connection, which ages */

static void keep_warning(void *unused, const char *line)
{
	(void)unused;
	if (strncmp(line, "node 0: its clock", 17) == 0)
		snprintf(warning, sizeof warning, "%s", line);
}

static redlock_client *open_guarded(int guard)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.guard = guard;
	options.node_timeout_ms = NODE_TIMEOUT_MS;
	options.trace = keep_warning;
	warning[0] = '\0';
	return fixture_open_with(&options);
}

static void heal_clocks(void)
{
	on_servers(0, NODES, server_set_clock(it, 0));
}

/* Valkey 9.1 reads its wall clock only now and then, and goes on from there by the monotonic one. */
static void set_and_see(const struct server *server, int64_t off_ns)
{
	struct raw_reply reply;
	server_set_clock(server, off_ns);
	assert_soon(llabs(atoll(server_ask(server, &reply, "TIME", NULL)) - time(NULL) - off_ns / SECOND) <= 1);
}

static bool is_told(redlock_client *client, unsigned node, const char *text)
{
	return strstr(fixture_status(client, node).last_error, text) != NULL;
}

/* Whether node 0 votes so when the lock is wanted once more. */
static bool votes(redlock_lock *lock, enum redlock_vote_code want)
{
	int error = redlock_acquire(lock);
	enum redlock_vote_code vote = fixture_vote(lock, 0);
	assert_true(error == 0 || error == REDLOCK_E_NOQUORUM || error == REDLOCK_E_BUSY);
	if (error == 0)
		expect_ok(lock, redlock_release(lock));
	return vote == want;
}

/* Whether all are met, and so what their clocks say is known. A query waits for each of them. */
static bool are_known(redlock_lock *lock)
{
	bool all = votes(lock, REDLOCK_VOTE_YES) && redlock_acquire(lock) == 0 && redlock_query(lock) == 0;
	for (unsigned i = 0; i < NODES; i++)
		all = all && fixture_vote(lock, i) == REDLOCK_VOTE_YES;
	(void)redlock_release(lock);
	return all;
}

/* Returns how long it took since then until node 0 voted again. */
static uint64_t comes_back(redlock_lock *lock, uint64_t begin_ns)
{
	assert_soon(votes(lock, REDLOCK_VOTE_YES));
	return wait_elapsed_ms(begin_ns);
}

TEST(a_clock_that_was_set_has_no_vote_for_the_longest_ttl)
{
	static const int64_t offs[] = {10 * SECOND, -10 * SECOND, SECOND / 10};
	for (unsigned i = 0; i < sizeof offs / sizeof offs[0]; i++) {
		record_write(&servers, NODES, MAX_TTL_MS, "1000");
		own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		assert_soon(votes(lock, REDLOCK_VOTE_YES));
		uint64_t begin_ns = wait_now_ns();
		server_set_clock(&servers.server[0], offs[i]);
		assert_soon(votes(lock, REDLOCK_VOTE_CLOCK));
		if (strstr(warning, offs[i] > 0 ? "has moved by +" : "has moved by -") == NULL ||
		    strstr(warning, "it does not vote") == NULL)
			fail_msg("round %u: '%s'", i, warning);
		assert_in_range(comes_back(lock, begin_ns), MAX_TTL_MS - 100, 2 * WAIT_SOON_MS);
		heal_clocks();
	}
}

/* A renewal asks too: the other nodes keep the lock. */
TEST(a_holder_sees_it)
{
	record_write(&servers, NODES, LONG_TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fixture_held(client, "job", LONG_TTL_MS, 0);
	assert_soon(redlock_extend(lock, 0) == 0 &&
	            fixture_vote(lock, 0) == REDLOCK_VOTE_YES); /* its time is known */
	server_set_clock(&servers.server[0], 60 * SECOND);
	uint64_t begin_ns = wait_now_ns();
	do {
		wait_ms(60);
		expect_ok(lock, redlock_extend(lock, 0));
	} while (fixture_vote(lock, 0) != REDLOCK_VOTE_CLOCK && wait_elapsed_ms(begin_ns) < WAIT_SOON_MS);
	assert_in_range(wait_elapsed_ms(begin_ns), 60, WAIT_SOON_MS - 1);
	expect_ok(lock, redlock_release(lock));
	heal_clocks();
}

/* A majority forgets a lock by its clocks: nobody else gets it while it is held. */
TEST(two_clocks_are_set)
{
	for (int guard = REDLOCK_GUARD_OFF; guard <= REDLOCK_GUARD_REQUIRE; guard += REDLOCK_GUARD_REQUIRE) {
		record_write(&servers, NODES, LONG_TTL_MS, "1000");
		own_client *a = open_guarded(guard), *b = open_guarded(guard);
		own_lock *other = fixture_lock(b, "other", LONG_TTL_MS, 0);
		own_lock *held = fixture_lock(a, "job", LONG_TTL_MS, 0),
		         *wanted = fixture_lock(b, "job", LONG_TTL_MS, 0);
		assert_soon(are_known(other));
		on_servers(0, 2, set_and_see(it, 60 * SECOND));
		if (guard != REDLOCK_GUARD_OFF)
			assert_soon(votes(other, REDLOCK_VOTE_CLOCK) && fixture_vote(other, 1) == REDLOCK_VOTE_CLOCK);
		expect_ok(held, redlock_acquire(held)); /* a client that has not looked since knows nothing */
		expect_ok(held, redlock_query(held));   /* the third one may have answered late */
		on_servers(0, 2, set_and_see(it, 120 * SECOND));
		int want = guard == REDLOCK_GUARD_OFF ? 0 : REDLOCK_E_NOQUORUM;
		expect_result(wanted, want, redlock_acquire(wanted));
		assert_true(redlock_remaining_ms(held) > 0);
		servers_heal(&servers);
		heal_clocks();
	}
}

/* A new client has no earlier reading of a clock: no guard tells it that a majority forgot a held lock. */
TEST(a_new_client_does_not_see_that_two_clocks_were_set)
{
	record_write(&servers, NODES, LONG_TTL_MS, "1000");
	own_client *old = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *held = fixture_lock(old, "job", LONG_TTL_MS, 0);
	assert_soon(are_known(held));
	expect_ok(held, redlock_acquire(held));
	expect_ok(held, redlock_query(held));
	on_servers(0, 2, set_and_see(it, 60 * SECOND));
	own_client *newcomer = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *wanted = fixture_lock(newcomer, "job", LONG_TTL_MS, 0);
	expect_ok(wanted, redlock_acquire(wanted));
	assert_driven(newcomer, fixture_vote(wanted, 2) != REDLOCK_VOTE_PENDING); /* two others decided */
	assert_int_equal(fixture_vote(wanted, 2),
	                 REDLOCK_VOTE_NO); /* the node that went right knows the holder */
	assert_true(redlock_remaining_ms(held) > 0);
	expect_result(held, REDLOCK_E_LOST, redlock_extend(held, 0)); /* the holder learns of it here */
	heal_clocks();
}

/* All at once: it may as well have been the client that stood still. */
TEST(all_clocks_are_set_alike)
{
	record_write(&servers, NODES, MAX_TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
	assert_soon(are_known(lock));
	on_servers(0, NODES, set_and_see(it, 10 * SECOND)); /* else it ends a key of ours when it is seen */
	for (int i = 0; i < 30; i++) {
		assert_soon(redlock_acquire(lock) == 0);
		assert_int_not_equal(fixture_vote(lock, 0), REDLOCK_VOTE_CLOCK);
		expect_ok(lock, redlock_release(lock));
		wait_ms(50);
	}
	assert_true(is_told(client, 0, "has moved by +") || is_told(client, 1, "has moved by +") ||
	            is_told(client, 2, "has moved by +"));
	heal_clocks();
}

TEST(a_clock_that_is_off_all_the_time_only_warns)
{
	record_write(&servers, NODES, MAX_TTL_MS, "1000");
	server_set_clock(&servers.server[0], 3600 * SECOND);
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
	for (int i = 0; i < 30; i++) {
		assert_soon(redlock_acquire(lock) == 0);
		assert_int_not_equal(fixture_vote(lock, 0), REDLOCK_VOTE_CLOCK);
		expect_ok(lock, redlock_release(lock));
		wait_ms(50);
	}
	assert_true(is_told(client, 0, "differs from ours and others' by +3") && is_told(client, 1, ""));
	assert_int_equal(fixture_status(client, 1).last_failure, REDLOCK_VOTE_PENDING);
	heal_clocks();
}

/* As long as it goes on. */
TEST(a_clock_that_stands_still_or_runs_fast_is_out)
{
	for (int fast = 0; fast < 2; fast++) {
		record_write(&servers, NODES, MAX_TTL_MS, "1000");
		server_set_clock(&servers.server[0], fast ? 0 : INT64_MIN);
		own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		unsigned out = 0, in = 0;
		for (uint64_t begin_ns = wait_now_ns();
		     out == 0 || wait_elapsed_ms(begin_ns) < UINT64_C(5) * MAX_TTL_MS; wait_ms(5)) {
			if (fast)
				server_set_clock(&servers.server[0], (int64_t)(wait_now_ns() - begin_ns) / 10);
			uint64_t asked_ns = wait_now_ns();
			bool is_out = votes(lock, REDLOCK_VOTE_CLOCK);
			if (wait_elapsed_ms(asked_ns) > 50)
				continue; /* a slow answer says little of a clock, and may let the node in once */
			out += is_out;
			in += !is_out && out > 0;
		}
		assert_true(in <= out / 10);
		heal_clocks();
		comes_back(lock, wait_now_ns());
	}
}

SERVER_TESTS(NODES, .after = heal_clocks)
