/* SPDX-License-Identifier: MIT */
/* Slots of one name, on real servers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

enum { NODES = 3, SLOTS = 3 };

static const char *const slot_keys[SLOTS] = {"job", "{job}:redlock:slot:1", "{job}:redlock:slot:2"};
static const char count_key[] = "{job}:redlock:slots";

static redlock_client *open_client(void)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	return fixture_open_with(&options);
}

static redlock_lock *slot_of(redlock_client *client, unsigned slots, uint64_t wait_ms)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.slots = slots;
	options.wait_ms = wait_ms;
	return fixture_lock_with(client, "job", &options);
}

static unsigned number_of(const redlock_lock *lock)
{
	unsigned slot = 99;
	expect_ok(lock, redlock_lock_slot(lock, &slot));
	return slot;
}

static void flush_scripts(void)
{
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "SCRIPT", "FLUSH", NULL));
}

/* One after the other they have the lowest number that is free, on all nodes; there are three, and no fourth.
 * The servers forget the scripts in between. */
TEST(each_slot_is_a_lock)
{
	own_client *client = open_client();
	own_lock *first = slot_of(client, SLOTS, 0), *second = slot_of(client, SLOTS, 0);
	own_lock *third = slot_of(client, SLOTS, 0), *fourth = slot_of(client, SLOTS, 0);
	redlock_lock *locks[SLOTS] = {first, second, third};
	unsigned slot;
	assert_int_equal(redlock_lock_slot(first, &slot), REDLOCK_E_STATE);
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < SLOTS; i++) {
			expect_ok(locks[i], redlock_acquire(locks[i]));
			assert_int_equal(number_of(locks[i]), i);
			struct fixture_token token = fixture_token(locks[i]);
			assert_driven(client, servers_with_value(&servers, NODES, slot_keys[i], token.text) == NODES);
			on_servers(0, NODES, server_must(it, "1", "PEXPIRE", slot_keys[i], "60000", NULL));
			expect_ok(locks[i], redlock_extend(locks[i], 0));
			expect_ok(locks[i], redlock_query(locks[i]));
			assert_driven(client, server_pttl(&servers.server[NODES - 1], slot_keys[i]) > 60000);
			flush_scripts();
		}
		assert_driven(client, servers_with_value(&servers, NODES, count_key, "3") == NODES);
		expect_result(fourth, REDLOCK_E_BUSY, redlock_acquire(fourth));
		expect_ok(second, redlock_release(second));
		expect_settled(client, NODES, slot_keys[1]);
		expect_ok(fourth, redlock_acquire(fourth));
		assert_int_equal(number_of(fourth), 1);
		expect_ok(fourth, redlock_release(fourth));
		expect_result(fourth, REDLOCK_E_STATE, redlock_lock_slot(fourth, &slot));
		expect_ok(first, redlock_release(first));
		expect_ok(third, redlock_release(third));
		for (unsigned i = 0; i < SLOTS; i++)
			expect_settled(client, NODES, slot_keys[i]);
	}
}

/* Who has NAME, in whatever way, has one of the places, and the other way round. */
TEST(the_first_slot_is_the_name)
{
	own_client *client = open_client();
	own_lock *plain = fixture_lock(client, "job", WAIT_LONG_TTL_MS, 0);
	own_lock *one = slot_of(client, 2, 0), *two = slot_of(client, 2, 0);
	static const char *const others[][6] = {{"SET", "job", "x", NULL}, {"HSET", "job", "f", "v", NULL}};
	for (unsigned i = 0; i < 2; i++) {
		on_servers(0, NODES,
		           server_must(it, i == 0 ? "OK" : "1", others[i][0], others[i][1], others[i][2],
		                       others[i][3], NULL));
		expect_ok(one, redlock_acquire(one));
		assert_int_equal(number_of(one), 1);
		expect_result(two, REDLOCK_E_BUSY, redlock_acquire(two));
		expect_ok(one, redlock_release(one));
		on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
	}
	expect_ok(one, redlock_acquire(one));
	expect_ok(two, redlock_acquire(two));
	expect_result(plain, REDLOCK_E_BUSY, redlock_acquire(plain));
	expect_ok(two, redlock_release(two));
	expect_result(plain, REDLOCK_E_BUSY, redlock_acquire(plain));
	expect_ok(one, redlock_release(one));
	expect_pair(plain);
}

/* While a slot is taken, also one that the other number does not have, nobody sets another number. */
TEST(all_have_one_number)
{
	own_client *client = open_client();
	own_lock *three = slot_of(client, 3, 0), *more = slot_of(client, 3, 0);
	own_lock *two = slot_of(client, 2, WAIT_SOON_MS), *five = slot_of(client, 5, 0);
	expect_ok(three, redlock_acquire(three));
	expect_ok(more, redlock_acquire(more));
	expect_result(two, REDLOCK_E_NOQUORUM, redlock_acquire(two)); /* at once */
	assert_true(fixture_votes_of_kind(two, NODES, REDLOCK_KIND_FATAL) >= 2);
	expect_result(five, REDLOCK_E_NOQUORUM, redlock_acquire(five));
	own_lock *last = slot_of(client, 3, 0);
	expect_ok(last, redlock_acquire(last));
	expect_ok(three, redlock_release(three));
	expect_ok(more, redlock_release(more));
	assert_int_equal(number_of(last), 2);
	expect_result(two, REDLOCK_E_NOQUORUM, redlock_acquire(two));
	expect_ok(last, redlock_release(last));
	expect_settled(client, NODES, slot_keys[2]);
	expect_pair(two);
	assert_driven(client, servers_with_value(&servers, NODES, count_key, "2") == NODES);
	expect_pair(five);
}

/* Its key goes: the next extend says so, and a release that it was gone. */
TEST(a_slot_is_lost_like_any_lock)
{
	own_client *client = open_client();
	own_lock *first = slot_of(client, SLOTS, 0), *lock = slot_of(client, SLOTS, 0);
	expect_ok(first, redlock_acquire(first));
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, slot_keys[1]) == NODES);
	on_servers(0, NODES, server_must(it, "OK", "SET", slot_keys[1], "x", NULL));
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	assert_int_equal(number_of(lock), 1);
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	expect_ok(first, redlock_extend(first, 0));
	expect_ok(first, redlock_release(first));
	assert_int_equal(servers_with_value(&servers, NODES, slot_keys[1], "x"), NODES);
}

/* Nodes that have other slots taken give other ones: what a minority gave is released with the rest. */
TEST(votes_for_other_slots_are_none)
{
	own_client *client = fixture_open(servers.urls, NODES, 200); /* five times that is how long it tries */
	own_lock *lock = slot_of(client, SLOTS, 0);
	server_must(&servers.server[0], "OK", "SET", "job", "x", NULL);
	expect_ok(lock, redlock_acquire(lock));
	assert_int_equal(number_of(lock), 0);
	struct fixture_token token = fixture_token(lock);
	assert_driven(client, servers_with_value(&servers, 1, slot_keys[1], token.text) == 1);
	expect_ok(lock, redlock_release(lock));
	expect_settled(client, 1, slot_keys[1]);
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	/* A different one on each, and all of them taken but that: no slot has a quorum. */
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned slot = 0; slot < SLOTS; slot++)
			if (slot != i)
				server_must(&servers.server[i], "OK", "SET", slot_keys[slot], "x", NULL);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		assert_int_equal(servers_with_value(&servers, NODES, slot_keys[slot], "x"), NODES - 1);
}

TEST(what_is_refused)
{
	own_client *client = open_client();
	redlock_lock *lock = NULL;
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	const struct {
		uint32_t slots;
		const char *token;
		int fence, compat, result;
	} rows[] = {{1, NULL, 0, 0, 0},
	            {REDLOCK_MAX_SLOTS, NULL, 0, 0, 0},
	            {REDLOCK_MAX_SLOTS + 1, NULL, 0, 0, REDLOCK_E_INVAL},
	            {2, "t", 0, 0, REDLOCK_E_INVAL},
	            {2, NULL, 1, 0, REDLOCK_E_INVAL},
	            {2, NULL, 0, REDLOCK_COMPAT_SETNX, REDLOCK_E_INVAL},
	            {2, NULL, 0, REDLOCK_COMPAT_SETNX_SAFE, REDLOCK_E_INVAL}};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		options.slots = rows[i].slots;
		options.token = rows[i].token;
		options.token_len = rows[i].token != NULL ? 1 : 0;
		options.fence = rows[i].fence;
		options.compat = rows[i].compat;
		assert_int_equal(redlock_lock_new(client, "job", 3, &options, &lock), rows[i].result);
		if (rows[i].result == 0) {
			expect_pair(lock);
			redlock_lock_free(lock);
		}
	}
	const struct redlock_name names[] = {{"a", 1}, {"b", 1}};
	struct redlock_lock_options several = fixture_options(WAIT_LONG_TTL_MS);
	several.slots = 2;
	assert_int_equal(redlock_lock_new_many(client, names, 2, &several, &lock), REDLOCK_E_INVAL);
}

/* ---- many at once ---- */

enum { TURNS = 40, WORKERS = 6, PLACES = 2 };
static atomic_int inside[PLACES];

/* NULL, or what went wrong. */
static void *work(void *argument)
{
	static char not_acquired[] = "not acquired", two[] = "two in one slot", not_released[] = "not released";
	own_client *client = open_client();
	own_lock *lock = slot_of(client, PLACES, *(const uint64_t *)argument);
	for (int turn = 0; turn < TURNS; turn++) {
		unsigned slot = 99;
		if (redlock_acquire(lock) != 0)
			return not_acquired;
		if (redlock_lock_slot(lock, &slot) != 0 || atomic_fetch_add(&inside[slot], 1) != 0)
			return two;
		atomic_fetch_sub(&inside[slot], 1);
		if (redlock_release(lock) != 0)
			return not_released;
	}
	return NULL;
}

TEST(all_have_their_turns)
{
	static const uint64_t forever = REDLOCK_FOREVER;
	pthread_t threads[WORKERS];
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)&forever);
	for (int i = 0; i < WORKERS; i++) {
		void *problem;
		pthread_join(threads[i], &problem);
		if (problem != NULL)
			fail_msg("%s", (const char *)problem);
	}
}

/* Of as many as there are places, at the same moment and without waiting, each has one. */
static pthread_barrier_t gun;

static void *try(void *argument)
{
	own_client *client = open_client();
	own_lock *lock = slot_of(client, PLACES, 0);
	expect_pair(lock); /* it is connected */
	for (int turn = 0; turn < TURNS; turn++) {
		pthread_barrier_wait(&gun);
		int result = redlock_acquire(lock);
		if (result != 0)
			*(int *)argument = result;
		pthread_barrier_wait(&gun);
		if (result == 0)
			(void)redlock_release(lock);
		(void)redlock_drain(client, WAIT_SOON_MS);
	}
	return NULL;
}

TEST(as_many_as_there_are_places_all_get_one)
{
	pthread_t threads[PLACES];
	int results[PLACES] = {0};
	pthread_barrier_init(&gun, NULL, PLACES);
	for (int i = 0; i < PLACES; i++)
		pthread_create(&threads[i], NULL, try, &results[i]);
	for (int i = 0; i < PLACES; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PLACES; i++)
		assert_string_equal(redlock_error_name(results[i]), "OK");
	pthread_barrier_destroy(&gun);
}

SERVER_TESTS(NODES)
