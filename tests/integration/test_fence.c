/* SPDX-License-Identifier: MIT */
/* Fencing tokens of a guarded node set of real servers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "record.h"

enum { NODES = 5, TTL_MS = 60000 };

static const char counter[] = "{job}:redlock:fence";

static redlock_client *open_guarded(int guard)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.guard = guard;
	return fixture_open_with(&options);
}

static redlock_lock *fenced_lock(redlock_client *client, uint64_t wait_ms)
{
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.fence = 1;
	options.wait_ms = wait_ms;
	return fixture_lock_with(client, "job", &options);
}

/* A node that gets such a number is ahead of all. A lower number would make it one that has forgotten,
 * although it may be one of the majority that has the last number. */
static const char *const ahead[] = {"3000", "4000", "5000", "6000"};

/* Has it, and gives it back; its number. */
static uint64_t number_of(redlock_lock *lock)
{
	expect_ok(lock, redlock_acquire(lock));
	uint64_t number = redlock_lock_fence(lock);
	expect_ok(lock, redlock_release(lock));
	return number;
}

static void set_counter(unsigned node, const char *value)
{
	struct raw_reply reply;
	server_ask(&servers.server[node], &reply, "SET", counter, value, NULL);
	server_ask(&servers.server[node], &reply, "HSET", "redlock:set", "gmax", value, NULL);
}

static int counters_at(unsigned long long value)
{
	struct raw_reply reply;
	int count = 0;
	on_servers(0, NODES, count += strtoull(server_ask(it, &reply, "GET", counter, NULL), NULL, 10) == value);
	return count;
}

/* From the first contact on, with both settings, by the script's text and its digest, forgotten or not. */
TEST(numbers_rise)
{
	uint64_t last = 1000;
	record_write(&servers, NODES, TTL_MS, "1000");
	for (int guard = REDLOCK_GUARD_AUTO; guard <= REDLOCK_GUARD_REQUIRE; guard++) {
		own_client *client = open_guarded(guard);
		own_lock *lock = fenced_lock(client, 0);
		assert_int_equal(redlock_lock_fence(lock), 0);
		for (int i = 0; i < 10; i++) {
			struct raw_reply reply;
			uint64_t number = number_of(lock);
			assert_true(number > last);
			last = number;
			if (i == 5)
				on_servers(0, NODES, server_ask(it, &reply, "SCRIPT", "FLUSH", NULL));
		}
		expect_settled(client, NODES, "job");
	}
	assert_int_equal(last, 1020); /* nothing failed, so that there are no gaps */
}

/* One counter is ahead: it is the number if its vote counts, and a quorum has it then. */
TEST(counters_that_differ_are_raised)
{
	record_write(&servers, NODES, TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fenced_lock(client, 0);
	for (unsigned node = 0; node < NODES; node++) {
		char value[16];
		snprintf(value, sizeof value, "%u", 2000 + 100 * node);
		for (unsigned i = 0; i < NODES; i++)
			set_counter(i, "1500");
		set_counter(node, value);
		set_counter((node + 1) % NODES, value);
		expect_ok(lock, redlock_acquire(lock));
		uint64_t number = redlock_lock_fence(lock);
		assert_true(number == 1501 || number == 2001 + 100 * node);
		assert_true(counters_at(number) >= NODES / 2 + 1);
		expect_ok(lock, redlock_extend(lock, 0));
		assert_true(redlock_lock_fence(lock) == number); /* it is the lock's */
		expect_ok(lock, redlock_release(lock));
		expect_settled(client, NODES, "job");
	}
}

/* The nodes that had the last number may be away. */
TEST(numbers_rise_whichever_quorum_answers)
{
	uint64_t last = 1000;
	record_write(&servers, NODES, TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fenced_lock(client, 5000);
	for (unsigned i = 0; i < 2 * NODES; i++) {
		server_pause(&servers.server[i % NODES]);
		server_pause(&servers.server[(i + 1) % NODES]);
		uint64_t number = number_of(lock);
		assert_true(number > last);
		last = number;
		server_resume(&servers.server[i % NODES]);
		server_resume(&servers.server[(i + 1) % NODES]);
	}
}

static redlock_lock *both_lock(redlock_client *client, uint64_t wait_ms)
{
	static const char *const names[] = {"job", "also"};
	struct redlock_lock_options options = fixture_options(TTL_MS);
	redlock_lock *lock;
	options.fence = 1;
	options.wait_ms = wait_ms;
	assert_int_equal(redlock_lock_new_many(client, names, 2, &options, &lock), 0);
	return lock;
}

/* The number is above those of each name, and theirs above it, also if it was waited for. */
TEST(several_names_have_one_number)
{
	record_write(&servers, NODES, TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.fence = 1;
	own_lock *job = fenced_lock(client, 0);
	own_lock *also = fixture_lock_with(client, "also", &options);
	own_lock *both = both_lock(client, 0);
	for (int i = 0; i < 3; i++) {
		uint64_t of_job = number_of(job), of_also = number_of(also);
		of_also = i == 2 ? number_of(also) : of_also;
		set_counter((unsigned)i, ahead[i]);
		uint64_t of_both = number_of(both);
		assert_true(of_both > of_job && of_both > of_also);
		assert_true(number_of(job) > of_both && number_of(also) > of_both);
		expect_settled(client, NODES, "job");
	}
}

static void *wait_for_both(void *arg)
{
	static uint64_t number;
	number = number_of(arg);
	return &number;
}

TEST(several_names_that_were_waited_for)
{
	pthread_t thread;
	void *number;
	record_write(&servers, NODES, TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE), *waiter = open_guarded(REDLOCK_GUARD_REQUIRE);
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.fence = 1;
	own_lock *also = fixture_lock_with(client, "also", &options);
	own_lock *both = both_lock(waiter, 60000);
	expect_ok(also, redlock_acquire(also));
	assert_driven(client, servers_with_key(&servers, NODES, "also") == NODES);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_both, both), 0);
	assert_driven(client, servers_with_key(&servers, NODES, "{also}:redlock:queue") > 0);
	uint64_t before = redlock_lock_fence(also);
	expect_ok(also, redlock_release(also));
	pthread_join(thread, &number);
	assert_true(*(uint64_t *)number > before);
	expect_settled(waiter, NODES, "job");
}

/* A shared lock has no number; each upgrade has one, above all before, and later numbers are above it. */
TEST(an_upgrade_has_a_number)
{
	record_write(&servers, NODES, TTL_MS, "1000");
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.fence = 1;
	own_lock *job = fenced_lock(client, 0);
	options.mode = REDLOCK_SHARED;
	own_lock *reader = fixture_lock_with(client, "job", &options),
	         *other = fixture_lock_with(client, "job", &options);
	uint64_t last = number_of(job);
	for (unsigned i = 0; i < 4; i++) {
		expect_settled(client, NODES, "job");
		set_counter(i, ahead[i]);
		expect_ok(reader, redlock_acquire(reader));
		expect_ok(other, redlock_acquire(other));
		assert_int_equal(redlock_lock_fence(reader), 0);
		expect_result(job, REDLOCK_E_BUSY, redlock_acquire(job));
		expect_result(reader, REDLOCK_E_BUSY, redlock_upgrade(reader));
		assert_int_equal(redlock_lock_fence(reader), 0);
		expect_ok(other, redlock_release(other));
		assert_driven(client, redlock_upgrade(reader) == 0);
		assert_true(redlock_lock_fence(reader) > last);
		assert_true(counters_at(redlock_lock_fence(reader)) >= NODES / 2 + 1);
		last = redlock_lock_fence(reader);
		expect_ok(reader, redlock_extend(reader, 0));
		assert_true(redlock_lock_fence(reader) == last);
		expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
		expect_ok(reader, redlock_downgrade(reader));
		assert_int_equal(redlock_lock_fence(reader), 0);
		expect_ok(reader, redlock_release(reader));
		expect_settled(client, NODES, "job");
		uint64_t next = number_of(job);
		assert_true(next > last);
		last = next;
	}
}

static int votes_of(const redlock_lock *lock, enum redlock_vote_code code)
{
	int count = 0;
	for (unsigned i = 0; i < NODES; i++)
		count += fixture_vote(lock, i) == code;
	return count;
}

/* Nothing is guessed: whose counters are not known has no vote. */
TEST(no_counters_no_lock)
{
	static const int guards[] = {REDLOCK_GUARD_AUTO, REDLOCK_GUARD_REQUIRE};
	record_write(&servers, NODES, TTL_MS, NULL);
	own_client *client = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fenced_lock(client, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_true(votes_of(lock, REDLOCK_VOTE_UNCOUNTED) >= NODES / 2 + 1);
	own_lock *other = fixture_held(client, "job", TTL_MS, 0); /* a lock without a number can be acquired */
	assert_int_equal(redlock_lock_fence(other), 0);
	expect_ok(other, redlock_release(other));
	expect_settled(client, NODES, "job");
	servers_heal(&servers);
	for (unsigned i = 0; i < 2; i++) { /* no set at all */
		own_client *plain = open_guarded(guards[i]);
		own_lock *wanted = fenced_lock(plain, WAIT_LONG_TTL_MS);
		for (unsigned again = 0; again < 2; again++) { /* the set is not known to be plain, and is */
			expect_result(wanted, REDLOCK_E_NOQUORUM, redlock_acquire(wanted));
			assert_true(votes_of(wanted, REDLOCK_VOTE_UNGUARDED) >= NODES / 2 + 1);
		}
	}
}

TEST(locks_without_a_number)
{
	struct redlock_lock_options options = fixture_options(TTL_MS);
	redlock_lock *lock;
	options.fence = 1;
	struct redlock_options o = fixture_client(servers.urls, NODES);
	o.guard = REDLOCK_GUARD_OFF;
	own_client *client = fixture_open_with(&o);
	for (options.mode = REDLOCK_EXCLUSIVE; options.mode <= REDLOCK_SHARED; options.mode++)
		assert_int_equal(redlock_lock_new(client, "job", &options, &lock), REDLOCK_E_INVAL);
	options.mode = REDLOCK_EXCLUSIVE;
	own_client *guarded = open_guarded(REDLOCK_GUARD_REQUIRE);
	options.token = "own";
	options.token_len = 3;
	assert_int_equal(redlock_lock_new(guarded, "job", &options, &lock), REDLOCK_E_INVAL);
	assert_int_equal(redlock_lock_fence(NULL), 0);
}

/* The servers hold the time of a quarantine; the waiting is the core's. */
TEST(a_quarantine_is_waited_for)
{
	enum { SHORT_MS = 600 };
	struct raw_reply reply;
	record_write(&servers, NODES, SHORT_MS, "1000");
	struct redlock_lock_options options = fixture_options(SHORT_MS);
	struct redlock_options o = fixture_client(servers.urls, NODES);
	o.guard = REDLOCK_GUARD_REQUIRE;
	o.node_timeout_ms = 100;
	for (unsigned nodes = 2; nodes <= 3; nodes++) { /* a quorum is left, or not */
		on_servers(0, nodes,
		           server_ask(it, &reply, "HSET", "redlock:set", "pass", "gone:8899aabbccddeeff", NULL));
		own_client *client = fixture_open_with(&o);
		options.quarantine_wait_ms = 300; /* not long enough */
		own_lock *lock = fixture_lock_with(client, "job", &options);
		expect_result(lock, nodes == 2 ? 0 : REDLOCK_E_NOQUORUM, redlock_acquire(lock));
		redlock_release(lock);
	}
}

/* ---- many holders ---- */

enum { HOLDERS = 6, TURNS = 25 };
static uint64_t highest; /* guarded by the lock itself */

static void *hold(void *arg)
{
	redlock_lock *lock = arg;
	for (int i = 0; i < TURNS; i++) {
		expect_ok(lock, redlock_acquire(lock));
		uint64_t number = redlock_lock_fence(lock);
		assert_true(number > __atomic_load_n(&highest, __ATOMIC_SEQ_CST));
		__atomic_store_n(&highest, number, __ATOMIC_SEQ_CST);
		redlock_release(lock);
	}
	return NULL;
}

TEST(numbers_rise_in_the_order_of_holders)
{
	pthread_t threads[HOLDERS];
	redlock_client *clients[HOLDERS];
	redlock_lock *locks[HOLDERS];
	highest = 0;
	record_write(&servers, NODES, TTL_MS, "1000");
	for (int i = 0; i < HOLDERS; i++) {
		clients[i] = open_guarded(REDLOCK_GUARD_REQUIRE);
		locks[i] = fenced_lock(clients[i], 60000);
		assert_int_equal(pthread_create(&threads[i], NULL, hold, locks[i]), 0);
	}
	for (int i = 0; i < HOLDERS; i++) {
		pthread_join(threads[i], NULL);
		fixture_free(&locks[i]);
		fixture_close(&clients[i]);
	}
	assert_true(highest >= 1000 + HOLDERS * TURNS);
}

SERVER_TESTS(NODES)
