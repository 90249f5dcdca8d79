/* SPDX-License-Identifier: MIT */
/* Several names at once, and handles that are entered again, on real servers. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "record.h"

enum { NODES = 3 };

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
	options.retry_min_ms = 1;
	options.retry_max_ms = 20;
	expect_ok(NULL, redlock_lock_new_many_bytes(client, names, count, &options, &lock));
	return lock;
}

static redlock_lock *one(redlock_client *client, const char *name, uint64_t wait_ms)
{
	return fixture_lock(client, name, WAIT_LONG_TTL_MS, wait_ms);
}

static void expect_obstacle(redlock_lock *lock, unsigned want)
{
	unsigned index = 99;
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	expect_ok(lock, redlock_lock_obstacle(lock, &index));
	assert_int_equal(index, want);
}

static void flush_scripts(void)
{
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "SCRIPT", "FLUSH", NULL));
}

/* With and without a guard: all keys have the token for the TTL, an extend lengthens each, a release takes
 * each away. The servers forget the scripts in between. */
TEST(all_of_them_or_none)
{
	for (int guard = REDLOCK_GUARD_OFF; guard <= REDLOCK_GUARD_REQUIRE; guard += REDLOCK_GUARD_REQUIRE) {
		if (guard != REDLOCK_GUARD_OFF)
			record_write(&servers, NODES, WAIT_LONG_TTL_MS, "1000");
		own_client *client = open_client(guard);
		own_lock *lock = many(client, "a b {t}c", 0), *b = one(client, "b", 0), *d = one(client, "d", 0);
		unsigned index;
		assert_int_equal(redlock_lock_obstacle(lock, &index), REDLOCK_E_STATE);
		for (int i = 0; i < 3; i++) {
			expect_ok(lock, redlock_acquire(lock));
			struct fixture_token token = fixture_token(lock);
			for (const char *const *name = (const char *[]){"a", "b", "{t}c", NULL}; *name != NULL; name++)
				assert_driven(client, servers_with_value(&servers, NODES, *name, token.text) == NODES);
			on_servers(0, NODES, server_must(it, "1", "PEXPIRE", "b", "60000", NULL));
			expect_ok(lock, redlock_extend(lock, 0));
			assert_driven(client, server_pttl(&servers.server[NODES - 1], "b") > 60000);
			expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
			expect_pair(d);
			flush_scripts();
			expect_ok(lock, redlock_release(lock));
			expect_settled(client, NODES, "a");
			assert_int_equal(servers_with_key(&servers, NODES, "b"), 0);
			assert_int_equal(servers_with_key(&servers, NODES, "{t}c"), 0);
			expect_ok(b, redlock_acquire(b));
			expect_obstacle(lock, 1);
			assert_int_equal(servers_with_key(&servers, NODES, "a"), 0);
			expect_ok(b, redlock_release(b));
			expect_settled(client, NODES, "b");
			flush_scripts();
		}
	}
}

/* Plain SET in another language, and keys that are no locks. */
TEST(everybody_is_excluded)
{
	own_client *client = open_client(REDLOCK_GUARD_OFF);
	own_lock *lock = many(client, "a b c", 0);
	static const char *const others[][6] = {{"SET", "c", "x", NULL}, {"HSET", "c", "f", "v", NULL}};
	for (unsigned i = 0; i < 2; i++) {
		on_servers(0, NODES,
		           server_must(it, i == 0 ? "OK" : "1", others[i][0], others[i][1], others[i][2],
		                       others[i][3], NULL));
		expect_obstacle(lock, 2);
		on_servers(0, NODES, server_must(it, "1", "DEL", "c", NULL));
	}
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, "c") == NODES);
	on_servers(0, NODES, server_must(it, "(nil)", "SET", "b", "x", "NX", "PX", "9000", NULL));
	/* One key goes, and is another's: the lock is lost at its next extend, and the others are given back. */
	on_servers(0, NODES, server_must(it, "OK", "SET", "b", "x", NULL));
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	expect_settled(client, NODES, "a");
	assert_int_equal(servers_with_value(&servers, NODES, "b", "x"), NODES);
}

/* A key that may not be written: nothing is, and the node has not voted. */
TEST(a_node_that_takes_only_some)
{
	struct raw_reply reply;
	on_servers(0, NODES,
	           server_ask(it, &reply, "ACL", "SETUSER", "some", "on", "nopass", "+@all", "~a", "~{a}*",
	                      "%R~b", NULL));
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.user = "some";
	options.password = "x";
	own_client *client = fixture_open_with(&options);
	own_lock *lock = many(client, "a b", 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_true(fixture_votes_of_kind(lock, NODES, REDLOCK_KIND_FATAL) >= 2);
	expect_settled(client, NODES, "a");
}

TEST(refused_options)
{
	static char large[REDLOCK_MAX_NAME];
	own_client *client = open_client(REDLOCK_GUARD_OFF);
	redlock_lock *lock = NULL;
	const struct redlock_name twice[] = {{"a", 1}, {"b", 1}, {"a", 1}}, empty[] = {{"a", 1}, {"", 0}},
	                          long_ones[] = {{large, sizeof large - 1}, {"ab", 2}};
	struct redlock_name most[REDLOCK_MAX_NAMES + 1];
	for (unsigned i = 0; i <= REDLOCK_MAX_NAMES; i++)
		most[i] = (struct redlock_name){large + i, i + 1};
	struct redlock_lock_options valued = fixture_options(WAIT_LONG_TTL_MS), fenced = valued;
	valued.token = "t";
	valued.token_len = 1;
	fenced.fence = 1;
	const struct {
		const struct redlock_name *names;
		size_t count;
		const struct redlock_lock_options *options;
		int result;
	} cases[] = {
	    {twice, 3, NULL, REDLOCK_E_INVAL},
	    {twice, 2, NULL, 0},
	    {twice, 1, NULL, 0},
	    {twice, 1, &valued, 0},
	    {twice, 1, &fenced, REDLOCK_E_INVAL},
	    {twice, 0, NULL, REDLOCK_E_INVAL},
	    {empty, 2, NULL, REDLOCK_E_INVAL},
	    {long_ones, 1, NULL, 0},
	    {long_ones, 2, NULL, REDLOCK_E_INVAL},
	    {most, REDLOCK_MAX_NAMES, NULL, 0},
	    {most, REDLOCK_MAX_NAMES + 1, NULL, REDLOCK_E_INVAL},
	    {twice, 2, &valued, REDLOCK_E_INVAL},
	    {twice, 2, &fenced, REDLOCK_E_INVAL},
	    {NULL, 2, NULL, REDLOCK_E_INVAL},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int result =
		    redlock_lock_new_many_bytes(client, cases[i].names, cases[i].count, cases[i].options, &lock);
		assert_int_equal(result, cases[i].result);
		if (result == 0) {
			expect_pair(lock);
			/* one name is the lock of that name, which can be asked for */
			assert_int_equal(redlock_query(lock), cases[i].count > 1 ? REDLOCK_E_STATE : REDLOCK_E_GONE);
			redlock_lock_free(lock);
		}
	}
}

/* ---- entered again ---- */

TEST(a_reentrant_handle_counts)
{
	own_client *client = fixture_open(servers.urls, NODES, 300);
	struct redlock_lock_options options = fixture_options(1000);
	own_lock *plain = fixture_lock(client, "job", WAIT_LONG_TTL_MS, 0);
	expect_ok(plain, redlock_acquire(plain));
	expect_result(plain, REDLOCK_E_STATE, redlock_acquire(plain));
	expect_ok(plain, redlock_release(plain));
	options.reentrant = 1;
	own_lock *lock = fixture_lock_with(client, "job", &options);
	for (int i = 0; i < 3; i++)
		expect_ok(lock, redlock_acquire(lock));
	for (int i = 0; i < 2; i++) {
		expect_ok(lock, redlock_release(lock));
		expect_result(plain, REDLOCK_E_BUSY, redlock_acquire(plain));
	}
	expect_ok(lock, redlock_release(lock));
	expect_result(lock, REDLOCK_E_STATE, redlock_release(lock));
	expect_pair(plain);
	/* By events it is the same. And what has ended by the clock is not entered. */
	struct redlock_event event = {.size = sizeof event};
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_start_acquire(lock));
	assert_int_equal(redlock_next(client, &event), 1);
	assert_true(event.lock == lock && event.operation == REDLOCK_OP_ACQUIRE && event.result == 0);
	assert_soon(redlock_deadline_ns(lock) == 0 && servers_with_key(&servers, NODES, "job") == 0);
	expect_result(lock, REDLOCK_E_STATE, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock)); /* of the second one: it counts */
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_acquire(lock));
	redlock_lock_free(lock); /* all of it */
	lock = NULL;
	expect_settled(client, NODES, "job");
}

SERVER_TESTS(NODES)
