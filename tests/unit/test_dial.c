/* SPDX-License-Identifier: MIT */
/*
 * How a node is dialled: which addresses are tried when, and when its name is looked up. Sockets, poller and
 * lookups are the test's. Each call of dial.c is one line: "look up", "try a", "drop a"; an address is a
 * letter. Each result is one line too: "> nothing".
 */
#include "net/dial.h"

#include <errno.h>

#include "core/time.h"
#include "dial_world.h"

/* ---- what the tests do ---- */

static void begin_test(const char *url)
{
	char why[128];
	fake_process = &process;
	fake_world = &world;
	process = (struct fake_process){0};
	result.why[0] = '\0';
	memset(connect_errors, 0, sizeof connect_errors);
	memset(connected_errors, 0, sizeof connected_errors);
	watch_error = lookup_error = 0;
	log_text[0] = '\0';
	now_ns = rl_time_ms(100000);
	rl_url_free(&endpoint);
	assert_int_equal(rl_url_parse(url, &endpoint, why, sizeof why), 0);
	rl_dial_open(&dial, &endpoint, &poller, NODE);
}

static void named(void)
{
	begin_test("redis://name.example:6380");
}

static void told(enum rl_dial_news news)
{
	static const char *const texts[] = {"nothing", "connected", "failed", "found", "moved"};
	say("> %s\n", texts[news]);
	uint32_t id;
	if (news == RL_DIAL_CONNECTED)
		say("%c\n", (int)process.fds[rl_dial_take(&dial, &id) - FAKE_FIRST_FD].conn);
	if (news == RL_DIAL_FAILED) /* as a node does */
		rl_dial_end(&dial);
}

static void begin(void)
{
	told(rl_dial_begin(&dial, now_ns));
}

static void lookup_says(const char *letters)
{
	result = (struct rl_lookup_result){.addresses.count = (unsigned)strlen(letters)};
	for (unsigned i = 0; letters[i] != '\0'; i++)
		result.addresses.list[i] = (struct rl_address){.length = 1, .bytes = {(unsigned char)letters[i]}};
	told(rl_dial_ready(&dial, *lookup_id, RL_READABLE, now_ns));
}

static void lookup_fails(const char *why, bool certain)
{
	result = (struct rl_lookup_result){.certain = certain};
	snprintf(result.why, sizeof result.why, "%s", why);
	told(rl_dial_ready(&dial, *lookup_id, RL_READABLE, now_ns));
}

/* The name has these addresses: the race for it begins. */
static void race(const char *letters)
{
	named();
	begin();
	lookup_says(letters);
}

static void again(unsigned ms)
{
	rl_dial_end(&dial);
	now_ns += rl_time_ms(ms);
	begin();
}

static void doubt_later(void)
{
	now_ns += rl_time_ms(1000);
	rl_dial_doubt(&dial, now_ns);
}

static void ready(char letter, int error)
{
	const struct fake_fd *fd = watched(letter);
	assert_int_equal(fd->events, RL_READABLE | RL_WRITABLE);
	assert_int_equal(RL_WATCH_NODE(fd->id), NODE);
	connected_errors[(unsigned char)letter] = error;
	told(rl_dial_ready(&dial, fd->id, RL_READABLE | RL_WRITABLE, now_ns));
}

static void pass(unsigned ms)
{
	now_ns += rl_time_ms(ms);
	told(rl_dial_tick(&dial, now_ns));
}

static void expect(const char *want)
{
	assert_string_equal(log_text, want);
	log_text[0] = '\0';
}

/* A connection to the first of these addresses. */
static void connect_to(const char *letters)
{
	named();
	begin();
	lookup_says(letters);
	ready(letters[0], 0);
	log_text[0] = '\0';
}

/* ---- the race ---- */

TEST(one_address)
{
	named();
	begin();
	expect("look up\n> nothing\n");
	assert_true(rl_dial_deadline(&dial) == UINT64_MAX);
	lookup_says("a");
	expect("try a\n> nothing\n");
	assert_true(rl_dial_deadline(&dial) == UINT64_MAX);
	ready('a', 0);
	expect("> connected\na\n");
}

TEST(refused_goes_on_at_once)
{
	race("abc");
	ready('a', ECONNREFUSED);
	ready('b', ECONNREFUSED);
	ready('c', 0);
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\ntry b\n> nothing\ndrop b\ntry c\n> nothing\n"
	       "> connected\nc\n");
}

TEST(silent_goes_on_soon)
{
	race("abc");
	expect("look up\n> nothing\ntry a\n> nothing\n");
	pass(249);
	expect("> nothing\n");
	assert_true(rl_dial_deadline(&dial) == now_ns + rl_time_ms(1));
	pass(1);
	expect("try b\n> nothing\n");
	ready('b', 0);
	expect("drop a\n> connected\nb\n");
	assert_true(rl_dial_deadline(&dial) == UINT64_MAX);
}

TEST(late_winner)
{
	race("abc");
	pass(250);
	pass(250);
	pass(10000);
	expect("look up\n> nothing\ntry a\n> nothing\ntry b\n> nothing\ntry c\n> nothing\n> nothing\n");
	ready('b', ECONNREFUSED);
	ready('a', 0);
	expect("drop b\n> nothing\ndrop c\n> connected\na\n");
}

TEST(all_fail)
{
	named();
	connect_errors['b'] = ENETUNREACH;
	begin();
	lookup_says("ab");
	pass(250);
	ready('a', ECONNREFUSED);
	expect("look up\n> nothing\ntry a\n> nothing\ntry b\n> nothing\ndrop a\n> failed\n");
	assert_int_equal(dial.failure, REDLOCK_VOTE_DOWN);
	assert_string_equal(dial.failure_text, "Connection refused");
}

/* A family that this host does not have is no reason, where there is another. */
TEST(no_way_says_least)
{
	static const struct {
		int a, b;
		const char *why;
	} cases[] = {
	    {ENETUNREACH, ECONNREFUSED, "Connection refused"},
	    {ECONNREFUSED, ENETUNREACH, "Connection refused"},
	    {EADDRNOTAVAIL, EAFNOSUPPORT, "Cannot assign requested address"},
	    {ECONNREFUSED, EHOSTUNREACH, "No route to host"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		named();
		connect_errors['a'] = cases[i].a;
		connect_errors['b'] = cases[i].b;
		begin();
		lookup_says("ab");
		expect("look up\n> nothing\ntry a\ntry b\n> failed\n");
		assert_string_equal(dial.failure_text, cases[i].why);
	}
	race("a");
	ready('a', ENETUNREACH); /* a router said so: it is all that is known */
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\n> failed\n");
	assert_string_equal(dial.failure_text, "Network is unreachable");
}

TEST(cannot_be_watched)
{
	named();
	watch_error = ENOMEM;
	begin();
	lookup_says("a");
	expect("look up\n> nothing\ntry a\ndrop a\n> failed\n");
	assert_string_equal(dial.failure_text, "Cannot allocate memory");
}

/* Reports about a descriptor that is closed by now, and readiness without a result. */
TEST(stale_reports)
{
	race("ab");
	uint32_t a = watched('a')->id;
	told(rl_dial_ready(&dial, a, RL_READABLE, now_ns)); /* not yet */
	ready('a', ECONNREFUSED);
	told(rl_dial_ready(&dial, a, RL_READABLE | RL_WRITABLE, now_ns));
	told(rl_dial_ready(&dial, *lookup_id, RL_READABLE, now_ns));
	expect(
	    "look up\n> nothing\ntry a\n> nothing\n> nothing\ndrop a\ntry b\n> nothing\n> nothing\n> nothing\n");
	connect_to("a");
	told(
	    rl_dial_ready(&dial, watched('a')->id, RL_READABLE | RL_WRITABLE, now_ns)); /* the stream's, by now */
	expect("> nothing\n");
}

TEST(literal)
{
	begin_test("redis://127.0.0.1:6380");
	assert_false(dial.by_name);
	assert_int_equal(dial.known.count, 1);
	begin_test("redis://[::1]:6380");
	assert_false(dial.by_name);
	begin_test("unix:///x");
	assert_false(dial.by_name);
	dial.known.list[0] = (struct rl_address){.length = 1, .bytes = {'a'}};
	begin();
	ready('a', ECONNREFUSED);
	expect("try a\n> nothing\ndrop a\n> failed\n");
	now_ns += rl_time_ms(5000);
	begin(); /* there is nothing to look up */
	ready('a', 0);
	rl_dial_doubt(&dial, now_ns + rl_time_ms(5000));
	expect("try a\n> nothing\n> connected\na\n");
}

/* ---- lookups ---- */

TEST(no_such_name)
{
	named();
	assert_true(rl_dial_may_begin(&dial));
	begin();
	assert_false(rl_dial_may_begin(&dial)); /* nothing to try, and it is being looked up */
	lookup_fails("Name or service not known", true);
	expect("look up\n> nothing\n> failed\n");
	assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
	assert_string_equal(dial.failure_text, "Name or service not known");
	assert_true(rl_dial_may_begin(&dial));
	begin(); /* at once: how often is up to the node's backoff */
	expect("look up\n> nothing\n");
}

TEST(no_thread)
{
	named();
	lookup_error = EAGAIN;
	begin();
	expect("look up\n> failed\n");
	assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
	assert_string_equal(dial.failure_text, "Resource temporarily unavailable");
}

/* Nobody waits for ever, and the lookup goes on: when it ends, there is something to do. */
TEST(name_server_is_silent)
{
	for (unsigned i = 0; i < 2; i++) {
		named();
		begin();
		now_ns += rl_time_ms(3000);
		rl_dial_time_out(&dial);
		rl_dial_end(&dial);
		assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
		assert_string_equal(dial.failure_text, "the name server does not answer");
		assert_false(rl_dial_may_begin(&dial));
		result.why[0] = '?';
		told(rl_dial_ready(&dial, *lookup_id, RL_READABLE, now_ns)); /* spurious */
		now_ns += rl_time_ms(20000);
		if (i == 0)
			lookup_says("a");
		else
			lookup_fails("Temporary failure in name resolution", false);
		expect(i == 0 ? "look up\n> nothing\n> nothing\n> found\n"
		              : "look up\n> nothing\n> nothing\n> failed\n");
		assert_true(rl_dial_may_begin(&dial));
		begin(); /* what was found is fresh */
		expect(i == 0 ? "try a\n> nothing\n" : "look up\n> nothing\n");
	}
}

TEST(connecting_takes_too_long)
{
	race("a");
	rl_dial_time_out(&dial);
	assert_int_equal(dial.failure, REDLOCK_VOTE_DOWN);
	assert_string_equal(dial.failure_text, "connecting timed out");
}

/* Each new connection looks the name up, but not twice in a second. */
TEST(looked_up_again)
{
	connect_to("a");
	again(999); /* the connection breaks */
	ready('a', ECONNREFUSED);
	expect("try a\n> nothing\ndrop a\n> failed\n");
	now_ns += rl_time_ms(1);
	begin();
	expect("look up\n> nothing\n");
	lookup_says("b"); /* it has moved */
	ready('b', 0);
	expect("try b\n> nothing\n> connected\nb\n");
}

/* A name server that is slow or fails costs a quarter of a second where the address was known. */
TEST(known_address_is_tried)
{
	connect_to("ab");
	again(5000);
	assert_true(rl_dial_may_begin(&dial));
	pass(249);
	expect("look up\n> nothing\n> nothing\n");
	pass(1);
	expect("try a\n> nothing\n");
	lookup_says("ba"); /* the same, turned round: the race goes on */
	expect("> nothing\n");
	ready('a', 0);
	expect("> connected\na\n");

	again(5000);
	lookup_fails("Temporary failure in name resolution", false);
	expect("look up\n> nothing\ntry a\n> nothing\n");
}

/* A lookup that goes on for long is not waited for a second time. */
TEST(known_address_is_tried_at_once)
{
	connect_to("a");
	again(5000);
	pass(250);
	ready('a', ECONNREFUSED);
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\n> nothing\n"); /* the lookup may bring another */
	rl_dial_time_out(&dial);
	assert_string_equal(dial.failure_text, "connecting timed out");
	again(3000);
	ready('a', 0);
	expect("try a\n> nothing\n> connected\na\n");
	lookup_says("b");
	expect("> moved\n");
}

TEST(all_known_fail_before_the_lookup)
{
	connect_to("a");
	for (unsigned i = 0; i < 3; i++) {
		again(5000);
		pass(250);
		ready('a', ECONNREFUSED);
		if (i == 0)
			lookup_says("a");
		else if (i == 1)
			lookup_fails("Temporary failure in name resolution", false);
		else
			lookup_says("b");
		expect(i < 2 ? "look up\n> nothing\ntry a\n> nothing\ndrop a\n> nothing\n> failed\n"
		             : "look up\n> nothing\ntry a\n> nothing\ndrop a\n> nothing\ntry b\n> nothing\n");
	}
}

/* A name server turns the addresses round while the first of them is being tried: each is tried once, and the
 * one that wins is the one that is known to have won. */
TEST(turned_round_while_connecting)
{
	connect_to("ab");
	again(10000);
	pass(250);
	expect("look up\n> nothing\ntry a\n> nothing\n");
	lookup_says("ba");
	pass(250);
	expect("> nothing\ntry b\n> nothing\n");
	ready('b', 0);
	expect("drop a\n> connected\nb\n");
	assert_int_equal(dial.peer.bytes[0], 'b');
	assert_true(dial.elsewhere);
}

TEST(moved_while_connecting)
{
	connect_to("ab");
	again(5000);
	pass(250);
	pass(250);
	lookup_says("bc");
	expect("look up\n> nothing\ntry a\n> nothing\ntry b\n> nothing\ndrop a\ndrop b\ntry b\n> nothing\n");
	ready('b', 0);
	expect("> connected\nb\n");
}

TEST(name_is_gone)
{
	connect_to("a");
	again(5000);
	pass(250);
	lookup_fails("Name or service not known", true);
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\n> failed\n");
	assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
}

/* ---- doubt ---- */

TEST(doubt)
{
	connect_to("ab");
	rl_dial_doubt(&dial, now_ns + rl_time_ms(999)); /* it was looked up just now */
	expect("");
	doubt_later();
	rl_dial_doubt(&dial, now_ns);
	expect("look up\n");
	lookup_says("ca");
	expect("> nothing\n"); /* the address is among them still */
	rl_dial_doubt(&dial, now_ns);
	expect("");
	doubt_later();
	lookup_fails("Temporary failure in name resolution", false);
	rl_dial_doubt(&dial, now_ns); /* a failure counts as asked, too */
	expect("look up\n> nothing\n");
	doubt_later();
	lookup_fails("Name or service not known", true); /* there is no other server */
	expect("look up\n> nothing\n");
	doubt_later();
	lookup_says("bc");
	expect("look up\n> moved\n");
	again(0);
	expect("try b\n> nothing\n");
}

TEST(elsewhere)
{
	connect_to("ab");
	assert_false(dial.elsewhere);
	again(0);
	ready('a', 0);
	assert_false(dial.elsewhere);
	again(0);
	ready('a', ECONNREFUSED);
	ready('b', 0);
	assert_true(dial.elsewhere);
	again(0);
	ready('a', 0);
	assert_true(dial.elsewhere); /* until somebody has seen it */
}

/* ---- the rest ---- */

TEST(closing)
{
	for (unsigned child = 0; child < 2; child++) {
		connect_to("abc");
		again(5000);
		pass(250);
		pass(250);
		log_text[0] = '\0';
		rl_dial_close(&dial, child != 0);
		expect(child ? "close a\nclose b\nfree the lookup\n" : "close a\nclose b\nleave the lookup\n");
		rl_dial_close(&dial, child != 0);
		expect("");
	}
}

TEST(same)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
	    {"redis://name.example", "redis://NAME.example:6379/3", true},
	    {"redis://name.example", "redis://name.example:6380", false},
	    {"redis://[::1]", "redis://[0:0::1]/1", true},
	    {"redis://127.0.0.1", "redis://localhost", false}, /* nobody knows before it is looked up */
	    {"redis://127.0.0.1", "redis://[::1]", false},
	    {"unix:///a", "unix:///a?db=2", true},
	    {"unix:///a", "unix:///b", false},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_endpoint other;
		struct rl_dial b;
		char why[128];
		begin_test(cases[i].a);
		assert_int_equal(rl_url_parse(cases[i].b, &other, why, sizeof why), 0);
		rl_dial_open(&b, &other, &poller, NODE);
		assert_int_equal(rl_dial_same(&dial, &b), cases[i].same);
		assert_int_equal(rl_dial_same(&b, &dial), cases[i].same);
		rl_url_free(&other);
	}
}

static void end(void)
{
	rl_url_free(&endpoint);
}

TESTS(.stop = end)
