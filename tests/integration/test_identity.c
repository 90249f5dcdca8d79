/* SPDX-License-Identifier: MIT */
/* One server counted twice would be one machine with two votes; and users who may do less than everything. */
#include <stdio.h>

#include "fixture.h"
#include "proxy.h"

static void expect_duplicate_at_open(const char *first, const char *second)
{
	const char *urls[] = {first, servers.urls[2], second};
	char text[256] = "";
	struct redlock_options options = fixture_client(urls, 3);
	options.error_text = text;
	options.error_text_size = sizeof text;
	fixture_expect_open(&options, REDLOCK_E_DUPLICATE);
	assert_true(text[0] != '\0');
}

TEST(same_url_twice)
{
	char slash[128];
	char zero[128];
	char password[128];
	snprintf(slash, sizeof slash, "redis://127.0.0.1:%d/", servers.server[0].port);
	snprintf(zero, sizeof zero, "valkey://127.0.0.1:%d/0", servers.server[0].port);
	snprintf(password, sizeof password, "redis://me:pw@127.0.0.1:%d", servers.server[0].port);
	expect_duplicate_at_open(servers.tcp_urls[0], servers.tcp_urls[0]);
	expect_duplicate_at_open(servers.tcp_urls[0], slash);
	expect_duplicate_at_open(servers.tcp_urls[0], zero);
	expect_duplicate_at_open(servers.tcp_urls[0], password);
	expect_duplicate_at_open(servers.urls[0], servers.urls[0]);
	expect_duplicate_at_open("redis://host:6379", "redis://HOST");
}

/* Two names of one server have one vote between them, in every operation. */
static void assert_one_vote(redlock_client *client, const redlock_lock *lock)
{
	assert_driven(client, fixture_votes_of_kind(lock, 3, REDLOCK_KIND_PENDING) == 0);
	assert_int_equal(fixture_votes_of_kind(lock, 3, REDLOCK_KIND_YES), 2);
	assert_vote(lock, 2, REDLOCK_VOTE_YES);
	assert_true((fixture_vote(lock, 0) == REDLOCK_VOTE_DUPLICATE) !=
	            (fixture_vote(lock, 1) == REDLOCK_VOTE_DUPLICATE));
}

/* With three nodes, two servers are a quorum; with two nodes, one server is not; and no key is left. */
static void expect_one_vote(const char *first, const char *second, const char *third)
{
	const char *urls[] = {first, second, third};
	own_client *three = fixture_open(urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(three, "twice", WAIT_LONG_TTL_MS, 0);
	for (unsigned i = 0; i < 2; i++) {
		expect_ok(lock, redlock_acquire(lock));
		assert_one_vote(three, lock);
		expect_ok(lock, redlock_extend(lock, 0));
		assert_one_vote(three, lock);
		expect_ok(lock, redlock_release(lock));
	}
	own_client *two = fixture_open(urls, 2, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *refused = fixture_lock(two, "twice too", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_result(refused, REDLOCK_E_DUPLICATE, redlock_acquire(refused));
	assert_int_equal(redlock_drain(three, WAIT_SOON_MS) + redlock_drain(two, WAIT_SOON_MS), 0);
	struct raw_reply reply;
	on_servers(0, 3, assert_null(strstr(server_ask(it, &reply, "INFO", "keyspace", NULL), "keys=")));
}

/* The outcome does not depend on which of the three answers late, and whether its request or its reply does.
 */
TEST(one_server_twice_and_a_slow_node)
{
	enum { TIMES = 7, SLOW_MS = 15 };
	own_proxy first, second, third;
	proxy_start(&first, servers.server[0].socket);
	proxy_start(&second, servers.server[0].socket);
	proxy_start(&third, servers.server[2].socket);
	struct proxy *slow[] = {&first, &second, &third};
	for (unsigned i = 0; i < 2 * TIMES * 3; i++) {
		struct proxy *p = slow[i / 2 % 3];
		atomic_uint *fault = i % 2 == 0 ? &p->faults->delay_up_ms : &p->faults->delay_down_ms;
		proxy_set(p, fault, SLOW_MS);
		expect_one_vote(first.url, second.url, third.url);
		proxy_set(p, fault, 0);
	}
}

TEST(same_server_by_two_addresses)
{
	expect_one_vote(servers.urls[0], servers.tcp_urls[0], servers.urls[2]);
	expect_one_vote(servers.tcp_urls[0], servers.urls[0], servers.urls[2]);
}

/* Where the other server hangs, two names of one server extend nothing. */
TEST(same_server_without_the_other)
{
	const char *urls[] = {servers.urls[0], servers.tcp_urls[0], servers.urls[2]};
	own_client *client = fixture_open(urls, 3, 500);
	own_lock *lock = fixture_held(client, "alone", WAIT_LONG_TTL_MS, 0);
	server_pause(&servers.server[2]);
	for (unsigned i = 0; i < 3; i++)
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_extend(lock, 0));
	server_resume(&servers.server[2]);
	expect_ok(lock, redlock_extend(lock, 0));
}

TEST(two_databases_of_one_server)
{
	char other[64];
	snprintf(other, sizeof other, "%s/1", servers.tcp_urls[0]);
	expect_duplicate_at_open(servers.tcp_urls[0], other);
	snprintf(other, sizeof other, "%s?db=1", servers.urls[0]);
	expect_one_vote(servers.tcp_urls[0], other, servers.urls[2]);
}

/* A server that is restarted has a new identity, and that alone is no reason to refuse it. */
TEST(restarted_server_is_no_duplicate)
{
	own_client *client = fixture_open(servers.urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "restart", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (unsigned i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		server_restart(&servers.server[i]);
		redlock_release(lock);
		expect_pair(lock);
	}
}

/* ---- users who may do less ---- */

static redlock_client *open_as(const char *forbidden)
{
	char url[128];
	const char *urls[] = {url, servers.urls[2]};
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "&*",
	            "+@all", forbidden, NULL);
	snprintf(url, sizeof url, "redis://limited:pw@127.0.0.1:%d", servers.server[0].port);
	return fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
}

static void expect_full_service(redlock_client *client)
{
	redlock_lock *lock = fixture_lock(client, "limited", WAIT_LONG_TTL_MS, 0);
	for (int i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		assert_false(server_has(&servers.server[0], "limited"));
	}
	redlock_lock_free(lock);
	redlock_close(client);
}

/* The identity is unknown then, and the node votes all the same. */
TEST(info_forbidden)
{
	struct redlock_node_status status = {.size = sizeof status};
	redlock_client *client = open_as("-info");
	redlock_lock *lock = fixture_lock(client, "limited", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	expect_ok(NULL, redlock_node_status(client, 0, &status));
	assert_true(status.connected);
	assert_string_equal(status.run_id, "");
	redlock_lock_free(lock);
	expect_full_service(client);
}

/* One server with three names has one vote, as soon as an answer proves it: under two of them it refused the
 * token, and has it all the same. */
TEST(info_forbidden_under_three_names)
{
	own_proxy proxy;
	char unix_url[160], tcp_url[96], proxy_url[96];
	proxy_start(&proxy, servers.server[0].socket);
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "&*",
	            "+@all", "-info", NULL);
	snprintf(unix_url, sizeof unix_url, "unix://limited:pw@%s", servers.server[0].socket);
	snprintf(tcp_url, sizeof tcp_url, "redis://limited:pw@127.0.0.1:%d", servers.server[0].port);
	snprintf(proxy_url, sizeof proxy_url, "redis://limited:pw@127.0.0.1:%d", proxy.port);
	const char *urls[] = {unix_url, tcp_url, proxy_url, servers.urls[1], servers.urls[2]};
	own_client *client = fixture_open(urls, 5, 1000);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	redlock_lock *lock = fixture_lock_with(client, "thrice", &options);
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, fixture_votes_of_kind(lock, 5, REDLOCK_KIND_NO) == 2);
	expect_ok(lock, redlock_extend(lock, 0));
	assert_driven(client, fixture_votes_of_kind(lock, 5, REDLOCK_KIND_PENDING) == 0);
	assert_int_equal(fixture_votes_of_kind(lock, 5, REDLOCK_KIND_YES), 3);
	unsigned duplicates = 0;
	for (unsigned i = 0; i < 5; i++)
		duplicates += fixture_vote(lock, i) == REDLOCK_VOTE_DUPLICATE;
	assert_int_equal(duplicates, 2);
	/* Without the other two there is no quorum: three names are no three servers. */
	server_must(&servers.server[1], "1", "DEL", "thrice", NULL);
	server_must(&servers.server[2], "1", "DEL", "thrice", NULL);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_extend(lock, 0));
	redlock_release(lock);
	for (unsigned i = 0; i < 20;
	     i++) { /* the name that has the vote keeps it: the others do not ask for the key */
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, fixture_votes_of_kind(lock, 5, REDLOCK_KIND_PENDING) == 0);
		assert_int_equal(fixture_votes_of_kind(lock, 5, REDLOCK_KIND_YES), 3);
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
	}
	server_pause(&servers.server[1]);
	server_pause(&servers.server[2]);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	server_resume(&servers.server[1]);
	server_resume(&servers.server[2]);
	redlock_lock_free(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
}

/* A refusal alone proves nothing: the key of somebody else may go, and ours comes with the next token. */
TEST(refusal_is_no_proof)
{
	struct redlock_vote vote = {.size = sizeof vote};
	char url[160];
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "&*",
	            "+@all", "-info", NULL);
	snprintf(url, sizeof url, "unix://limited:pw@%s", servers.server[0].socket);
	const char *urls[] = {url, servers.urls[1], servers.urls[2]};
	own_client *client = fixture_open(urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "once", WAIT_LONG_TTL_MS, 0);
	for (unsigned i = 0; i < 3; i++) {
		server_must(&servers.server[i], "OK", "SET", "once", "x", NULL);
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, redlock_lock_vote(lock, i, &vote) == 0 && vote.code == REDLOCK_VOTE_NO);
		server_must(&servers.server[i], "1", "DEL", "once", NULL);
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	}
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_extend(lock, 0));
	assert_driven(client, fixture_votes_of_kind(lock, 3, REDLOCK_KIND_YES) == 3);
}

TEST(client_forbidden)
{
	expect_full_service(open_as("-client"));
}

/* Neither scripts nor what replaces them: the reason says what to permit. */
TEST(scripts_and_watch_forbidden)
{
	redlock_client *client = open_as("-@scripting");
	/* WATCH, and what newer servers have instead: DELEX, DELIFEQ. */
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "limited", "-@fast", "+multi", NULL);
	redlock_lock *lock = fixture_held(client, "scriptless", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_extend(lock, 0));
	assert_vote(lock, 0, REDLOCK_VOTE_NOPERM);
	assert_true(redlock_remaining_ms(lock) > 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_release(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_NOPERM);
	assert_true(server_has(&servers.server[0], "scriptless"));
	/* The key cannot be given back, and the client says so: to owe it for ever would be as wrong as to call
	 * it settled. */
	struct redlock_node_status status = {.size = sizeof status};
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	expect_ok(NULL, redlock_node_status(client, 0, &status));
	assert_true(status.lingering > 0);
	assert_non_null(strstr(status.last_error, "'watch'"));
	assert_non_null(strstr(status.last_error, "permit +eval +evalsha or +watch +multi +exec +getrange"));
	/* Once that is permitted, it works on the same connection. */
	server_must(&servers.server[0], "1", "DEL", "scriptless", NULL);
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "limited", "+@fast", NULL);
	redlock_lock_free(lock);
	expect_full_service(client);
}

SERVER_TESTS(3)
