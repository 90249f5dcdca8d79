/* SPDX-License-Identifier: MIT */
/* Waiters for several names at once, on real servers: they are woken, have their turns, and leave no places
 * and no keys. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "record.h"
#include "scripts.h"

enum { NODES = 3, QUORUM = 2 };

#define A "aaaaaaaaaaaaaaaa.1"
#define B "bbbbbbbbbbbbbbbb.22"
#define C "cccccccccccccccc.3"

static redlock_client *open_client(int guard)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.guard = guard;
	return fixture_open_with(&options);
}

/* A handle of the names in a text, which are divided by spaces. */
static redlock_lock *many(redlock_client *client, const char *text, uint64_t wait_ms)
{
	struct redlock_name names[REDLOCK_MAX_NAMES];
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	redlock_lock *lock = NULL;
	size_t count = 0;
	for (size_t size; (size = strcspn(text, " ")) > 0; text += size + (text[size] == ' '))
		names[count++] = (struct redlock_name){text, size};
	options.wait_ms = wait_ms;
	expect_ok(NULL, redlock_lock_new_many_bytes(client, names, count, &options, &lock));
	return lock;
}

static unsigned queues_of(const char *name)
{
	char key[64];
	snprintf(key, sizeof key, "{%s}:redlock:queue", name);
	return servers_with_key(&servers, NODES, key);
}

/* At all nodes, also where others meet: a handle that is not driven has a quorum alone. */
static redlock_lock *held(redlock_client *client, const char *name)
{
	redlock_lock *lock = fixture_held(client, name, WAIT_LONG_TTL_MS, 0);
	assert_driven(client, servers_with_key(&servers, NODES, name) == NODES);
	return lock;
}

/* ---- woken ---- */

/* A handle was notified, whatever it does at that moment. */
static void note_wake(void *user, const char *line)
{
	if (strstr(line, ": wake node") != NULL)
		*(bool *)user = true;
}

/* The client was told that it holds the lock. */
static bool is_held(redlock_client *client, const redlock_lock *lock)
{
	struct redlock_event event = {.size = sizeof event};
	return redlock_remaining_ms(lock) > 0 && redlock_next(client, &event) == 1;
}

/* The release of one of the names notifies the waiter for all of them, which may ask by itself before the
 * message comes. Messages of other reasons come 10 s later. */
static void hand_over(redlock_client *client, redlock_lock *waiter, redlock_client *other,
                      redlock_lock *holder, const char *name, const bool *woken)
{
	enum { HOLD_MS = 1000 };
	expect_ok(holder, redlock_acquire(holder));
	assert_driven(other, servers_with_key(&servers, NODES, name) == NODES); /* also where others meet */
	expect_ok(waiter, redlock_start_acquire(waiter));
	uint64_t start_ns = wait_now_ns();
	while (wait_elapsed_ms(start_ns) < HOLD_MS) {
		assert_true(redlock_process(client) == 0 && redlock_process(other) == 0);
		wait_ms(1);
	}
	assert_int_equal(queues_of(name), 1);
	assert_false(*woken);
	expect_ok(holder, redlock_release(holder));
	while (!is_held(client, waiter)) /* news of waiters may come after the release */
		assert_true(redlock_process(client) == 0 && redlock_process(other) == 0);
	assert_within(WAIT_SOON_MS / 6, redlock_process(client) == 0 && *woken);
	expect_ok(waiter, redlock_release(waiter));
	assert_true(redlock_drain(client, WAIT_SOON_MS) == 0 && redlock_drain(other, WAIT_SOON_MS) == 0);
}

/* With and without a guard, whichever name it is. */
TEST(a_release_wakes_who_waits_for_all)
{
	enum { TRIES = 4 };
	for (int guard = REDLOCK_GUARD_OFF; guard <= REDLOCK_GUARD_REQUIRE; guard += REDLOCK_GUARD_REQUIRE) {
		bool woken = false;
		if (guard != REDLOCK_GUARD_OFF)
			record_write(&servers, NODES, WAIT_LONG_TTL_MS, "1000");
		struct redlock_options options = fixture_client(servers.urls, NODES);
		options.guard = guard;
		options.trace = note_wake;
		options.trace_user = &woken;
		own_client *client = fixture_open_with(&options), *other = open_client(guard);
		own_lock *waiter = many(client, "a b c", WAIT_SOON_MS),
		         *plain = fixture_lock(other, "b", WAIT_LONG_TTL_MS, 0), *both = many(other, "d c", 0);
		for (int i = 0; i < TRIES; i++) {
			bool one = i % 2 == 0;
			woken = false;
			hand_over(client, waiter, other, one ? plain : both, one ? "b" : "c", &woken);
		}
		for (const char *const *name = (const char *[]){"a", "b", "c", "d", NULL}; *name != NULL; name++)
			assert_int_equal(queues_of(*name), 0);
	}
}

/* One name after the other: the waiter is woken at its turn, finds the other name held, and waits for that.
 */
TEST(both_names_have_to_be_free)
{
	own_client *client = open_client(REDLOCK_GUARD_OFF), *other = open_client(REDLOCK_GUARD_OFF);
	own_lock *waiter = many(client, "a b", WAIT_SOON_MS), *a = held(other, "a"), *b = held(other, "b");
	expect_ok(waiter, redlock_start_acquire(waiter));
	assert_driven(client, queues_of("a") == 1);
	assert_int_equal(queues_of("b"), 0);
	expect_ok(a, redlock_release(a));
	assert_driven(client, queues_of("b") == 1);
	/* The waiter keeps nothing while it waits for b. */
	assert_driven(client, queues_of("a") == 0 && servers_with_key(&servers, NODES, "a") == 0);
	unsigned index = 99;
	expect_ok(waiter, redlock_lock_obstacle(waiter, &index));
	assert_int_equal(index, 1);
	struct redlock_wait wait = {.size = sizeof wait};
	assert_driven(client, redlock_lock_waiting(waiter, &wait) == 0 && wait.place == 1);
	assert_int_equal(wait.waiting, 1);
	expect_ok(b, redlock_release(b));
	assert_driven(client, is_held(client, waiter));
	expect_ok(waiter, redlock_release(waiter));
	assert_driven(client, queues_of("b") == 0);
}

/* A DEL by hand, of who tells nobody: it asks by itself. */
TEST(a_key_of_others_goes)
{
	own_client *client = open_client(REDLOCK_GUARD_OFF);
	own_lock *waiter = many(client, "a b", WAIT_SOON_MS);
	on_servers(0, NODES, server_must(it, "OK", "SET", "b", "x", NULL));
	expect_ok(waiter, redlock_start_acquire(waiter));
	assert_driven(client, queues_of("b") == 1);
	on_servers(0, NODES, server_must(it, "1", "DEL", "b", NULL));
	assert_driven(client, is_held(client, waiter));
}

/* A user that may not use queues polls. */
TEST(a_user_without_queues)
{
	struct raw_reply reply;
	on_servers(0, NODES,
	           server_ask(it, &reply, "ACL", "SETUSER", "some", "on", "nopass", "+@all", "~a", "~b", NULL));
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.user = "some";
	options.password = "x";
	own_client *client = fixture_open_with(&options), *other = open_client(REDLOCK_GUARD_OFF);
	own_lock *waiter = many(client, "a b", WAIT_SOON_MS), *b = held(other, "b");
	expect_ok(waiter, redlock_start_acquire(waiter));
	uint64_t start_ns = wait_now_ns();
	assert_driven(client, wait_elapsed_ms(start_ns) > 200);
	assert_int_equal(queues_of("b"), 0);
	expect_ok(b, redlock_release(b));
	assert_driven(client, is_held(client, waiter));
}

/* The place goes with the wait, whichever way that ends. */
TEST(a_wait_that_ends_leaves_no_place)
{
	for (int cancelled = 0; cancelled < 2; cancelled++) {
		own_client *client = open_client(REDLOCK_GUARD_OFF), *other = open_client(REDLOCK_GUARD_OFF);
		own_lock *waiter = many(client, "a b", cancelled ? WAIT_SOON_MS : 500), *b = held(other, "b");
		expect_ok(waiter, redlock_start_acquire(waiter));
		assert_driven(client, queues_of("b") == 1);
		if (cancelled)
			expect_ok(waiter, redlock_cancel(waiter));
		assert_driven(client, queues_of("b") == 0);
		expect_ok(b, redlock_release(b));
	}
}

/* ---- the script ---- */

static struct raw ears;

static void listen(void)
{
	assert_int_equal(raw_open(&ears, servers.server[0].socket, WAIT_SOON_MS), 0);
	for (const char *const *place = (const char *[]){A, B, C, NULL}; *place != NULL; place++) {
		char channel[64];
		struct raw_reply reply;
		snprintf(channel, sizeof channel, "redlock:wake:%.16s", *place);
		struct raw_arg args[] = {{"SUBSCRIBE", 9}, {channel, strlen(channel)}};
		assert_int_equal(raw_send(&ears, args, 2), 0);
		assert_int_equal(raw_receive(&ears, &reply), 0);
	}
}

static void expect_woken(const char *place)
{
	char want[128];
	struct raw_reply reply;
	snprintf(want, sizeof want, "message\nredlock:wake:%.16s\n%s", place, place + 17);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	assert_int_equal(strncmp(reply.text, want, strlen(want)), 0);
}

static void expect_silence(void)
{
	struct raw_reply reply;
	struct raw_arg ping = {"PING", 4};
	assert_int_equal(raw_send(&ears, &ping, 1), 0);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	assert_memory_equal(reply.text, "pong", 4);
}

static const char *run(enum rl_script script, const char *const *words)
{
	static struct raw_reply reply;
	struct raw_arg args[24] = {{"EVAL", 4}, {rl_scripts[script].text, rl_scripts[script].length}};
	size_t count = 2;
	for (; *words != NULL; words++)
		args[count++] = (struct raw_arg){*words, strlen(*words)};
	const char *text = server_call(&servers.server[0], args, count, &reply);
	assert_int_not_equal(reply.type, '-');
	return text;
}

/* ENTER of the names a and b, in the queue of b. */
static void expect_enter(const char *token, const char *place, int taken, int waiting, int stands)
{
	const char *const words[] = {
	    "5", "b", "{b}:redlock:queue", "{b}:redlock:offers", "a", "b", token, "30000", place, "5000", NULL};
	int verdict = -99, count = -99, at = -99;
	long long left;
	assert_int_equal(sscanf(run(RL_SCRIPT_ENTER_ALL, words), "%d %d %lld %d", &verdict, &count, &left, &at),
	                 4);
	assert_int_equal(verdict, taken);
	assert_int_equal(count, waiting);
	assert_int_equal(at, stands);
}

/* ENTER of a waiter for b alone. */
static void expect_enter_b(const char *token, const char *place, int taken, int waiting, int stands)
{
	const char *const words[] = {
	    "3", "b", "{b}:redlock:queue", "{b}:redlock:offers", token, "30000", place, "5000 0", NULL};
	int verdict = -99, count = -99, at = -99;
	long long left;
	assert_int_equal(sscanf(run(RL_SCRIPT_ENTER, words), "%d %d %lld %d", &verdict, &count, &left, &at), 4);
	assert_int_equal(verdict, taken);
	assert_int_equal(count, waiting);
	assert_int_equal(at, stands);
}

/* The release of a and b, with their queues. */
static void expect_release(const char *token, const char *place, const char *quiet, const char *answer)
{
	const char *const words[] = {
	    "4", "a", "b", "{a}:redlock:queue", "{b}:redlock:queue", token, "2", place, "5000", quiet, NULL};
	char want[64];
	snprintf(want, sizeof want, "%s\n%s", answer, token);
	assert_string_equal(run(RL_SCRIPT_RELEASE_ALL, words), want);
}

enum { A_IS_IN_THE_WAY = -2, B_IS = -3 };

/* A waiter for several names keeps its turn as any other; and if it cannot use it, it goes on to the next one
 * at once. */
TEST(turns)
{
	const struct server *s = &servers.server[0];
	listen();
	expect_enter("t1", A, 1, 0, 0);
	expect_enter("b1", B, B_IS, 1, 1);
	expect_enter_b("c1", C, 0, 2, 2);
	expect_enter("x1", "", B_IS, 2, 0);
	server_must(s, "OK", "SET", "a", "x", NULL); /* which is somebody else's from now on */
	expect_release("t1", "", "1", "-1");         /* quietly */
	expect_silence();
	expect_release("t1", "", "", "-1");
	expect_woken(B);
	expect_enter_b("c2", C, 0, 2, 2); /* not before B has come */
	expect_enter("b2", B, A_IS_IN_THE_WAY, 1, 0);
	expect_woken(C);
	expect_enter("b3", B, B_IS, 2, 2); /* it is C's turn now */
	expect_enter_b("c3", C, 1, 1, 0);
	server_must(s, "1", "DEL", "a", NULL);
	expect_enter("b4", B, B_IS, 1, 1);
	server_must(s, "1", "DEL", "b", NULL);
	expect_enter("b5", B, 1, 0, 0);
	expect_silence();
	expect_enter("c4", C, B_IS, 1, 1);
	expect_release("none", C, "", "0"); /* gives up the place */
	assert_int_equal(queues_of("b"), 0);
	expect_release("b5", "", "", "1");
	/* The name that it waits for is free, and another one is not: there is nothing to stand in line for. */
	server_must(s, "OK", "SET", "a", "x", NULL);
	expect_enter("b6", B, A_IS_IN_THE_WAY, 0, 0);
	assert_int_equal(queues_of("b"), 0);
	raw_close(&ears);
}

/* A release of all wakes the first one of each name. */
TEST(a_release_of_all_wakes_for_each)
{
	char entries[3][40];
	for (unsigned i = 0; i < 3; i++)
		snprintf(entries[i], sizeof entries[i], "1w%-27s ;", (const char *[]){A, B, C}[i]);
	const struct server *s = &servers.server[0];
	listen();
	expect_enter("t1", "", 1, 0, 0);
	server_must(s, "OK", "SET", "{a}:redlock:queue", entries[0], "PX", "60000", NULL);
	server_must(s, "OK", "SET", "{b}:redlock:queue", entries[1], "PX", "60000", NULL);
	expect_release("t1", "", "", "2");
	expect_woken(A);
	expect_woken(B);
	expect_release("t1", "", "", "-1"); /* they have their turn */
	expect_silence();
	raw_close(&ears);
	expect_release("t1", A, "", "-1");
	assert_int_equal(queues_of("a"), 0);
	assert_int_equal(queues_of("b"), 1);
}

/* ---- many at once ---- */

enum { TURNS = 30, MOST = 8 };
static atomic_int inside[4], left, waited_for;

struct worker {
	const char *names;
	bool plain, endless; /* endless: until the others are done, which begin after the first turn of each */
	int turns;
};

/* NULL, or what went wrong. */
static void *work(void *argument)
{
	static char not_acquired[] = "not acquired", two[] = "two holders", not_released[] = "not released";
	struct worker *w = argument;
	own_client *client = open_client(REDLOCK_GUARD_OFF);
	own_lock *lock = w->plain ? fixture_lock(client, w->names, WAIT_LONG_TTL_MS, REDLOCK_FOREVER)
	                          : many(client, w->names, REDLOCK_FOREVER);
	while (!w->endless && atomic_load(&waited_for) > 0)
		wait_ms(1);
	for (; w->endless ? atomic_load(&left) > 0 : w->turns < TURNS; w->turns++) {
		if (redlock_acquire(lock) != 0)
			return not_acquired;
		for (const char *n = w->names; *n != '\0'; n++)
			if (*n != ' ' && atomic_fetch_add(&inside[*n - 'a'], 1) != 0)
				return two;
		for (const char *n = w->names; *n != '\0'; n++)
			if (*n != ' ')
				atomic_fetch_sub(&inside[*n - 'a'], 1);
		if (redlock_release(lock) != 0)
			return not_released;
		atomic_fetch_sub(&waited_for, w->endless && w->turns == 0);
	}
	atomic_fetch_sub(&left, !w->endless);
	(void)redlock_drain(client, WAIT_SOON_MS);
	return NULL;
}

static void run_all(struct worker *workers, int count)
{
	pthread_t threads[MOST];
	atomic_store(&left, 0);
	atomic_store(&waited_for, 0);
	for (int i = 0; i < count; i++)
		atomic_fetch_add(workers[i].endless ? &waited_for : &left, 1);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, &workers[i]);
	for (int i = 0; i < count; i++) {
		void *problem;
		pthread_join(threads[i], &problem);
		if (problem != NULL)
			fail_msg("%s: %s", workers[i].names, (const char *)problem);
	}
	for (const char *const *name = (const char *[]){"a", "b", "c", "d", NULL}; *name != NULL; name++) {
		assert_soon(servers_with_key(&servers, NODES, *name) == 0);
		assert_int_equal(queues_of(*name), 0);
	}
}

/* Crossing, in a chain and in a ring: all of them have their turns, and nothing is left. */
TEST(no_order_ends_in_a_deadlock)
{
	struct worker workers[] = {{.names = "a b"},
	                           {.names = "b a"},
	                           {.names = "b c"},
	                           {.names = "c d"},
	                           {.names = "d a"},
	                           {.names = "b", .plain = true},
	                           {.names = "d", .plain = true}};
	run_all(workers, sizeof workers / sizeof workers[0]);
}

/* Users of one of the names that never stop do not keep out who wants it with another one. */
TEST(clients_that_keep_coming_for_one_name)
{
	struct worker workers[] = {{.names = "a b"},
	                           {.names = "b", .plain = true, .endless = true},
	                           {.names = "b", .plain = true, .endless = true},
	                           {.names = "b", .plain = true, .endless = true}};
	run_all(workers, sizeof workers / sizeof workers[0]);
	for (int i = 1; i < 4; i++)
		assert_true(workers[i].turns >= TURNS / 10); /* nor are they kept out; who is next is chance */
}

SERVER_TESTS(NODES)
