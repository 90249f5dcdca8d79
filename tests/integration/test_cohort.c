/* SPDX-License-Identifier: MIT */
/* Handles of one client that pass a lock on among themselves, on real servers: in an event loop, and threads
 * beside a client that waits elsewhere. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "client.h"
#include "fixture.h"

enum { NODES = 3, TTL_MS = 100000, LONGER_MS = 200000, THREADS = 8 };

/* ---- one after the other ---- */

static struct redlock_event next_event(redlock_client *client)
{
	struct redlock_event event = {.size = sizeof event};
	while (redlock_next(client, &event) == 0)
		expect_ok(NULL, redlock_process(client));
	return event;
}

static void expect_done(redlock_client *client, redlock_lock *lock, enum redlock_operation operation)
{
	struct redlock_event event = next_event(client);
	assert_true(event.lock == lock && event.kind == REDLOCK_EVENT_DONE && event.operation == operation);
	expect_ok(lock, event.result);
}

/* A holder, and a waiter after it. The time in which the lock may be passed on has no end: this machine may
 * be slow. */
struct scene {
	redlock_client *client;
	redlock_lock *holder, *waiter;
};

static struct scene begin(void)
{
	struct scene s = {.client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS)};
	s.holder = fixture_held(s.client, "job", TTL_MS, WAIT_SOON_MS);
	s.waiter = fixture_lock(s.client, "job", TTL_MS, WAIT_SOON_MS);
	s.holder->core.hold.pass_until_ns = UINT64_MAX;
	expect_ok(s.waiter, redlock_start_acquire(s.waiter));
	while (!s.waiter->in_line)
		expect_ok(NULL, redlock_process(s.client));
	return s;
}

static void end(struct scene *s)
{
	redlock_lock_free(s->waiter);
	redlock_lock_free(s->holder);
	assert_int_equal(redlock_drain(s->client, WAIT_SOON_MS), 0);
	redlock_close(s->client);
	struct raw_reply reply;
	on_servers(0, NODES, assert_string_equal(server_ask(it, &reply, "EXISTS", "job", NULL), "0"));
}

static bool have_key_of(const redlock_lock *lock)
{
	struct fixture_token token = fixture_token(lock);
	struct raw_reply reply;
	unsigned count = 0;
	on_servers(0, NODES, count += strcmp(server_ask(it, &reply, "GET", "job", NULL), token.text) == 0);
	return count == NODES;
}

/* At once, with the keys and the deadline that are there; the caller who has released knows no token. */
TEST(a_release_passes_it_on)
{
	struct scene s = begin();
	uint64_t deadline_ns = redlock_deadline_ns(s.holder);
	expect_ok(s.holder, redlock_start_release(s.holder));
	assert_int_equal(redlock_deadline_ns(s.waiter), deadline_ns);
	assert_true(redlock_deadline_ns(s.holder) == 0 && fixture_token(s.holder).length == 0);
	expect_done(s.client, s.holder, REDLOCK_OP_RELEASE);
	expect_done(s.client, s.waiter, REDLOCK_OP_ACQUIRE);
	assert_true(have_key_of(s.waiter));
	expect_ok(s.waiter, redlock_extend(s.waiter, LONGER_MS));
	assert_true(redlock_deadline_ns(s.waiter) > deadline_ns);
	assert_int_equal(redlock_release(s.holder), REDLOCK_E_STATE);
	expect_ok(s.waiter, redlock_release(s.waiter));
	end(&s);
}

/* The caller of a holder may give its token to a program that uses it later. So may the new caller, whose
 * token is asked for in its turn. */
TEST(a_token_that_was_told_is_not_passed_on)
{
	struct scene s = begin();
	struct fixture_token told = fixture_token(s.holder);
	expect_ok(s.holder, redlock_start_release(s.holder));
	assert_int_equal(redlock_deadline_ns(s.waiter), 0);
	expect_done(s.client, s.holder, REDLOCK_OP_RELEASE);
	expect_done(s.client, s.waiter, REDLOCK_OP_ACQUIRE);
	assert_string_not_equal(fixture_token(s.waiter).text, told.text);
	end(&s);
}

/* Freeing a holder does not wait: the servers get the lock back. And a waiter that leaves keeps nobody. */
TEST(a_handle_that_goes_leaves_the_line)
{
	for (int leaves = 0; leaves < 2; leaves++) {
		struct scene s = begin();
		expect_ok(s.holder, redlock_start_release(s.holder));
		expect_done(s.client, s.holder, REDLOCK_OP_RELEASE);
		expect_done(s.client, s.waiter, REDLOCK_OP_ACQUIRE);
		expect_ok(s.holder, redlock_start_acquire(s.holder));
		assert_true(s.waiter->in_line && s.holder->in_line);
		uint64_t quiet_ns = rl_lock_deadline(&s.holder->core) - s.client->loop.now_ns;
		assert_true(s.holder->core.phase == RL_PAUSED && quiet_ns > rl_time_ms(500)); /* it asks nobody */
		if (leaves != 0) {
			redlock_lock_leave(s.waiter);
			on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
		} else {
			redlock_lock_free(s.waiter);
		}
		s.waiter = NULL;
		expect_done(s.client, s.holder, REDLOCK_OP_ACQUIRE);
		end(&s);
	}
}

TEST(a_client_that_closes_passes_nothing_on)
{
	struct scene s = begin();
	redlock_close(s.client);
	redlock_lock_free(s.waiter);
	redlock_lock_free(s.holder);
}

/* ---- threads ---- */

static struct {
	redlock_client *client;
	atomic_bool stop;
	atomic_uint inside, failures, passed;
	atomic_uint of_each[THREADS];
} crowd;

/* Another thread may lead, and a late answer about this lock write beside the number. */
static bool was_passed_on(redlock_lock *lock)
{
	rl_thread_lock(&crowd.client->loop.mutex);
	bool ret = lock->core.passes > 0;
	rl_thread_unlock(&crowd.client->loop.mutex);
	return ret;
}

static void *contend(void *argument)
{
	atomic_uint *turns = argument;
	own_lock *lock = fixture_lock(crowd.client, "job", TTL_MS, REDLOCK_FOREVER);
	while (!crowd.stop) {
		crowd.failures += redlock_acquire(lock) != 0;
		crowd.failures += ++crowd.inside != 1;
		crowd.passed += was_passed_on(lock);
		++*turns;
		crowd.inside--;
		crowd.failures += redlock_release(lock) != 0;
	}
	return NULL;
}

static bool goes_on(unsigned turns, unsigned least)
{
	bool all = turns >= least && crowd.passed >= least;
	for (unsigned i = 0; i < THREADS; i++)
		all = all && crowd.of_each[i] > 0;
	return !all;
}

/* Local turns do not keep a client elsewhere from having its own. */
TEST(threads_pass_it_on_and_others_have_their_turns)
{
	pthread_t threads[THREADS];
	unsigned least = wait_is_slow() ? 20 : 100;
	own_client *elsewhere = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(elsewhere, "job", TTL_MS, WAIT_SOON_MS);
	crowd.client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, contend, &crowd.of_each[i]), 0);
	for (unsigned turns = 0; goes_on(turns, least); turns++) {
		expect_ok(lock, redlock_acquire(lock));
		crowd.failures += ++crowd.inside != 1;
		crowd.inside--;
		expect_ok(lock, redlock_release(lock));
	}
	crowd.stop = true;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.failures, 0);
	redlock_close(crowd.client);
}

SERVER_TESTS(NODES)
