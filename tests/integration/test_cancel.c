/* SPDX-License-Identifier: MIT */
/* Ending somebody's wait from another thread, and other calls that any thread may make. */
#include <pthread.h>
#include <stdatomic.h>

#include "fixture.h"

enum { NODES = 5, THREADS = 8 };

struct waiter {
	pthread_t thread;
	redlock_lock *lock;
	int result;
	atomic_bool done;
};

static void *wait_for_lock(void *argument)
{
	struct waiter *waiter = argument;
	waiter->result = redlock_acquire(waiter->lock);
	waiter->done = true;
	return NULL;
}

static void *query_in_thread(void *argument)
{
	struct waiter *waiter = argument;
	waiter->result = redlock_query(waiter->lock);
	waiter->done = true;
	return NULL;
}

static void begin(struct waiter *waiter, void *(*call)(void *), redlock_lock *lock)
{
	waiter->lock = lock;
	waiter->done = false;
	assert_int_equal(pthread_create(&waiter->thread, NULL, call, waiter), 0);
}

/* A cancel that comes before the call does nothing, so it is repeated until the call has ended. */
static void cancel_until_done(struct waiter *waiter)
{
	do {
		expect_ok(NULL, redlock_cancel(waiter->lock));
		wait_ms(2);
	} while (!waiter->done);
	pthread_join(waiter->thread, NULL);
}

static redlock_client *open_client(void)
{
	return fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
}

TEST(cancel_of_a_wait)
{
	struct waiter waiters[THREADS];
	own_client *client = open_client();
	on_servers(0, NODES, server_must(it, "OK", "SET", "busy", "x", NULL));
	for (int i = 0; i < THREADS; i++)
		begin(&waiters[i], wait_for_lock, fixture_lock(client, "busy", WAIT_LONG_TTL_MS, REDLOCK_FOREVER));
	wait_ms(300);
	for (int i = 0; i < THREADS; i++)
		assert_false(waiters[i].done);
	for (int i = 0; i < THREADS; i++) {
		cancel_until_done(&waiters[i]);
		expect_result(waiters[i].lock, REDLOCK_E_CANCELLED, waiters[i].result);
		assert_int_equal(redlock_remaining_ms(waiters[i].lock), 0);
	}
	/* A cancelled handle can be used again. */
	servers_heal(&servers);
	expect_ok(waiters[0].lock, redlock_acquire(waiters[0].lock));
	for (int i = 0; i < THREADS; i++)
		redlock_lock_free(waiters[i].lock);
	expect_settled(client, NODES, "busy");
}

/* The attempt is out, and three nodes do not answer: the two that granted are given back. */
TEST(cancel_of_a_running_attempt)
{
	struct waiter waiter;
	own_client *client = open_client();
	on_servers(0, 3, server_pause(it));
	begin(&waiter, wait_for_lock, fixture_lock(client, "partial", WAIT_LONG_TTL_MS, REDLOCK_FOREVER));
	assert_soon(servers_with_key(&servers, NODES, "partial") == 2);
	cancel_until_done(&waiter);
	expect_result(waiter.lock, REDLOCK_E_CANCELLED, waiter.result);
	on_servers(0, 3, server_resume(it));
	expect_settled(client, NODES, "partial");
	redlock_lock_free(waiter.lock);
}

TEST(cancel_of_a_query)
{
	struct waiter waiter;
	own_client *client = open_client();
	on_servers(0, NODES, server_pause(it));
	begin(&waiter, query_in_thread, fixture_lock(client, "asked", WAIT_LONG_TTL_MS, 0));
	wait_ms(100);
	cancel_until_done(&waiter);
	expect_result(waiter.lock, REDLOCK_E_CANCELLED, waiter.result);
	redlock_lock_free(waiter.lock);
}

TEST(waiting_blocks_nobody)
{
	struct waiter waiter;
	own_client *client = open_client();
	on_servers(0, NODES, server_must(it, "OK", "SET", "busy", "x", NULL));
	begin(&waiter, wait_for_lock, fixture_lock(client, "busy", WAIT_LONG_TTL_MS, REDLOCK_FOREVER));
	for (int i = 0; i < 20; i++) {
		own_lock *lock = fixture_held(client, "free", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
		expect_ok(lock, redlock_extend(lock, 0));
		if (i % 2 == 0)
			expect_ok(lock, redlock_release(lock));
	}
	assert_false(waiter.done);
	on_servers(0, NODES, server_must(it, "1", "DEL", "busy", NULL));
	assert_soon(waiter.done); /* and it is let in */
	pthread_join(waiter.thread, NULL);
	expect_ok(waiter.lock, waiter.result);
	redlock_lock_free(waiter.lock);
}

struct watched {
	redlock_client *client;
	redlock_lock *lock;
	atomic_bool stop;
	atomic_int wrong;
};

/* All that any thread may ask about a handle that another thread uses. */
static void *watch(void *argument)
{
	struct watched *watched = argument;
	while (!watched->stop) {
		char token[REDLOCK_MAX_TOKEN + 1];
		size_t length = 0;
		struct redlock_vote vote = {.size = sizeof vote};
		struct redlock_finding finding = {.size = sizeof finding};
		struct redlock_node_status status = {.size = sizeof status};
		bool wrong =
		    redlock_remaining_ms(watched->lock) > WAIT_LONG_TTL_MS ||
		    (redlock_deadline_ns(watched->lock) != 0 && redlock_deadline_ns(watched->lock) == UINT64_MAX) ||
		    redlock_lock_token(watched->lock, token, sizeof token, &length) != 0 ||
		    (length != 0 && length != 40) || redlock_lock_vote(watched->lock, 0, &vote) != 0 ||
		    redlock_lock_finding(watched->lock, 0, &finding) != 0 ||
		    redlock_node_status(watched->client, 0, &status) != 0;
		watched->wrong += wrong;
	}
	return NULL;
}

TEST(questions_from_another_thread)
{
	struct watched watched = {.client = open_client()};
	pthread_t thread;
	watched.lock = fixture_lock(watched.client, "watched", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_result(watched.lock, REDLOCK_E_GONE,
	              redlock_query(watched.lock)); /* there is a finding from here on */
	assert_int_equal(pthread_create(&thread, NULL, watch, &watched), 0);
	for (int i = 0; i < 100; i++) {
		expect_ok(watched.lock, redlock_acquire(watched.lock));
		expect_ok(watched.lock, redlock_query(watched.lock));
		expect_ok(watched.lock, redlock_release(watched.lock));
	}
	watched.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(watched.wrong, 0);
	redlock_lock_free(watched.lock);
	redlock_close(watched.client);
}

/* The keeper leads, the waiter follows: when the keeper ends, the waiter must lead itself. */
TEST(keeper_ends_while_somebody_waits)
{
	own_client *client = open_client();
	own_lock *holder = fixture_lock(client, "kept", WAIT_LONG_TTL_MS, 0);
	own_lock *other = fixture_lock(client, "kept", WAIT_LONG_TTL_MS, 500);
	struct waiter waiter;
	expect_ok(holder, redlock_acquire(holder));
	for (int i = 0; i < 5; i++) {
		expect_ok(NULL, redlock_keeper_start(client));
		wait_ms(20);
		begin(&waiter, wait_for_lock, other);
		wait_ms(50);
		expect_ok(NULL, redlock_keeper_stop(client));
		assert_soon(waiter.done);
		pthread_join(waiter.thread, NULL);
		expect_result(other, REDLOCK_E_BUSY, waiter.result);
	}
}

struct processor {
	redlock_client *client;
	atomic_bool stop;
	atomic_int wrong;
};

static void *process(void *argument)
{
	struct processor *processor = argument;
	while (!processor->stop)
		processor->wrong += redlock_process(processor->client) != 0;
	return NULL;
}

/* Another thread's redlock_process() must not take the answers that a blocking call sleeps for. */
TEST(process_beside_a_blocking_call)
{
	struct processor processor = {.client = open_client()};
	struct waiter waiter;
	pthread_t thread;
	redlock_lock *lock = fixture_lock(processor.client, "beside", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	assert_int_equal(pthread_create(&thread, NULL, process, &processor), 0);
	for (int i = 0; i < 100; i++) {
		begin(&waiter, wait_for_lock, lock);
		assert_within(WAIT_SOON_MS / 3, waiter.done);
		pthread_join(waiter.thread, NULL);
		expect_ok(lock, waiter.result);
		expect_ok(lock, redlock_release(lock));
	}
	processor.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(processor.wrong, 0);
	redlock_lock_free(lock);
	redlock_close(processor.client);
}

SERVER_TESTS(NODES)
