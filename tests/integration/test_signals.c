/* SPDX-License-Identifier: MIT */
/* Signals that come while a thread waits: they end its call if the client wants it, and no other. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

enum { NODES = 5, WAITERS = 6 };

static _Thread_local unsigned handled;

static void handler(int signal)
{
	(void)signal;
	handled++;
}

static redlock_client *open_client(int interruptible, uint32_t node_timeout_ms)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.node_timeout_ms = node_timeout_ms;
	options.interruptible = interruptible;
	return fixture_open_with(&options);
}

struct waiter {
	pthread_t thread;
	redlock_client *client;
	redlock_lock *lock;
	int result;
	unsigned handled;
	_Atomic pid_t id;
	atomic_bool done;
};

#define WAITING_IN(name, call)                                                                               \
	static void *name(void *argument)                                                                        \
	{                                                                                                        \
		struct waiter *w = argument;                                                                         \
		w->id = gettid();                                                                                    \
		w->result = (call);                                                                                  \
		w->handled = handled;                                                                                \
		w->done = true;                                                                                      \
		return NULL;                                                                                         \
	}

WAITING_IN(in_acquire, redlock_acquire(w->lock))
WAITING_IN(in_extend, redlock_extend(w->lock, 0))
WAITING_IN(in_query, redlock_query(w->lock))
WAITING_IN(in_release, redlock_release(w->lock))
WAITING_IN(in_drain, redlock_drain(w->client, WAIT_LONG_TTL_MS))

static bool is_asleep(const struct waiter *w)
{
	char path[64], state = '?';
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)w->id);
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return false;
	bool known = fscanf(file, "%*d %*s %c", &state) == 1;
	fclose(file);
	return known && state == 'S';
}

static void begin(struct waiter *w, void *(*call)(void *), redlock_client *client, redlock_lock *lock)
{
	*w = (struct waiter){.client = client, .lock = lock};
	assert_int_equal(pthread_create(&w->thread, NULL, call, w), 0);
	wait_ms(20);
	assert_soon(w->done || is_asleep(w)); /* a busy machine lets threads wait for a processor */
}

/* One signal suffices for a thread that is inside of the call. */
static void interrupt(struct waiter *w)
{
	pthread_kill(w->thread, SIGUSR1);
	pthread_join(w->thread, NULL);
	assert_int_equal(w->handled, 1);
}

/* The leader and the sleepers are interrupted, and each of them in any order, so that an interrupted thread
 * passes the lead on, and the others still get their locks. */
static void expect_threads_to_be_interrupted(bool keeper)
{
	struct waiter waiters[WAITERS];
	own_client *client = open_client(1, FIXTURE_NODE_TIMEOUT_MS);
	on_servers(0, NODES, server_must(it, "OK", "SET", "busy", "x", NULL));
	if (keeper)
		expect_ok(NULL, redlock_keeper_start(client));
	for (unsigned i = 0; i < WAITERS; i++)
		begin(&waiters[i], in_acquire, client,
		      fixture_lock(client, "busy", WAIT_LONG_TTL_MS, REDLOCK_FOREVER));
	wait_ms(100);
	static const unsigned order[] = {3, 0, 5, 1}; /* 2 and 4 stay */
	for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
		struct waiter *w = &waiters[order[i]];
		assert_false(w->done);
		interrupt(w);
		expect_result(w->lock, REDLOCK_E_INTERRUPTED, w->result);
	}
	servers_heal(&servers);
	assert_soon(waiters[2].done || waiters[4].done);
	unsigned first = waiters[2].done ? 2 : 4;
	expect_ok(waiters[first].lock, redlock_release(waiters[first].lock));
	assert_soon(waiters[6 - first].done);
	for (unsigned i = 2; i <= 4; i += 2) {
		pthread_join(waiters[i].thread, NULL);
		expect_ok(waiters[i].lock, waiters[i].result);
	}
	for (unsigned i = 0; i < WAITERS; i++)
		redlock_lock_free(waiters[i].lock);
	expect_settled(client, NODES, "busy");
}

struct raising {
	int signal;
	atomic_bool raised;
};

static void raise_once(void *user, const char *line)
{
	struct raising *raising = user;
	(void)line;
	if (!atomic_exchange(&raising->raised, true))
		raise(raising->signal);
}

/* The result of an acquire of a busy lock that comes to know of the signal while it works. */
static int acquire_and_raise(int signal, bool keeper, uint64_t wait_ms)
{
	struct raising raising = {.signal = signal, .raised = true}; /* not yet */
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.interruptible = 1;
	options.trace = raise_once;
	options.trace_user = &raising;
	own_client *client = fixture_open_with(&options);
	own_lock *lock = fixture_lock(client, "busy", WAIT_LONG_TTL_MS, wait_ms);
	if (keeper)
		expect_ok(NULL, redlock_keeper_start(client));
	handled = 0;
	raising.raised = false;
	int result = redlock_acquire(lock);
	assert_true(raising.raised);
	return result;
}

/* The trace is written while the call works: the signal comes when it does not wait, and ends the next wait.
 * Waiting in the poller, or asleep beside the keeper, which leads. */
TEST(a_signal_between_two_waits_is_not_lost)
{
	on_servers(0, NODES, server_must(it, "OK", "SET", "busy", "x", NULL));
	for (unsigned keeper = 0; keeper < 2; keeper++) {
		assert_int_equal(acquire_and_raise(SIGUSR1, keeper == 1, REDLOCK_FOREVER), REDLOCK_E_INTERRUPTED);
		assert_int_equal(handled, 1);
	}
	servers_heal(&servers);
}

/* No handler runs: a child that ends, a terminal that changes its size, and what the process ignores. */
TEST(an_ignored_signal_ends_no_call)
{
	static const int ignored[] = {SIGCHLD, SIGWINCH, SIGURG, SIGCONT, SIGUSR2};
	on_servers(0, NODES, server_must(it, "OK", "SET", "busy", "x", NULL));
	signal(SIGUSR2, SIG_IGN);
	for (unsigned i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		for (unsigned keeper = 0; keeper < 2; keeper++)
			assert_int_equal(acquire_and_raise(ignored[i], keeper == 1, 50), REDLOCK_E_BUSY);
	signal(SIGUSR2, SIG_DFL);
	servers_heal(&servers);
}

TEST(waiting_threads_are_interrupted)
{
	expect_threads_to_be_interrupted(false);
	expect_threads_to_be_interrupted(true);
}

/* A lock that was granted is given back, an extend changes nothing, and every waiting thread is told; a
 * release goes on. */
TEST(each_operation)
{
	struct waiter w, other;
	own_client *client = open_client(1, 2000);
	own_lock *held = fixture_lock(client, "held", WAIT_LONG_TTL_MS, 0);
	own_lock *partial = fixture_lock(client, "partial", WAIT_LONG_TTL_MS, REDLOCK_FOREVER);
	expect_ok(held, redlock_acquire(held));
	on_servers(0, 3, server_pause(it));
	static void *(*const calls[])(void *) = {in_extend, in_query};
	for (unsigned i = 0; i < 2; i++) {
		begin(&w, calls[i], client, held);
		interrupt(&w);
		expect_result(held, REDLOCK_E_INTERRUPTED, w.result);
		assert_true(redlock_remaining_ms(held) > 0);
	}
	begin(&w, in_acquire, client, partial);
	assert_soon(servers_with_key(&servers, NODES, "partial") == 2);
	interrupt(&w);
	expect_result(partial, REDLOCK_E_INTERRUPTED, w.result);
	begin(&w, in_release, client, held);
	interrupt(&w);
	expect_result(held, REDLOCK_E_NOQUORUM, w.result);
	begin(&w, in_drain, client, NULL);
	begin(&other, in_drain, client, NULL);
	wait_ms(50);
	interrupt(&other); /* it sleeps while the first one leads */
	assert_false(w.done);
	interrupt(&w);
	assert_int_equal(w.result, REDLOCK_E_INTERRUPTED);
	assert_int_equal(other.result, REDLOCK_E_INTERRUPTED);
	on_servers(0, 3, server_resume(it));
	expect_settled(client, NODES, "partial");
}

TEST(without_being_asked_calls_go_on)
{
	struct waiter waiters[2];
	own_client *client = open_client(0, FIXTURE_NODE_TIMEOUT_MS);
	on_servers(0, NODES, server_must(it, "OK", "MSET", "busy", "x", "busy too", "x", NULL));
	for (unsigned i = 0; i < 2; i++)
		begin(&waiters[i], in_acquire, client,
		      fixture_lock(client, i == 0 ? "busy" : "busy too", WAIT_LONG_TTL_MS, REDLOCK_FOREVER));
	for (unsigned i = 0; i < 20; i++) {
		pthread_kill(waiters[i % 2].thread, SIGUSR1);
		wait_ms(5);
	}
	assert_false(waiters[0].done || waiters[1].done);
	servers_heal(&servers);
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(waiters[i].thread, NULL);
		expect_ok(waiters[i].lock, waiters[i].result);
		redlock_lock_free(waiters[i].lock);
	}
	assert_true(waiters[0].handled > 0 && waiters[1].handled > 0);
}

/* Signals as fast as they can be sent, at threads that are granted, interrupted and wait in turns: whatever
 * they meet, no thread is left asleep, no post goes astray, and nothing stays locked. */
struct busy_thread {
	pthread_t thread;
	redlock_lock *lock;
	atomic_bool done;
	int wrong;
	unsigned granted, interrupted;
};

static void *work(void *argument)
{
	struct busy_thread *b = argument;
	unsigned rounds = wait_is_slow() ? 100 : 500;
	for (unsigned i = 0; i < rounds; i++) {
		int result = redlock_acquire(b->lock);
		if (result == 0 && redlock_release(b->lock) != 0)
			b->wrong++;
		b->granted += result == 0;
		b->interrupted += result == REDLOCK_E_INTERRUPTED;
		b->wrong += result != 0 && result != REDLOCK_E_INTERRUPTED;
	}
	b->done = true;
	return NULL;
}

/* The place of a waiter stays for a while where the connection has broken that it was to be given up on; no
 * connection does so here but for a server that gets no processor for seconds. */
static void expect_nothing_on(redlock_client *client, const struct server *server)
{
	bool lost =
	    fixture_status(client, (unsigned)(server - servers.server)).last_failure != REDLOCK_VOTE_PENDING;
	assert_false(server_has(server, "alone") || server_has(server, "shared"));
	if (!lost)
		assert_int_equal(server_key_count(server), 0);
}

TEST(storm)
{
	struct busy_thread threads[WAITERS] = {{0}};
	own_client *client = open_client(1, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.wait_ms = REDLOCK_FOREVER;
	options.retry_min_ms = 0;
	options.retry_max_ms = 2;
	for (unsigned i = 0; i < WAITERS; i++) {
		threads[i].lock = fixture_lock_with(client, i < 2 ? "alone" : "shared", &options);
		assert_int_equal(pthread_create(&threads[i].thread, NULL, work, &threads[i]), 0);
	}
	unsigned running = WAITERS;
	uint64_t start = wait_now_ns();
	while (running > 0) {
		running = 0;
		for (unsigned i = 0; i < WAITERS; i++)
			if (!threads[i].done) {
				pthread_kill(threads[i].thread, SIGUSR1);
				running++;
			}
		if (wait_elapsed_ms(start) > UINT64_C(3) * WAIT_SOON_MS)
			fail_msg("%u threads do not come back", running);
		wait_ms(1);
	}
	unsigned granted = 0, interrupted = 0;
	for (unsigned i = 0; i < WAITERS; i++) {
		pthread_join(threads[i].thread, NULL);
		assert_int_equal(threads[i].wrong, 0);
		granted += threads[i].granted;
		interrupted += threads[i].interrupted;
		redlock_lock_free(threads[i].lock);
	}
	print_message("%u granted, %u interrupted\n", granted, interrupted);
	assert_true(granted > 0 && interrupted > 0);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	on_servers(0, NODES, expect_nothing_on(client, it));
}

static void start(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, NULL);
}

SERVER_TESTS(NODES, .start = start)
