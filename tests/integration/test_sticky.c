/* SPDX-License-Identifier: MIT */
/* Locks that stay with their client after a release, on real servers: what asks no node, and what gives them
 * back. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "fixture.h"

enum { NODES = 3, TTL_MS = 100000, PAIRS = 1000, THREADS = 4 };

static struct redlock_lock_options sticky(void)
{
	struct redlock_lock_options o = fixture_options(TTL_MS);
	o.wait_ms = WAIT_SOON_MS;
	o.sticky_ms = TTL_MS;
	return o;
}

static redlock_lock *sticky_lock(redlock_client *client)
{
	struct redlock_lock_options o = sticky();
	return fixture_lock_with(client, "job", &o);
}

static redlock_client *kept_client(void)
{
	redlock_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_ok(NULL, redlock_keeper_start(client));
	return client;
}

/* The keeper may be writing. */
static bool is_kept(redlock_lock *lock, bool for_ever)
{
	struct rl_loop *loop = &lock->client->loop;
	rl_thread_lock(&loop->mutex);
	bool kept = lock->core.phase == RL_KEPT;
	if (kept && for_ever)
		lock->core.hold.keep_until_ns = RL_TIME_NEVER;
	rl_thread_unlock(&loop->mutex);
	return kept;
}

/* A client keeps a lock when it hears the gate, a moment after its first acquire. */
static bool pair_and_keep(redlock_lock *lock, bool for_ever)
{
	expect_pair(lock);
	return is_kept(lock, for_ever);
}

/* The time in which it is kept has no end: this machine may be slow, and only what is tested ends it. */
static void keep(redlock_lock *lock)
{
	assert_soon(pair_and_keep(lock, true));
}

struct scene {
	redlock_client *client;
	redlock_lock *lock;
};

static struct scene begin(void)
{
	struct scene s = {.client = kept_client()};
	s.lock = sticky_lock(s.client);
	keep(s.lock);
	return s;
}

/* A server drops what a client that has gone had sent it, if it still had answers for it. */
static void end(struct scene *s)
{
	assert_int_equal(redlock_drain(s->client, WAIT_SOON_MS), 0);
	redlock_close(s->client);
	redlock_lock_free(s->lock);
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
}

static unsigned long long commands(void)
{
	static const char *const words[] = {"cmdstat_set:calls=", "cmdstat_evalsha:calls=", "cmdstat_get:calls="};
	unsigned long long sum = 0;
	struct raw_reply reply;
	for (unsigned i = 0; i < NODES; i++) {
		const char *stats = server_ask(&servers.server[i], &reply, "INFO", "commandstats", NULL);
		for (unsigned k = 0; k < sizeof words / sizeof words[0]; k++) {
			const char *at = strstr(stats, words[k]);
			sum += at != NULL ? strtoull(at + strlen(words[k]), NULL, 10) : 0;
		}
	}
	return sum;
}

/* ---- what asks no node ---- */

static bool pairs_ask_nobody(redlock_lock *const *locks, unsigned count)
{
	unsigned long long before = commands();
	for (unsigned i = 0; i < PAIRS; i++)
		expect_pair(locks[i % count]);
	return commands() == before;
}

/* Unless the machine sleeps for a while between a release and the next acquire. */
TEST(a_pair_in_a_loop_asks_no_node)
{
	struct scene s = begin();
	assert_soon(pairs_ask_nobody(&s.lock, 1));
	assert_int_equal(servers_with_key(&servers, NODES, "job"), NODES);
	end(&s);
}

TEST(so_do_pairs_of_two_handles)
{
	struct scene s = begin();
	redlock_lock *locks[] = {s.lock, sticky_lock(s.client)};
	assert_soon(pairs_ask_nobody(locks, 2));
	redlock_lock_free(locks[1]);
	end(&s);
}

/* The handle that has released it is free: nothing of the next turn can be done through it. */
TEST(a_handle_that_keeps_is_released_for_its_caller)
{
	struct scene s = begin();
	assert_int_equal(redlock_remaining_ms(s.lock), 0);
	assert_int_equal(fixture_token(s.lock).length, 0);
	assert_int_equal(redlock_release(s.lock), REDLOCK_E_STATE);
	assert_int_equal(redlock_extend(s.lock, 0), REDLOCK_E_STATE);
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	end(&s);
}

static void asks_again(struct scene *s, const struct redlock_lock_options *o)
{
	redlock_lock *other = fixture_lock_with(s->client, "job", o);
	expect_ok(other, redlock_acquire(other));
	assert_false(is_kept(s->lock, false));
	expect_ok(other, redlock_release(other));
	assert_false(is_kept(other, false));
	redlock_lock_free(other);
}

/* Another kind of lock of that name, or with other times, must not find it busy. */
TEST(a_handle_that_differs_gets_it_from_the_servers)
{
	struct scene s = begin();
	struct redlock_lock_options o = sticky();
	o.sticky_ms = 0;
	asks_again(&s, &o);
	keep(s.lock);
	o = sticky();
	o.token = "mine";
	o.token_len = 4;
	asks_again(&s, &o);
	keep(s.lock);
	o = sticky();
	o.mode = REDLOCK_SHARED;
	asks_again(&s, &o);
	end(&s);
}

TEST(told_tokens_and_undriven_clients_keep_nothing)
{
	struct scene s = begin();
	expect_ok(s.lock, redlock_acquire(s.lock));
	assert_true(fixture_token(s.lock).length > 0);
	expect_ok(s.lock, redlock_release(s.lock));
	assert_false(is_kept(s.lock, false));
	keep(s.lock);
	expect_ok(NULL, redlock_keeper_stop(s.client));
	assert_false(is_kept(s.lock, false));
	expect_pair(s.lock);
	assert_false(is_kept(s.lock, false));
	end(&s);
}

/* ---- what gives it back ---- */

static void get_elsewhere(const struct redlock_lock_options *o)
{
	own_client *elsewhere = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock_with(elsewhere, "job", o);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
}

/* After that the client does not keep the name for a while: the two may be taking turns. */
TEST(a_waiter_elsewhere_asks_for_it)
{
	struct scene s = begin();
	struct redlock_lock_options o = sticky();
	get_elsewhere(&o);
	expect_pair(s.lock);
	assert_false(is_kept(s.lock, false));
	end(&s);
}

TEST(so_does_one_that_shares_or_wants_several_names)
{
	static const char *const names[] = {"job", "other"};
	struct scene s = begin();
	struct redlock_lock_options o = sticky();
	o.mode = REDLOCK_SHARED;
	get_elsewhere(&o);
	end(&s);
	s = begin();
	own_client *elsewhere = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *both;
	o = sticky();
	expect_ok(NULL, redlock_lock_new_many(elsewhere, names, 2, &o, &both));
	expect_pair(both);
	redlock_lock_free(both);
	end(&s);
}

static bool was_asked_for(redlock_lock *lock)
{
	rl_thread_lock(&lock->client->loop.mutex);
	bool asked = lock->client->kept.away_until_ns > 0;
	rl_thread_unlock(&lock->client->loop.mutex);
	return asked;
}

/* A lock that is in use is handed over by its release. */
TEST(a_lock_in_use_is_given_back_by_its_release)
{
	struct scene s = begin();
	own_client *elsewhere = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(elsewhere, "job", TTL_MS, WAIT_SOON_MS);
	expect_ok(s.lock, redlock_acquire(s.lock));
	expect_ok(lock, redlock_start_acquire(lock));
	assert_driven(elsewhere, was_asked_for(s.lock));
	expect_ok(s.lock, redlock_release(s.lock));
	assert_false(is_kept(s.lock, false));
	assert_driven(elsewhere, redlock_remaining_ms(lock) > 0);
	redlock_lock_free(lock);
	lock = NULL;
	end(&s);
}

/* Without a word: it is kept for 200 ms. */
TEST(a_lock_that_nobody_uses_goes_back)
{
	own_client *client = kept_client();
	own_lock *lock = sticky_lock(client);
	assert_soon(pair_and_keep(lock, false));
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	assert_false(is_kept(lock, false));
}

TEST(a_cancel_and_handles_that_go_give_it_back)
{
	struct scene s = begin();
	expect_ok(s.lock, redlock_cancel(s.lock));
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	keep(s.lock);
	redlock_lock_free(s.lock);
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	s.lock = sticky_lock(s.client);
	keep(s.lock);
	redlock_lock_leave(s.lock);
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	s.lock = sticky_lock(s.client);
	keep(s.lock);
	end(&s);
}

/* At once, as the program may end next. */
TEST(a_drain_gives_it_back)
{
	struct scene s = begin();
	assert_int_equal(redlock_drain(s.client, WAIT_SOON_MS), 0);
	assert_false(is_kept(s.lock, false));
	assert_int_equal(servers_with_key(&servers, NODES, "job"), 0);
	keep(s.lock);
	assert_true(redlock_drain(s.client, 0) >= 0); /* which has no time to wait */
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	end(&s);
}

/* Waiters could not be heard any more. */
TEST(a_lost_listener_gives_it_back)
{
	struct scene s = begin();
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "CLIENT", "KILL", "TYPE", "pubsub", NULL));
	assert_soon(servers_with_key(&servers, NODES, "job") == 0);
	end(&s);
}

/* A child has no part in it, and leaves it alone. */
TEST(a_fork_leaves_it_with_the_parent)
{
	struct scene s = begin();
	pid_t child = fork();
	if (child == 0) {
		bool forked = redlock_acquire(s.lock) == REDLOCK_E_FORKED;
		redlock_lock_free(s.lock);
		redlock_close(s.client);
		_exit(forked ? 0 : 1);
	}
	int status;
	assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	assert_true(is_kept(s.lock, false));
	assert_int_equal(servers_with_key(&servers, NODES, "job"), NODES);
	end(&s);
}

static void keep_and_die(int told)
{
	redlock_client *client = fixture_open(servers.urls, NODES, 500);
	struct redlock_lock_options o = sticky();
	expect_ok(NULL, redlock_keeper_start(client));
	o.ttl_ms = 2000;
	redlock_lock *lock = fixture_lock_with(client, "job", &o);
	keep(lock);
	(void)!write(told, "", 1);
	raise(SIGKILL);
}

/* As after any holder that dies: by the TTL. */
TEST(a_process_that_is_killed_keeps_it_for_its_ttl)
{
	int told[2];
	char byte;
	assert_int_equal(pipe(told), 0);
	pid_t child = fork();
	if (child == 0)
		keep_and_die(told[1]);
	assert_true(child > 0 && read(told[0], &byte, 1) == 1 && waitpid(child, NULL, 0) == child);
	close(told[0]);
	close(told[1]);
	struct redlock_lock_options o = sticky();
	get_elsewhere(&o);
}

/* ---- threads ---- */

static struct {
	redlock_client *client;
	atomic_bool stop;
	atomic_uint inside, failures, turns;
} crowd;

static void *contend(void *argument)
{
	(void)argument;
	own_lock *lock = sticky_lock(crowd.client);
	while (!crowd.stop) {
		expect_ok(lock, redlock_acquire(lock));
		crowd.failures += ++crowd.inside != 1;
		crowd.turns++;
		crowd.inside--;
		expect_ok(lock, redlock_release(lock));
	}
	return NULL;
}

/* Threads, one or more, and a client elsewhere that has its turns. */
TEST(threads_and_a_client_elsewhere_exclude_each_other)
{
	pthread_t threads[THREADS];
	unsigned least = wait_is_slow() ? 5 : 20;
	for (unsigned count = 1; count <= THREADS; count += THREADS - 1) {
		own_client *elsewhere = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_lock(elsewhere, "job", TTL_MS, WAIT_SOON_MS);
		crowd.client = kept_client();
		crowd.stop = false;
		crowd.turns = 0;
		for (unsigned i = 0; i < count; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, contend, NULL), 0);
		for (unsigned turns = 0; turns < least || crowd.turns < least; turns++) {
			int result = redlock_acquire(lock);
			/* The client insists where the keeper lacks the key of its gate, for a node timeout
			 * (docs/decisions/sticky.md): exclusion is what threads are tried for. */
			if (result == REDLOCK_E_BUSY)
				break;
			expect_ok(lock, result);
			crowd.failures += ++crowd.inside != 1;
			crowd.inside--;
			expect_ok(lock, redlock_release(lock));
		}
		crowd.stop = true;
		for (unsigned i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(crowd.failures, 0);
		redlock_close(crowd.client);
	}
}

/* ---- event loops ---- */

static void expect_done(redlock_client *client, redlock_lock *lock)
{
	struct redlock_event event = {.size = sizeof event};
	while (redlock_next(client, &event) == 0)
		expect_ok(NULL, redlock_process(client));
	assert_true(event.lock == lock && event.kind == REDLOCK_EVENT_DONE);
	expect_ok(lock, event.result);
}

static bool started_pair_keeps(redlock_client *client, redlock_lock *lock)
{
	expect_ok(lock, redlock_start_acquire(lock));
	expect_done(client, lock);
	expect_ok(lock, redlock_start_release(lock));
	expect_done(client, lock);
	return is_kept(lock, true);
}

TEST(an_event_loop_keeps_it_too)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = sticky_lock(client);
	assert_soon(started_pair_keeps(client, lock));
	unsigned long long before = commands();
	assert_true(started_pair_keeps(client, lock));
	assert_int_equal(commands(), before);
}

SERVER_TESTS(NODES)
