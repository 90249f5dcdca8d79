/* SPDX-License-Identifier: MIT */
/* Acquire, extend, query and release on healthy nodes, for every usual number of nodes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static redlock_client *open_nodes(unsigned count)
{
	return fixture_open(servers.urls, count, FIXTURE_NODE_TIMEOUT_MS);
}

/* The next test uses the same names over other connections: nothing may be under way then. */
static void close_settled(redlock_client **client)
{
	assert_int_equal(redlock_drain(*client, WAIT_SOON_MS), 0);
	redlock_close(*client);
}

#define own_settled __attribute__((cleanup(close_settled))) redlock_client

static void acquire_and_release(unsigned nodes)
{
	own_settled *client = open_nodes(nodes);
	own_lock *lock = fixture_lock(client, "basic", WAIT_LONG_TTL_MS, 0);
	assert_int_equal(redlock_node_count(client), nodes);
	assert_int_equal(redlock_quorum(client), nodes / 2 + 1);
	assert_int_equal(redlock_remaining_ms(lock), 0);

	uint64_t before_ns = wait_now_ns();
	expect_ok(lock, redlock_acquire(lock));
	uint64_t latest_ns = wait_now_ns() + WAIT_LONG_TTL_MS * 1000000ull;
	assert_in_range(redlock_deadline_ns(lock), before_ns, latest_ns);
	assert_in_range(redlock_remaining_ms(lock), 1, WAIT_LONG_TTL_MS);
	assert_true(fixture_votes_of_kind(lock, nodes, REDLOCK_KIND_YES) >= nodes / 2 + 1);

	/* The slower minority gets the key too, a little later. */
	struct fixture_token token = fixture_token(lock);
	assert_driven(client, servers_with_value(&servers, nodes, "basic", token.text) == nodes);
	on_servers(0, nodes, assert_in_range(server_pttl(it, "basic"), 1, WAIT_LONG_TTL_MS));

	expect_ok(lock, redlock_release(lock));
	assert_int_equal(redlock_remaining_ms(lock), 0);
	assert_int_equal(redlock_deadline_ns(lock), 0);
	assert_driven(client, servers_with_key(&servers, nodes, "basic") == 0);
}

/* For even N too, the drift is taken off: the validity ends before the first key can. */
static void validity_ends_before_the_keys(unsigned nodes)
{
	own_settled *client = open_nodes(nodes);
	own_lock *lock = fixture_lock(client, "drift", 100000, 0);
	uint64_t before_ns = wait_now_ns();
	expect_ok(lock, redlock_acquire(lock));
	/* One percent and 2 ms less than the TTL, counted from before the first byte; never from the answer. */
	uint64_t validity_ns = (100000 - 1000 - 2) * 1000000ull;
	uint64_t decided_ns = wait_now_ns();
	assert_in_range(redlock_deadline_ns(lock), before_ns + validity_ns, decided_ns + validity_ns);
	expect_ok(lock, redlock_release(lock));
}

static void exclusion_between_handles(unsigned nodes)
{
	own_settled *client = open_nodes(nodes);
	own_lock *first = fixture_lock(client, "pair", WAIT_LONG_TTL_MS, 0);
	own_lock *second = fixture_lock(client, "pair", WAIT_LONG_TTL_MS, 0);
	expect_ok(first, redlock_acquire(first));
	expect_result(second, REDLOCK_E_BUSY, redlock_acquire(second));
	assert_true(fixture_votes_of_kind(second, nodes, REDLOCK_KIND_NO) >= nodes - (nodes / 2 + 1) + 1);
	assert_int_equal(redlock_remaining_ms(second), 0);
	/* The refused one gave back nothing of the first one's. */
	assert_driven(client, servers_with_value(&servers, nodes, "pair", fixture_token(first).text) == nodes);
	expect_ok(first, redlock_release(first));
	expect_ok(second, redlock_acquire(second));
}

static void extend_and_query(unsigned nodes)
{
	own_settled *client = open_nodes(nodes);
	own_lock *lock = fixture_lock(client, "longer", 60000, 0);
	expect_result(lock, REDLOCK_E_GONE, redlock_query(lock)); /* nobody has it */
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_query(lock));
	struct redlock_finding finding = {.size = sizeof finding};
	expect_ok(lock, redlock_lock_finding(lock, 0, &finding));
	assert_true(finding.known);
	assert_string_equal(finding.type, "string");
	assert_in_range(finding.pttl_ms, 1, 60000);
	assert_int_equal(finding.value_len, 40);

	expect_ok(lock, redlock_extend(lock, 600000));
	assert_in_range(redlock_remaining_ms(lock), 300000, 600000);
	on_servers(0, nodes, assert_driven(client, server_pttl(it, "longer") > 300000));
	expect_ok(lock, redlock_release(lock));
	expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));
}

TEST(each_acquire_has_a_fresh_token)
{
	enum { ROUNDS = 20 };
	struct fixture_token tokens[ROUNDS];
	own_settled *client = open_nodes(3);
	own_lock *lock = fixture_lock(client, "again", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	assert_int_equal(fixture_token(lock).length, 0);
	for (int i = 0; i < ROUNDS; i++) {
		expect_ok(lock, redlock_acquire(lock));
		tokens[i] = fixture_token(lock);
		expect_ok(lock, redlock_release(lock));
		assert_int_equal(tokens[i].length, 40);
		assert_int_equal(strspn(tokens[i].text, "0123456789abcdef"), 40);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(tokens[i].text, tokens[j].text);
	}
	char small[40];
	size_t length = 7;
	expect_result(lock, REDLOCK_E_INVAL, redlock_lock_token(lock, small, sizeof small, &length));
	assert_int_equal(length, 7);
}

TEST(free_releases_and_leave_does_not)
{
	redlock_client *client = open_nodes(3);
	redlock_lock *freed = fixture_lock(client, "freed", WAIT_LONG_TTL_MS, 0);
	redlock_lock *left = fixture_lock(client, "left", WAIT_LONG_TTL_MS, 0);
	expect_ok(freed, redlock_acquire(freed));
	expect_ok(left, redlock_acquire(left));
	struct fixture_token token = fixture_token(left);
	redlock_lock_free(freed);
	redlock_lock_leave(left);
	expect_settled(client, 3, "freed");
	assert_int_equal(servers_with_value(&servers, 3, "left", token.text), 3);
	redlock_lock_free(NULL);
	redlock_lock_leave(NULL);
	close_settled(&client);
	redlock_close(NULL);
	assert_int_equal(servers_with_value(&servers, 3, "left", token.text), 3);
}

/* Their memory stays until they are freed, before or after the client is closed. */
TEST(release_all_releases_each_handle)
{
	redlock_client *client = open_nodes(3);
	own_settled *next = open_nodes(3);
	redlock_lock *first = fixture_lock(client, "first", WAIT_LONG_TTL_MS, 0);
	redlock_lock *second = fixture_lock(client, "second", WAIT_LONG_TTL_MS, 0);
	redlock_lock *waiter = fixture_lock(client, "first", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	struct redlock_event event = {.size = sizeof event};
	expect_ok(first, redlock_acquire(first));
	expect_ok(second, redlock_acquire(second));
	expect_ok(waiter, redlock_start_acquire(waiter));
	redlock_release_all(client);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(redlock_next(client, &event), 0);
	assert_int_equal(redlock_acquire(first), REDLOCK_E_STATE);
	assert_int_equal(redlock_remaining_ms(second), 0);
	own_lock *other = fixture_lock(next, "first", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(other, redlock_acquire(other));
	assert_driven(next, servers_with_key(&servers, 3, "second") == 0);
	redlock_lock_free(first);
	redlock_lock_free(waiter);
	own_lock *third = fixture_lock(client, "third", WAIT_LONG_TTL_MS, 0); /* the client goes on */
	expect_ok(third, redlock_acquire(third));
	redlock_release_all(client);
	close_settled(&client);
	redlock_lock_free(second);
}

/* LockTake, LockExtend, LockQuery and LockRelease: any client with the value is the holder. */
TEST(own_token)
{
	own_settled *client = open_nodes(3);
	own_settled *stranger = open_nodes(3);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.token = "bin\0ary|value \r\n";
	options.token_len = 16;
	own_lock *taker = fixture_lock_with(client, "taken", &options);
	own_lock *other = fixture_lock_with(stranger, "taken", &options);

	expect_result(other, REDLOCK_E_GONE, redlock_query(other));
	expect_result(other, REDLOCK_E_GONE, redlock_extend(other, 0));
	expect_result(other, REDLOCK_E_GONE, redlock_release(other));
	expect_ok(taker, redlock_acquire(taker));
	assert_memory_equal(fixture_token(taker).text, options.token, 16);
	expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other)); /* the same value is no second claim */
	expect_ok(other, redlock_query(other));
	assert_int_equal(redlock_remaining_ms(other), 0);
	expect_ok(other, redlock_extend(other, 2 * WAIT_LONG_TTL_MS));
	assert_true(redlock_remaining_ms(other) > WAIT_LONG_TTL_MS);
	expect_ok(other, redlock_release(other));
	expect_result(taker, REDLOCK_E_LOST, redlock_extend(taker, 0));
	expect_result(taker, REDLOCK_E_GONE, redlock_release(taker));
}

TEST(wrong_states_are_refused)
{
	struct redlock_vote vote = {.size = sizeof vote};
	struct redlock_node_status status = {.size = sizeof status};
	own_settled *client = open_nodes(3);
	own_lock *lock = fixture_lock(client, "state", WAIT_LONG_TTL_MS, 0);
	expect_result(NULL, REDLOCK_E_STATE, redlock_release(lock));
	expect_result(NULL, REDLOCK_E_STATE, redlock_extend(lock, 0));
	expect_ok(lock, redlock_cancel(lock));
	expect_ok(lock, redlock_acquire(lock));
	expect_result(lock, REDLOCK_E_STATE, redlock_acquire(lock));
	assert_true(redlock_remaining_ms(lock) > 0);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_lock_vote(lock, 3, &vote));
	expect_result(NULL, REDLOCK_E_INVAL, redlock_node_status(client, 3, &status));
	expect_ok(lock, redlock_release(lock));
	expect_result(NULL, REDLOCK_E_STATE, redlock_release(lock));
}

TEST(status_of_the_nodes)
{
	struct redlock_node_status status = {.size = sizeof status};
	own_settled *client = fixture_open(servers.tcp_urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "status", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct raw_reply reply;
		expect_ok(lock, redlock_query(lock) == REDLOCK_E_GONE ? 0 : 1);
		expect_ok(NULL, redlock_node_status(client, i, &status));
		assert_true(status.connected);
		assert_int_equal(status.owed + status.lingering, 0);
		server_ask(&servers.server[i], &reply, "INFO", "server", NULL);
		assert_int_equal(strlen(status.run_id), 40);
		assert_non_null(strstr(reply.text, status.run_id));
		assert_non_null(strstr(status.address, "127.0.0.1"));
	}
}

TEST(each_count_of_nodes)
{
	static const unsigned counts[] = {1, 3, 5, 7, 4};
	for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		acquire_and_release(counts[i]);
		validity_ends_before_the_keys(counts[i]);
		exclusion_between_handles(counts[i]);
		extend_and_query(counts[i]);
	}
}

/* A server in the minority may have such a key for long, also the one where waiters meet. */
TEST(a_key_that_nobody_holds_by_keeps_no_waiter)
{
	own_settled *client = open_nodes(3), *other = open_nodes(3);
	for (unsigned node = 0; node < 3; node++) {
		own_lock *holder = fixture_lock(client, "stale", WAIT_LONG_TTL_MS, 0);
		own_lock *waiter = fixture_lock(other, "stale", WAIT_LONG_TTL_MS, REDLOCK_FOREVER);
		server_must(&servers.server[node], "OK", "SET", "stale", "x", NULL);
		expect_ok(holder, redlock_acquire(holder));
		expect_ok(waiter, redlock_start_acquire(waiter));
		for (unsigned i = 0; i < 50; i++, wait_ms(2))
			expect_ok(waiter, redlock_process(other));
		expect_ok(holder, redlock_release(holder));
		assert_driven(other, redlock_remaining_ms(waiter) > 0);
		server_must(&servers.server[node], "1", "DEL", "stale", NULL);
	}
}

/* Each wait of one handle is the one that was set last, and only an acquire that runs keeps it from being
 * changed. */
TEST(a_handle_tries_and_then_waits)
{
	own_settled *client = open_nodes(3);
	own_lock *holder = fixture_held(client, "waits", WAIT_LONG_TTL_MS, 0);
	own_lock *lock = fixture_lock(client, "waits", WAIT_LONG_TTL_MS, 0);
	struct redlock_terms terms = {.size = sizeof terms};
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	expect_ok(lock, redlock_lock_set_wait(lock, REDLOCK_FOREVER));
	expect_ok(lock, redlock_lock_terms(lock, &terms));
	assert_true(terms.noquorum_wait_ms == REDLOCK_FOREVER);
	expect_ok(lock, redlock_start_acquire(lock));
	expect_result(lock, REDLOCK_E_STATE, redlock_lock_set_wait(lock, 0));
	expect_ok(holder, redlock_release(holder));
	assert_driven(client, redlock_remaining_ms(lock) > 0);
	expect_ok(lock, redlock_lock_set_wait(lock, 0)); /* a held lock stays held */
	assert_true(redlock_remaining_ms(lock) > 0);
	expect_result(holder, REDLOCK_E_BUSY, redlock_acquire(holder));
	struct redlock_event event = {.size = sizeof event};
	assert_int_equal(redlock_next(client, &event), 1);
	expect_ok(lock, redlock_release(lock));
}

/* A file with the first server and these lines. */
static const char *config_with(const char *lines)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/redlock.conf", servers.dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "url = %s\n%s\n", servers.urls[0], lines);
	fclose(file);
	return path;
}

TEST(a_client_of_the_configuration)
{
	char why[256] = "?";
	redlock_client *client = NULL;
	assert_int_equal(setenv("REDLOCK_CONFIG", config_with("ttl = 9s"), 1), 0);
	expect_result(NULL, REDLOCK_E_CONFIG, redlock_open_configured("none", why, sizeof why, &client));
	assert_null(client);
	assert_non_null(strstr(why, "none"));
	expect_ok(NULL, redlock_open_configured(NULL, why, sizeof why, &client));
	assert_string_equal(why, "");
	redlock_lock *lock = NULL;
	expect_ok(NULL, redlock_lock_new(client, "job", NULL, &lock));
	expect_ok(lock, redlock_acquire(lock));
	assert_in_range(redlock_remaining_ms(lock), 1, 9000);
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_close(client);
	expect_ok(NULL, redlock_open_configured(NULL, NULL, 0, &client));
	redlock_close(client);
	/* The sentence of redlock_open(), too. */
	assert_int_equal(setenv("REDLOCK_CONFIG", config_with("ttl = 1s\nrenew = 2s"), 1), 0);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open_configured(NULL, why, sizeof why, &client));
	assert_non_null(strstr(why, ":3: the default lock options: renew"));
	assert_int_equal(setenv("REDLOCK_CONFIG", config_with("\nquorum = 9"), 1), 0);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open_configured(NULL, why, sizeof why, &client));
	assert_non_null(strstr(why, ":3: a quorum of 9"));
	assert_int_equal(unsetenv("REDLOCK_CONFIG"), 0);
}

/* All options as text; without `url` the configuration has the nodes, and the words count more than it. */
TEST(a_client_and_a_handle_of_words)
{
	char why[256] = "?", words[256];
	const struct redlock_name job = {"job", 3};
	redlock_client *client = NULL;
	redlock_lock *lock = NULL;
	int size = snprintf(words, sizeof words, "url%c%s%cttl%c9s%c", 0, servers.urls[0], 0, 0, 0);
	assert_in_range(size, 1, sizeof words - 1);
	assert_int_equal(setenv("REDLOCK_CONFIG", "/nonexistent", 1), 0);
	expect_ok(NULL, redlock_open_words(words, NULL, NULL, why, sizeof why, &client));
	assert_string_equal(why, "");
	expect_ok(NULL, redlock_lock_new_words(client, &job, 1, NULL, NULL, 0, why, &lock));
	assert_ptr_equal(redlock_lock_user(lock), why);
	expect_ok(lock, redlock_acquire(lock));
	assert_in_range(redlock_remaining_ms(lock), 1, 9000);
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	expect_ok(NULL, redlock_lock_new_words(client, &job, 1,
	                                       "ttl\0"
	                                       "5s\0",
	                                       "a\0b", 3, NULL, &lock));
	expect_ok(lock, redlock_acquire(lock));
	assert_in_range(redlock_remaining_ms(lock), 1, 5000);
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t len = 0;
	expect_ok(lock, redlock_lock_token(lock, token, sizeof token, &len));
	assert_int_equal(len, 3);
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	lock = NULL;
	expect_result(NULL, REDLOCK_E_INVAL,
	              redlock_lock_new_words(client, &job, 1, "ttl\0soon\0", NULL, 0, NULL, &lock));
	redlock_client_last_error(client, why, sizeof why);
	assert_memory_equal(why, "ttl: ", 5);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_lock_new_words(client, &job, 1, NULL, "", 0, NULL, &lock));
	assert_null(lock);
	redlock_close(client);

	expect_result(NULL, REDLOCK_E_CONFIG, redlock_open_words("", "", "", why, sizeof why, &client));
	expect_ok(NULL, redlock_open_words("ttl\0"
	                                   "5s\0",
	                                   "", config_with("ttl = 9s"), why, sizeof why, &client));
	expect_ok(NULL, redlock_lock_new_words(client, &job, 1, "", NULL, 0, NULL, &lock));
	expect_ok(lock, redlock_acquire(lock));
	assert_in_range(redlock_remaining_ms(lock), 1, 5000);
	redlock_lock_free(lock);
	redlock_close(client);
	expect_result(NULL, REDLOCK_E_INVAL,
	              redlock_open_words("tll\0"
	                                 "5s\0",
	                                 NULL, config_with(""), why, sizeof why, &client));
	assert_non_null(strstr(why, "tll"));
	/* The file is named for a value of the file alone. */
	const char *file = config_with("ttl = 9s\nrenew = 20s");
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open_words("", "", file, why, sizeof why, &client));
	assert_non_null(strstr(why, "redlock.conf:3: "));
	file = config_with("ttl = 9s\nrenew = 1s");
	expect_result(NULL, REDLOCK_E_INVAL,
	              redlock_open_words("renew\0"
	                                 "20s\0",
	                                 "", file, why, sizeof why, &client));
	assert_non_null(strstr(why, "renew"));
	assert_null(strstr(why, "redlock.conf"));
	file = config_with("url = rediss://127.0.0.1:1\ncacert = /nowhere");
	expect_result(NULL, REDLOCK_E_TLS, redlock_open_words("", "", file, why, sizeof why, &client));
	assert_non_null(strstr(why, "redlock.conf:3: /nowhere: No such file"));
	assert_int_equal(unsetenv("REDLOCK_CONFIG"), 0);
}

/* Without drift and guard they would be accepted, and unsafe. */
TEST(options_that_nobody_has_initialised)
{
	char why[128] = "";
	redlock_client *client = NULL;
	struct redlock_options options = {.size = sizeof options, .urls = servers.urls, .url_count = 1};
	redlock_options_set_error_text(&options, why, sizeof why);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open(&options, &client));
	assert_non_null(strstr(why, "redlock_options_init()"));
}

/* As a program of a newer header may give them. */
TEST(options_that_are_unknown)
{
	char why[128] = "";
	redlock_client *client = NULL;
	struct {
		struct redlock_options options;
		uint64_t later;
	} newer = {.later = 1};
	redlock_options_init(&newer.options);
	newer.options.size = sizeof newer;
	newer.options.urls = servers.urls;
	newer.options.url_count = 1;
	newer.options.error_text = why;
	newer.options.error_text_size = sizeof why;
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open(&newer.options, &client));
	assert_non_null(strstr(why, "an option that this library does not know"));
	newer.later = 0;
	expect_ok(NULL, redlock_open(&newer.options, &client));
	redlock_close(client);
}

SERVER_TESTS(7)
