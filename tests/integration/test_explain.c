/* SPDX-License-Identifier: MIT */
/* The sentences of redlock_last_error(), with real servers that are held, killed or paused. */
#include <errno.h>
#include <stdio.h>

#include "fixture.h"

enum { NODES = 3 };

/* A text that is longer than `size` is cut off as by snprintf(3), and the length is that of all. */
static void expect_sentence(const redlock_lock *lock, const char *want)
{
	char text[1024], start[10];
	size_t length = strlen(want);
	int got = redlock_last_error(lock, text, sizeof text);
	assert_string_equal(text, want);
	assert_int_equal(got, length);
	assert_int_equal(redlock_last_error(lock, NULL, 0), length);
	assert_int_equal(redlock_last_error(lock, start, sizeof start), length);
	assert_int_equal(strlen(start), length < sizeof start ? length : sizeof start - 1);
	assert_memory_equal(start, want, strlen(start));
}

TEST(call_that_fails_at_once)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "state", WAIT_LONG_TTL_MS, 0);
	expect_sentence(lock, "success");
	expect_result(lock, REDLOCK_E_STATE, redlock_extend(lock, 0));
	expect_sentence(lock, redlock_strerror(REDLOCK_E_STATE));
	expect_result(lock, REDLOCK_E_INVAL, redlock_extend(lock, 1));
	expect_sentence(lock, "an extend is for 10 ms to 30 days, and longer than node timeout + drift "
	                      "(node timeout 20000 ms)");
	expect_ok(lock, redlock_acquire(lock));
	expect_sentence(lock, "success");
	expect_result(lock, REDLOCK_E_STATE, redlock_start_acquire(lock));
	expect_sentence(lock, redlock_strerror(REDLOCK_E_STATE));
}

/* Labels are shown, with what could control a terminal escaped; tokens and values are not. */
TEST(busy_names_the_holder)
{
#define DIGITS "0123456789abcdef0123456789abcdef01234567"
	static const struct {
		const char *value[NODES];
		const char *want;
	} rows[] = {
	    {{DIGITS "|web-1:1234", DIGITS "|web-1:1234"}, "busy: held by web-1:1234 on 2 of 3 nodes"},
	    {{DIGITS "|a\033[2J\\\n%s", DIGITS "|a\033[2J\\\n%s"},
	     "busy: held by a\\x1b[2J\\x5c\\x0a%s on 2 of 3 nodes"},
	    {{DIGITS, DIGITS}, "busy: held by a client without an owner label on 2 of 3 nodes"},
	    {{"secret", "secret"}, "busy: held by a client without an owner label on 2 of 3 nodes"},
	};
#undef DIGITS
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	char name[] = "busy-0";
	for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++, name[5]++) {
		own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
		for (unsigned i = 0; i < NODES && rows[row].value[i] != NULL; i++)
			server_must(&servers.server[i], "OK", "SET", name, rows[row].value[i], NULL);
		expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
		expect_sentence(lock, rows[row].want);
	}
}

/* The holder is another client; its label comes with the refusals of the wait. */
TEST(busy_after_a_wait)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	struct redlock_options o = fixture_client(servers.urls, NODES);
	o.owner = "web-2:7";
	own_client *other = fixture_open_with(&o);
	own_lock *held = fixture_held(other, "waited-for", WAIT_LONG_TTL_MS, 0);
	own_lock *lock = fixture_lock(client, "waited-for", WAIT_LONG_TTL_MS, 300);
	char text[256];
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	assert_in_range(redlock_last_error(lock, text, sizeof text), 1, sizeof text - 1);
	assert_memory_equal(text, "busy: held by web-2:7, as node ", 31);
	expect_ok(held, redlock_release(held));
	expect_ok(lock, redlock_acquire(lock));
	expect_sentence(lock, "success");
}

/* The servers are paused for so long that their connections may end before the node timeout does. */
TEST(no_quorum_groups_the_causes)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "missing", WAIT_LONG_TTL_MS, 0);
	char text[1024], want[1024];
	expect_ok(lock, redlock_probe(lock));
	on_servers(1, NODES, server_pause(it));
	server_kill(&servers.server[0]);
	assert_driven(client, !fixture_status(client, 0).connected);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_probe(lock));
	assert_in_range(redlock_last_error(lock, text, sizeof text), 1, sizeof text - 1);
	int length = snprintf(want, sizeof want,
	                      "no quorum: 0 of 3 nodes voted yes, 2 are needed; node 1 %s: not reachable: ",
	                      fixture_status(client, 0).address);
	text[length] = '\0';
	assert_string_equal(text, want);
	redlock_last_error(lock, text, sizeof text);
	assert_non_null(strstr(text, "; nodes 2, 3: "));
	servers_heal(&servers);
	assert_driven(client, fixture_status(client, 0).connected);
	expect_ok(lock, redlock_acquire(lock)); /* the outage is over: the next one has its own cause */
	expect_ok(lock, redlock_release(lock));
	on_servers(0, NODES, server_pause(it));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	redlock_last_error(lock, text, sizeof text);
	assert_null(strstr(text, strerror(ECONNREFUSED)));
	servers_heal(&servers);
}

SERVER_TESTS(NODES)
