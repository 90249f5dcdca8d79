/* SPDX-License-Identifier: MIT */
/* The client inside an event loop: one descriptor for any number of locks, and nothing that blocks. */
#include <poll.h>
#include <stdio.h>

#include "fixture.h"

enum { NODES = 5, LOCKS = 64 };

static redlock_client *client;
static redlock_lock *locks[LOCKS];

static void make_locks(void)
{
	for (int i = 0; i < LOCKS; i++) {
		char name[32];
		snprintf(name, sizeof name, "loop-%d", i);
		locks[i] = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
	}
}

static void free_locks(void)
{
	for (int i = 0; i < LOCKS; i++)
		redlock_lock_free(locks[i]);
}

/* A loop around the client until there is an event: process, then poll the one descriptor. */
static struct redlock_event next_event(redlock_client *from)
{
	struct redlock_event event = {.size = sizeof event};
	struct pollfd fd = {.fd = redlock_fd(from), .events = POLLIN};
	for (;;) {
		expect_ok(NULL, redlock_process(from));
		int got = redlock_next(from, &event);
		if (got != 0) {
			assert_int_equal(got, 1);
			return event;
		}
		assert_int_equal(poll(&fd, 1, WAIT_SOON_MS), 1);
	}
}

/* Turns the loop until all locks have reported the end of this operation, each once and with this result. */
static void collect(enum redlock_operation operation, int want)
{
	bool seen[LOCKS] = {false};
	struct redlock_event event = {.size = sizeof event};
	for (int done = 0; done < LOCKS;) {
		event = next_event(client);
		assert_int_equal(event.kind, REDLOCK_EVENT_DONE);
		assert_int_equal(event.operation, operation);
		expect_result(event.lock, want, event.result);
		for (int i = 0; i < LOCKS; i++) {
			if (event.lock == locks[i]) {
				assert_false(seen[i]);
				seen[i] = true;
				done++;
			}
		}
	}
	assert_int_equal(redlock_next(client, &event), 0);
}

static long long keys_everywhere(void)
{
	long long keys = 0;
	for (unsigned i = 0; i < NODES; i++)
		keys += server_key_count(&servers.server[i]);
	return keys;
}

static void start_all(int (*begin)(redlock_lock *))
{
	for (int i = 0; i < LOCKS; i++)
		expect_ok(locks[i], begin(locks[i]));
}

static int begin_extend(redlock_lock *lock)
{
	return redlock_start_extend(lock, 2 * WAIT_LONG_TTL_MS);
}

TEST(many_locks_in_one_loop)
{
	make_locks();
	start_all(redlock_start_acquire);
	expect_result(NULL, REDLOCK_E_STATE, redlock_start_acquire(locks[0]));
	assert_int_equal(keys_everywhere(), 0); /* nothing is sent before redlock_process() */
	collect(REDLOCK_OP_ACQUIRE, 0);
	assert_driven(client, keys_everywhere() == (long long)LOCKS * NODES);

	start_all(begin_extend);
	assert_int_equal(redlock_timeout_ns(client), 0); /* all are connected, and there is something to send */
	collect(REDLOCK_OP_EXTEND, 0);
	for (int i = 0; i < LOCKS; i++)
		assert_true(redlock_remaining_ms(locks[i]) > WAIT_LONG_TTL_MS);
	start_all(redlock_start_query);
	collect(REDLOCK_OP_QUERY, 0);
	start_all(redlock_start_release);
	collect(REDLOCK_OP_RELEASE, 0);
	assert_driven(client, keys_everywhere() == 0);
	expect_result(NULL, REDLOCK_E_STATE, redlock_start_release(locks[0]));
	free_locks();
}

static bool is_readable(int fd, int wait_ms)
{
	return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, wait_ms) == 1;
}

TEST(a_turn_returns_its_events)
{
	enum { MOST = 3 };
	struct redlock_event events[MOST] = {{.size = sizeof *events}};
	int notice = redlock_notice_fd(client);
	make_locks();
	for (int i = 0; i < LOCKS; i++)
		expect_ok(locks[i], redlock_start(locks[i], REDLOCK_OP_ACQUIRE, 0));
	for (int done = 0, got; done < LOCKS; done += got) {
		got = redlock_turn(client, MOST, events);
		assert_true(got >= 0 && got <= MOST);
		assert_true(got == MOST || !is_readable(notice, 0));
		for (int i = 0; i < got; i++) {
			assert_int_equal(events[i].size, sizeof *events);
			assert_int_equal(events[i].operation, REDLOCK_OP_ACQUIRE);
			expect_ok(events[i].lock, events[i].result);
		}
		if (got == 0)
			assert_true(is_readable(redlock_fd(client), WAIT_SOON_MS));
	}
	own_lock *one = fixture_lock(client, "loop-0", WAIT_LONG_TTL_MS, 0);
	own_lock *two = fixture_lock(client, "loop-1", WAIT_LONG_TTL_MS, 0);
	expect_ok(one, redlock_start(one, REDLOCK_OP_ACQUIRE, REDLOCK_FOREVER));
	expect_ok(two, redlock_start(two, REDLOCK_OP_ACQUIRE, REDLOCK_FOREVER));
	assert_int_equal(redlock_turn(client, 1, events), 0);
	expect_ok(one, redlock_cancel(one));
	expect_ok(two, redlock_cancel(two));
	for (int left = 2; left > 0; left--) { /* events of other calls, and those that are left, are noticed */
		assert_true(is_readable(notice, 0));
		assert_int_equal(redlock_turn(client, 1, events), 1);
		expect_result(NULL, REDLOCK_E_CANCELLED, events[0].result);
	}
	assert_false(is_readable(notice, 0));
	assert_int_equal(redlock_turn(client, 1, events), 0);
	free_locks();
}

TEST(busy_in_a_loop)
{
	make_locks();
	for (int i = 0; i < LOCKS; i++) {
		char name[32];
		snprintf(name, sizeof name, "loop-%d", i);
		on_servers(0, 3, server_must(it, "OK", "SET", name, "x", NULL));
	}
	start_all(redlock_start_acquire);
	collect(REDLOCK_OP_ACQUIRE, REDLOCK_E_BUSY);
	free_locks();
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(keys_everywhere(), 3LL * LOCKS);
}

/* Timers are in the descriptor: a loop that only polls it sees retry, grant, danger and loss. */
TEST(timers_in_the_descriptor)
{
	struct redlock_lock_options options = fixture_options(4000);
	own_client *quick = fixture_open(servers.urls, NODES, 1000);
	options.wait_ms = WAIT_SOON_MS;
	options.danger_ms = 2000;
	options.user = &options;
	own_lock *lock = fixture_lock_with(quick, "timers", &options);
	on_servers(0, NODES, server_must(it, "OK", "SET", "timers", "x", "PX", "1000", NULL));
	expect_ok(lock, redlock_start_acquire(lock));
	const enum redlock_event_kind kinds[] = {REDLOCK_EVENT_DONE, REDLOCK_EVENT_DANGER, REDLOCK_EVENT_LOST};
	for (int i = 0; i < 3; i++) {
		struct redlock_event event = next_event(quick);
		assert_int_equal(event.kind, kinds[i]);
		assert_ptr_equal(event.user, &options);
		if (i == 0)
			expect_ok(lock, event.result);
	}
	assert_int_equal(redlock_remaining_ms(lock), 0);
}

/* A program that gets a success after the validity has ended does not hold the lock: whether or not the loop
 * has noticed the end before. Another client may. */
TEST(a_late_success_is_a_loss)
{
	struct redlock_event event = {.size = sizeof event};
	own_client *quick = fixture_open(servers.urls, NODES, 500);
	for (int turns = 0; turns < 2; turns++) {
		struct redlock_lock_options options = fixture_options(1500);
		own_lock *acquired = fixture_lock_with(quick, "late", &options);
		own_lock *extended = fixture_lock_with(quick, "late-extend", &options);
		options.reentrant = 1;
		own_lock *inner = fixture_lock_with(quick, "late-inner", &options);
		own_lock *rival = fixture_lock(client, "late", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
		expect_ok(extended, redlock_acquire(extended));
		expect_ok(inner, redlock_acquire(inner));
		uint64_t before_ns = redlock_deadline_ns(extended);
		expect_ok(acquired, redlock_start_acquire(acquired));
		expect_ok(extended, redlock_start_extend(extended, 0));
		expect_ok(inner, redlock_start_acquire(inner));
		while (redlock_deadline_ns(acquired) == 0 || redlock_deadline_ns(extended) <= before_ns)
			expect_ok(NULL, redlock_process(quick));
		expect_ok(rival, redlock_acquire(rival));
		assert_soon(redlock_remaining_ms(extended) == 0 && redlock_deadline_ns(extended) == 0);
		if (turns > 0)
			expect_ok(NULL, redlock_process(quick));
		bool lost[2] = {false};
		for (int done = 0; redlock_next(quick, &event) == 1;) {
			if (event.kind == REDLOCK_EVENT_DANGER)
				continue;
			assert_true(event.kind == REDLOCK_EVENT_LOST || ++done <= 3);
			if (event.kind == REDLOCK_EVENT_DONE)
				expect_result(event.lock, REDLOCK_E_LOST, event.result);
			else
				lost[event.lock == inner] = event.lock != acquired;
		}
		assert_true(lost[0] && lost[1]);
		expect_result(NULL, REDLOCK_E_STATE, redlock_release(acquired));
		expect_result(acquired, REDLOCK_E_BUSY, redlock_acquire(acquired));
		expect_result(inner, REDLOCK_E_GONE, redlock_release(inner)); /* the inner acquire does not count */
		expect_result(extended, REDLOCK_E_GONE, redlock_release(extended));
		expect_ok(rival, redlock_release(rival));
		expect_ok(acquired, redlock_acquire(acquired));
	}
}

TEST(cancel_of_started_acquires)
{
	make_locks();
	on_servers(0, NODES, server_pause(it));
	start_all(redlock_start_acquire);
	expect_ok(NULL, redlock_process(client));
	for (int i = 0; i < LOCKS; i++)
		expect_ok(locks[i], redlock_cancel(locks[i]));
	collect(REDLOCK_OP_ACQUIRE, REDLOCK_E_CANCELLED);
	on_servers(0, NODES, server_resume(it));
	/* Sent claims are taken back. */
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(keys_everywhere(), 0);
	start_all(redlock_start_acquire);
	collect(REDLOCK_OP_ACQUIRE, 0);
	free_locks();
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(keys_everywhere(), 0);
}

TEST(cancel_before_anything_was_sent)
{
	make_locks();
	start_all(redlock_start_acquire);
	for (int i = 0; i < LOCKS; i++)
		expect_ok(locks[i], redlock_cancel(locks[i]));
	collect(REDLOCK_OP_ACQUIRE, REDLOCK_E_CANCELLED);
	free_locks();
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(keys_everywhere(), 0);
}

TEST(free_with_operations_in_flight)
{
	struct redlock_event event = {.size = sizeof event};
	int (*const second[])(redlock_lock *) = {begin_extend, redlock_start_query, redlock_start_release};
	for (int round = 0; round < 4; round++) {
		make_locks();
		start_all(redlock_start_acquire);
		if (round > 0) {
			collect(REDLOCK_OP_ACQUIRE, 0);
			start_all(second[round - 1]);
		}
		expect_ok(NULL, redlock_process(client));
		free_locks();
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
		assert_int_equal(redlock_next(client, &event), 0);
		assert_int_equal(keys_everywhere(), 0);
	}
}

/* Locks that are held when the client is closed are released, without waiting: sent, that is. (That many
 * releases, larger than what a server reads at once, arrive too is promised by redlock_drain() alone.) */
TEST(close_before_free)
{
	enum { HELD = 4 };
	redlock_client *closed = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *held[HELD];
	for (int i = 0; i < HELD; i++) {
		char name[] = {'h', (char)('a' + i), '\0'};
		held[i] = fixture_lock(closed, name, WAIT_LONG_TTL_MS, 0);
		expect_ok(held[i], redlock_acquire(held[i]));
	}
	assert_driven(closed, keys_everywhere() == (long long)HELD * NODES);
	expect_ok(held[0], redlock_start_extend(held[0], 0));
	expect_ok(held[1], redlock_start_release(held[1]));
	redlock_close(closed);
	assert_soon(keys_everywhere() == 0);
	struct redlock_vote vote = {.size = sizeof vote};
	assert_int_equal(redlock_remaining_ms(held[2]), 0);
	expect_result(NULL, REDLOCK_E_STATE, redlock_acquire(held[2]));
	expect_result(NULL, REDLOCK_E_STATE, redlock_extend(held[2], 0));
	expect_result(NULL, REDLOCK_E_STATE, redlock_release(held[2]));
	expect_result(NULL, REDLOCK_E_STATE, redlock_start_query(held[2]));
	expect_result(NULL, REDLOCK_E_STATE, redlock_cancel(held[2]));
	expect_result(NULL, REDLOCK_E_STATE, redlock_lock_vote(held[2], 0, &vote));
	for (int i = 0; i < HELD; i++)
		redlock_lock_free(held[i]);
}

/* Drain counts what is owed, waits no longer than it may, and ends when all is settled. */
TEST(drain)
{
	own_client *quick = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(quick, "drain", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	assert_int_equal(redlock_drain(quick, WAIT_SOON_MS), 0);
	server_pause(&servers.server[0]);
	expect_pair(lock);
	uint64_t start_ns = wait_now_ns();
	int owed = redlock_drain(quick, 100);
	assert_in_range(owed, 1, 2);
	assert_in_range(wait_elapsed_ms(start_ns), 99, WAIT_SOON_MS);
	server_resume(&servers.server[0]);
	assert_int_equal(redlock_drain(quick, WAIT_SOON_MS), 0);
	assert_false(server_has(&servers.server[0], "drain"));
}

static void start(void)
{
	client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
}

static void stop(void)
{
	redlock_close(client);
}

SERVER_TESTS(NODES, .start = start, .stop = stop)
