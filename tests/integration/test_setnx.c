/* SPDX-License-Identifier: MIT */
/* With clients of the old SETNX protocol on real servers; what they do is done here step by step.
 * (As programs: tests/cli/setnx.bats.) */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fixture.h"
#include "scripts.h"

enum { NODES = 3, TTL_MS = 30000 };

static const char side[] = "{job}:redlock:setnx";
static redlock_client *client;

static redlock_lock *new_lock(int compat, uint64_t wait_ms)
{
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.compat = compat;
	options.wait_ms = wait_ms;
	return fixture_lock_with(client, "job", &options);
}

/* So many seconds from now, as a value. */
struct value {
	char text[32];
};

/* time() may lag a tick, which the clock that the library reads does not. */
static long now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

static struct value in_seconds(long seconds)
{
	struct value value;
	snprintf(value.text, sizeof value.text, "%ld", now_s() + seconds);
	return value;
}

static long number_at(unsigned node)
{
	struct raw_reply reply;
	return strtol(server_ask(&servers.server[node], &reply, "GET", "job", NULL), NULL, 10);
}

static void set_all(const char *value)
{
	struct raw_reply reply;
	on_servers(0, NODES, {
		server_must(it, "OK", "SET", "job", value, NULL);
		server_ask(it, &reply, "DEL", side, NULL);
	});
}

static void expect_gone(void)
{
	expect_settled(client, NODES, "job");
	assert_int_equal(servers_with_key(&servers, NODES, side), 0);
}

/* ---- what others see, and what we make of theirs ---- */

TEST(the_value_is_the_time_that_it_ends)
{
	struct raw_reply reply;
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
	own_lock *other = new_lock(REDLOCK_COMPAT_SETNX, 0);
	own_lock *plain = new_lock(REDLOCK_COMPAT_OFF, 0);
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, side) == NODES);
	for (unsigned i = 0; i < NODES; i++) {
		assert_in_range(number_at(i), now_s() + 30, now_s() + 31);
		assert_in_range(server_pttl(&servers.server[i], "job"), TTL_MS - 5000, TTL_MS);
		assert_string_equal(server_ask(&servers.server[i], &reply, "SETNX", "job", in_seconds(31).text, NULL),
		                    "0");
	}
	expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
	expect_result(plain, REDLOCK_E_BUSY, redlock_acquire(plain));
	expect_ok(lock, redlock_query(lock));
	expect_result(other, REDLOCK_E_GONE, redlock_query(other));
	expect_ok(lock, redlock_extend(lock, 2 * (uint64_t)TTL_MS));
	assert_driven(client, number_at(0) >= now_s() + 60 && number_at(1) >= now_s() + 60 &&
	                          number_at(2) >= now_s() + 60);
	expect_ok(lock, redlock_release(lock));
	expect_gone();
	expect_ok(plain, redlock_acquire(plain));
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
}

TEST(locks_that_are_taken_over)
{
	static const struct {
		const char *value;
		long after; /* if there is no value */
		const char *ttl_ms;
		bool taken;
	} rows[] = {
	    {NULL, -2, NULL, true},
	    {NULL, 2, NULL, false},
	    {"1000000000.75", 0, NULL, true},
	    {"1", 0, NULL, true},
	    {"1", 0, "60000", false}, /* SET lock 1 NX EX 60 is another protocol */
	    {NULL, -2, "60000", false},
	    {"", 0, NULL, false},
	    {"12ab", 0, NULL, false},
	    {"-5", 0, NULL, false},
	    {"0x10", 0, NULL, false},
	    {"1e3", 0, NULL, false},
	    {" 12", 0, NULL, false},
	    {"12 ", 0, NULL, false},
	    {"1.5.2", 0, NULL, false},
	    {"1700000000000", 0, NULL, false}, /* milliseconds */
	    {"0123456789012345678901234567890123456789", 0, NULL, false},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct value made = in_seconds(rows[i].after);
		own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
		struct raw_reply reply;
		set_all(rows[i].value != NULL ? rows[i].value : made.text);
		if (rows[i].ttl_ms != NULL)
			on_servers(0, NODES, server_ask(it, &reply, "PEXPIRE", "job", rows[i].ttl_ms, NULL));
		int result = redlock_acquire(lock);
		if (result != (rows[i].taken ? 0 : REDLOCK_E_BUSY))
			fail_msg("row %u: %s", i, redlock_error_name(result));
		on_servers(0, NODES, server_ask(it, &reply, "DEL", "job", NULL));
		redlock_drain(client, WAIT_SOON_MS);
	}
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "RPUSH", "job", "x", NULL));
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
}

TEST(a_dead_holder_is_waited_for)
{
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 10000);
	set_all(in_seconds(1).text);
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	expect_gone();
}

/* ---- what others write over it ---- */

TEST(a_getset_that_lost)
{
	static const struct {
		long after; /* what it writes, from ours */
		unsigned late_ms;
		int result;
	} rows[] = {{0, 0, 0}, {1, 0, 0}, {-20, 0, 0}, {2, 0, REDLOCK_E_LOST}, {0, 1300, REDLOCK_E_LOST}};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
		set_all(in_seconds(-2).text);
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, servers_with_key(&servers, NODES, side) == NODES);
		for (unsigned n = 0; n < NODES; n++) {
			struct raw_reply reply;
			struct value theirs;
			snprintf(theirs.text, sizeof theirs.text, "%ld", number_at(n) + rows[i].after);
			long got =
			    strtol(server_ask(&servers.server[n], &reply, "GETSET", "job", theirs.text, NULL), NULL, 10);
			assert_true(got > now_s()); /* it has lost */
		}
		wait_ms(rows[i].late_ms);
		expect_result(lock, rows[i].result, redlock_extend(lock, 0));
		expect_result(lock, rows[i].result == 0 ? 0 : REDLOCK_E_GONE, redlock_release(lock));
		redlock_drain(client, WAIT_SOON_MS);
		assert_int_equal(servers_with_key(&servers, NODES, "job"), rows[i].result == 0 ? 0 : NODES);
		assert_int_equal(servers_with_key(&servers, NODES, side), 0);
	}
}

/* The first renewal comes soon enough. */
TEST(a_renewal_sets_the_time_right)
{
	struct raw_reply reply;
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.compat = REDLOCK_COMPAT_SETNX;
	options.renew_ms = 5000;
	own_client *kept = fixture_open(servers.urls, NODES, 2000);
	own_lock *lock = fixture_lock_with(kept, "job", &options);
	expect_ok(lock, redlock_keeper_start(kept));
	set_all(in_seconds(-2).text);
	expect_ok(lock, redlock_acquire(lock));
	assert_soon(servers_with_key(&servers, NODES, side) == NODES);
	on_servers(0, NODES, server_ask(it, &reply, "GETSET", "job", in_seconds(4).text, NULL));
	assert_soon(number_at(0) >= now_s() + 29 && number_at(1) >= now_s() + 29 && number_at(2) >= now_s() + 29);
	expect_ok(lock, redlock_release(lock));
}

/* An extend by hand to less than is left: the time has no expiry then, but what was promised stands. */
TEST(a_shorter_extend_takes_nothing_away)
{
	struct raw_reply reply;
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
	set_all(in_seconds(-2).text);
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, side) == NODES);
	on_servers(0, NODES, server_ask(it, &reply, "GETSET", "job", in_seconds(20).text, NULL));
	expect_ok(lock, redlock_extend(lock, TTL_MS - 8000));
	assert_driven(client, server_pttl(&servers.server[0], "job") > TTL_MS - 5000 &&
	                          server_pttl(&servers.server[1], "job") > TTL_MS - 5000 &&
	                          server_pttl(&servers.server[2], "job") > TTL_MS - 5000);
	assert_in_range(number_at(0), now_s() + 25, now_s() + 32);
	expect_ok(lock, redlock_release(lock));
	expect_gone();
}

/* Another one's key is not ours, though it has the same number. */
TEST(the_same_second_is_not_the_same_lock)
{
	struct raw_reply reply;
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
	own_lock *next = new_lock(REDLOCK_COMPAT_SETNX, 0);
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, side) == NODES);
	on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
	expect_ok(next, redlock_acquire(next));
	assert_driven(client, servers_with_key(&servers, NODES, "job") == NODES);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	expect_ok(next, redlock_extend(next, 0));
	expect_ok(next, redlock_release(next));
	expect_gone();
	/* Deleted by an operator and made anew by an old client, or by one of another kind, in the same second.
	 */
	for (int expires = 0; expires < 2; expires++) {
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, servers_with_key(&servers, NODES, side) == NODES);
		for (unsigned n = 0; n < NODES; n++) {
			struct value theirs;
			snprintf(theirs.text, sizeof theirs.text, "%ld", number_at(n) + (expires ? 6 : 3));
			server_must(&servers.server[n], "OK", "SET", "job", theirs.text, NULL);
			if (expires)
				server_ask(&servers.server[n], &reply, "PEXPIRE", "job", "50000", NULL);
		}
		expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
		assert_int_equal(servers_with_key(&servers, NODES, "job"), NODES);
		on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
	}
}

/* ---- over a majority ---- */

static bool evaluates_to_yes(unsigned node, const char *script, const char *token)
{
	struct raw_reply reply;
	server_ask(&servers.server[node], &reply, "EVAL", script, "2", "job", side, token, "30000", NULL);
	return reply.text[0] == '1';
}

/* Ours and an old client have both seen that the time is past. Each is first on some of the nodes, and who
 * has no majority gives back. Whether a third one has a majority beside the winner then. */
static bool a_third_one_gets_in(unsigned ours_first, const char *give_back)
{
	struct raw_reply reply;
	unsigned won = 0, theirs = 0, third = 0;
	set_all(in_seconds(-2).text);
	for (unsigned n = 0; n < NODES; n++) {
		bool first = (ours_first >> n & 1) != 0;
		won += first && evaluates_to_yes(n, rl_scripts[RL_SCRIPT_SETNX].text, "t1");
		long was = strtol(server_ask(&servers.server[n], &reply, "GETSET", "job", in_seconds(31).text, NULL),
		                  NULL, 10);
		theirs += was < now_s();
		won += !first && evaluates_to_yes(n, rl_scripts[RL_SCRIPT_SETNX].text, "t1");
	}
	assert_int_equal(won + theirs, NODES);
	for (unsigned n = 0; n < NODES; n++) {
		if (won <= NODES / 2)
			evaluates_to_yes(n, give_back, "t1");
		else if ((ours_first >> n & 1) == 0)
			server_ask(&servers.server[n], &reply, "DEL", "job", NULL); /* what the old client has won */
	}
	for (unsigned n = 0; n < NODES; n++)
		third += evaluates_to_yes(n, rl_scripts[RL_SCRIPT_SETNX].text, "t2");
	return third > NODES / 2;
}

TEST(a_failed_claim_gives_back_its_keys)
{
	static const char all[] = "redis.call('del', KEYS[1], KEYS[2]) return {1, ARGV[1]}";
	unsigned wrong = 0;
	for (unsigned ours_first = 0; ours_first < 1u << NODES; ours_first++) {
		assert_false(a_third_one_gets_in(ours_first, rl_scripts[RL_SCRIPT_SETNX_RELEASE].text));
		wrong += a_third_one_gets_in(ours_first, all);
	}
	assert_true(wrong > 0);
}

/* ---- what it needs, and what it does not go with ---- */

static redlock_lock *lock_of_worker(redlock_client **ret_worker)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.user = "worker";
	options.password = "pw";
	on_servers(
	    0, NODES,
	    server_must(it, "OK", "ACL", "SETUSER", "worker", "reset", "on", ">pw", "+@all", "~*", "&*", NULL));
	struct redlock_lock_options lock_options = fixture_options(TTL_MS);
	lock_options.compat = REDLOCK_COMPAT_SETNX;
	*ret_worker = fixture_open_with(&options);
	return fixture_lock_with(*ret_worker, "job", &lock_options);
}

static void permit_scripts(const char *word)
{
	on_servers(0, NODES, server_must(it, "OK", "ACL", "SETUSER", "worker", word, NULL));
}

/* The refusal of the one form that there is is the vote: it is not asked again until there is none. */
TEST(rights_that_are_taken_away_are_told_at_once)
{
	own_client *worker;
	own_lock *lock = lock_of_worker(&worker);
	expect_ok(lock, redlock_acquire(lock));
	permit_scripts("-@scripting");
	for (int i = 0; i < 2; i++) {
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_extend(lock, 0));
		unsigned refused = 0; /* the last node to answer may be left out */
		for (unsigned n = 0; n < NODES; n++)
			refused += fixture_vote(lock, n) == REDLOCK_VOTE_NOPERM;
		assert_true(refused >= NODES / 2 + 1);
	}
	permit_scripts("+@scripting");
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
}

TEST(needs_scripts)
{
	own_client *worker;
	own_lock *lock = lock_of_worker(&worker);
	permit_scripts("-@scripting");
	assert_soon(redlock_acquire(lock) == REDLOCK_E_NOQUORUM && fixture_vote(lock, 0) == REDLOCK_VOTE_NOPERM);
}

TEST(options_that_exclude_it)
{
	static const struct {
		int compat, fence, guard;
		const char *token;
		int result;
	} rows[] = {
	    {REDLOCK_COMPAT_SETNX, 0, REDLOCK_GUARD_OFF, "mine", 0},
	    {REDLOCK_COMPAT_SETNX_SAFE, 0, REDLOCK_GUARD_AUTO, NULL, 0},
	    {REDLOCK_COMPAT_SETNX_SAFE, 0, REDLOCK_GUARD_OFF, "mine", REDLOCK_E_INVAL},
	    {REDLOCK_COMPAT_SETNX, 0, REDLOCK_GUARD_AUTO, NULL, 0}, /* a guarded set refuses it */
	    {REDLOCK_COMPAT_SETNX, 0, REDLOCK_GUARD_REQUIRE, NULL, REDLOCK_E_INVAL},
	    {REDLOCK_COMPAT_SETNX, 1, REDLOCK_GUARD_AUTO, NULL, REDLOCK_E_INVAL},
	    {REDLOCK_COMPAT_SETNX_SAFE, 1, REDLOCK_GUARD_AUTO, NULL, REDLOCK_E_INVAL},
	    {3, 0, REDLOCK_GUARD_OFF, NULL, REDLOCK_E_INVAL},
	    {-1, 0, REDLOCK_GUARD_OFF, NULL, REDLOCK_E_INVAL},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		redlock_lock *lock = NULL;
		struct redlock_options options = fixture_client(servers.urls, NODES);
		options.guard = rows[i].guard;
		own_client *c = fixture_open_with(&options);
		struct redlock_lock_options o = fixture_options(TTL_MS);
		o.compat = rows[i].compat;
		o.fence = rows[i].fence;
		o.token = rows[i].token;
		o.token_len = rows[i].token != NULL ? strlen(rows[i].token) : 0;
		int result = redlock_lock_new(c, "job", &o, &lock);
		if (result != rows[i].result)
			fail_msg("row %u: %s", i, redlock_error_name(result));
		redlock_lock_free(lock);
	}
}

/* Another process extends and releases by the token that it was told. */
TEST(a_token_suffices)
{
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX, 0);
	expect_ok(lock, redlock_acquire(lock));
	struct fixture_token token = fixture_token(lock);
	struct redlock_lock_options options = fixture_options(TTL_MS);
	options.compat = REDLOCK_COMPAT_SETNX;
	options.token = token.text;
	options.token_len = token.length;
	own_client *other = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *same = fixture_lock_with(other, "job", &options);
	assert_driven(client, servers_with_key(&servers, NODES, side) == NODES);
	expect_ok(same, redlock_query(same));
	expect_ok(same, redlock_extend(same, 0));
	expect_ok(same, redlock_release(same));
	expect_result(same, REDLOCK_E_GONE, redlock_release(same));
	expect_ok(same, redlock_acquire(same));
	expect_ok(same, redlock_release(same));
	redlock_drain(other, WAIT_SOON_MS);
	expect_gone();
}

/* ---- tokens that read as the far future ---- */

/* Without the owner: who reads all of it finds no number then. */
TEST(a_safe_token)
{
	struct redlock_options named = fixture_client(servers.urls, NODES);
	named.owner = "web-1:42";
	redlock_close(client);
	client = fixture_open_with(&named);
	own_lock *lock = new_lock(REDLOCK_COMPAT_SETNX_SAFE, 0);
	expect_ok(lock, redlock_acquire(lock));
	struct fixture_token token = fixture_token(lock);
	char *end;
	assert_int_equal(token.length, 40);
	assert_int_equal(strspn(token.text, "0123456789."), 40);
	assert_true(strtoll(token.text, &end, 10) == 0x7fffffff7fffffff && *end == '.');
	assert_true((int32_t)strtoll(token.text, NULL, 10) == INT32_MAX);
	assert_true(strtod(token.text, &end) > 9.2e18 && *end == '\0');
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	expect_settled(client, NODES, "job");
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
