/* SPDX-License-Identifier: MIT */
/*
 * How a node is dialled: which addresses are tried when, and when its name is looked up. Sockets, poller and
 * lookups are the test's. What dial.c does with them is one line each: "look up", "try a", "drop a"; an
 * address is a letter. What it says is one line too: "> nothing".
 */
#include "net/dial.h"

#include <errno.h>

#include "core/quorum.h"
#include "os/random.h"
#include "unit.h"

#define NODE 5u
#define FIRST_FD 100

/* What -Wl,--wrap makes of the names. */
int __wrap_rl_socket_connect(const struct rl_address *address, int *ret_fd);
int __wrap_rl_socket_connected(int fd);
void __wrap_rl_socket_abort(int fd);
void __wrap_rl_socket_close(int fd);
int __wrap_rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known);
void __wrap_rl_poller_forget(struct rl_poller *poller, int fd);
int __wrap_rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                           struct rl_lookup **ret);
bool __wrap_rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *poller, struct rl_lookup_result *ret);
void __wrap_rl_lookup_leave(struct rl_lookup *lookup, bool child);

static struct rl_dial dial;
static struct rl_endpoint endpoint;
static struct rl_poller poller;
static uint64_t now_ns;
static char log_text[2048];

static uint32_t ids[128]; /* in the poller, by address; 0: not watched */
static int connect_errors[128];
static int connected_errors[128];
static int watch_error;
static int lookup_error;
static bool looking_up;
static uint32_t lookup_id;
static struct rl_lookup_result found; /* what the lookup will say */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;
	size_t used = strlen(log_text);
	va_start(args, format);
	vsnprintf(log_text + used, sizeof log_text - used, format, args);
	va_end(args);
}

/* ---- the world below ---- */

int __wrap_rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	unsigned char letter = address->bytes[0];
	assert_int_equal(address->length, 1);
	say("try %c\n", letter);
	*ret_fd = connect_errors[letter] == 0 ? FIRST_FD + letter : -1;
	return -connect_errors[letter];
}

int __wrap_rl_socket_connected(int fd)
{
	return -connected_errors[fd - FIRST_FD];
}

void __wrap_rl_socket_abort(int fd)
{
	assert_int_equal(ids[fd - FIRST_FD], 0); /* a child process may have it open still */
	say("drop %c\n", fd - FIRST_FD);
}

void __wrap_rl_socket_close(int fd)
{
	say("close %c\n", fd - FIRST_FD);
}

int __wrap_rl_poller_watch(struct rl_poller *p, int fd, uint32_t id, uint32_t events, bool known)
{
	assert_ptr_equal(p, &poller);
	assert_false(known);
	assert_int_equal(events, RL_READABLE | RL_WRITABLE);
	assert_int_equal(RL_WATCH_NODE(id), NODE);
	for (unsigned i = 0; i < COUNT(ids); i++)
		assert_true(ids[i] != id && id != lookup_id);
	if (watch_error == 0)
		ids[fd - FIRST_FD] = id;
	return -watch_error;
}

void __wrap_rl_poller_forget(struct rl_poller *p, int fd)
{
	assert_ptr_equal(p, &poller);
	ids[fd - FIRST_FD] = 0;
}

int __wrap_rl_lookup_start(const char *host, uint16_t port, struct rl_poller *p, uint32_t id,
                           struct rl_lookup **ret)
{
	assert_string_equal(host, "name.example");
	assert_int_equal(port, 6380);
	assert_ptr_equal(p, &poller);
	assert_int_equal(RL_WATCH_NODE(id), NODE);
	assert_false(looking_up);
	say("look up\n");
	if (lookup_error != 0)
		return -lookup_error;
	looking_up = true;
	lookup_id = id;
	*ret = (struct rl_lookup *)&found;
	return 0;
}

bool __wrap_rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *p, struct rl_lookup_result *ret)
{
	assert_ptr_equal(lookup, &found);
	assert_ptr_equal(p, &poller);
	assert_true(looking_up);
	*ret = found;
	looking_up = found.why[0] == '?'; /* not yet */
	return !looking_up;
}

void __wrap_rl_lookup_leave(struct rl_lookup *lookup, bool child)
{
	assert_ptr_equal(lookup, &found);
	say(child ? "free the lookup\n" : "leave the lookup\n");
	looking_up = false;
}

/* ---- what the tests do ---- */

static void begin_test(const char *url)
{
	char why[128];
	memset(ids, 0, sizeof ids);
	memset(connect_errors, 0, sizeof connect_errors);
	memset(connected_errors, 0, sizeof connected_errors);
	watch_error = lookup_error = 0;
	looking_up = false;
	lookup_id = UINT32_MAX;
	log_text[0] = '\0';
	now_ns = rl_ms(100000);
	rl_endpoint_free(&endpoint);
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
		say("%c\n", rl_dial_take(&dial, &id) - FIRST_FD);
	if (news == RL_DIAL_FAILED) /* as a node does */
		rl_dial_end(&dial);
}

static void begin(void)
{
	told(rl_dial_begin(&dial, now_ns));
}

static void lookup_says(const char *letters)
{
	found = (struct rl_lookup_result){.addresses.count = (unsigned)strlen(letters)};
	for (unsigned i = 0; letters[i] != '\0'; i++)
		found.addresses.list[i] = (struct rl_address){.length = 1, .bytes = {(unsigned char)letters[i]}};
	told(rl_dial_ready(&dial, lookup_id, RL_READABLE, now_ns));
}

static void lookup_fails(const char *why, bool certain)
{
	found = (struct rl_lookup_result){.certain = certain};
	snprintf(found.why, sizeof found.why, "%s", why);
	told(rl_dial_ready(&dial, lookup_id, RL_READABLE, now_ns));
}

static void ready(char letter, int error)
{
	assert_int_not_equal(ids[(unsigned char)letter], 0);
	connected_errors[(unsigned char)letter] = error;
	told(rl_dial_ready(&dial, ids[(unsigned char)letter], RL_READABLE | RL_WRITABLE, now_ns));
}

static void pass(unsigned ms)
{
	now_ns += rl_ms(ms);
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

static void one_address(void **state)
{
	(void)state;
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

static void refused_goes_on_at_once(void **state)
{
	(void)state;
	named();
	begin();
	lookup_says("abc");
	ready('a', ECONNREFUSED);
	ready('b', ECONNREFUSED);
	ready('c', 0);
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\ntry b\n> nothing\ndrop b\ntry c\n> nothing\n"
	       "> connected\nc\n");
}

static void silent_goes_on_soon(void **state)
{
	(void)state;
	named();
	begin();
	lookup_says("abc");
	expect("look up\n> nothing\ntry a\n> nothing\n");
	pass(249);
	expect("> nothing\n");
	assert_true(rl_dial_deadline(&dial) == now_ns + rl_ms(1));
	pass(1);
	expect("try b\n> nothing\n");
	ready('b', 0);
	expect("drop a\n> connected\nb\n");
	assert_true(rl_dial_deadline(&dial) == UINT64_MAX);
}

/* The first one may still win. */
static void late_winner(void **state)
{
	(void)state;
	named();
	begin();
	lookup_says("abc");
	pass(250);
	pass(250);
	pass(10000);
	expect("look up\n> nothing\ntry a\n> nothing\ntry b\n> nothing\ntry c\n> nothing\n> nothing\n");
	ready('b', ECONNREFUSED);
	ready('a', 0);
	expect("drop b\n> nothing\ndrop c\n> connected\na\n");
}

static void all_fail(void **state)
{
	(void)state;
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
static void no_way_says_least(void **state)
{
	(void)state;
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
	named();
	begin();
	lookup_says("a");
	ready('a', ENETUNREACH); /* a router said so: it is all that is known */
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\n> failed\n");
	assert_string_equal(dial.failure_text, "Network is unreachable");
}

static void cannot_be_watched(void **state)
{
	(void)state;
	named();
	watch_error = ENOMEM;
	begin();
	lookup_says("a");
	expect("look up\n> nothing\ntry a\ndrop a\n> failed\n");
	assert_string_equal(dial.failure_text, "Cannot allocate memory");
}

/* What was reported of a descriptor that is closed by now, and readiness that says nothing. */
static void stale_reports(void **state)
{
	(void)state;
	named();
	begin();
	lookup_says("ab");
	uint32_t a = ids['a'];
	told(rl_dial_ready(&dial, a, RL_READABLE, now_ns)); /* not yet */
	ready('a', ECONNREFUSED);
	told(rl_dial_ready(&dial, a, RL_READABLE | RL_WRITABLE, now_ns));
	told(rl_dial_ready(&dial, lookup_id, RL_READABLE, now_ns));
	expect(
	    "look up\n> nothing\ntry a\n> nothing\n> nothing\ndrop a\ntry b\n> nothing\n> nothing\n> nothing\n");
	connect_to("a");
	told(rl_dial_ready(&dial, ids['a'], RL_READABLE | RL_WRITABLE, now_ns)); /* the stream's, by now */
	expect("> nothing\n");
}

static void literal(void **state)
{
	(void)state;
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
	now_ns += rl_ms(5000);
	begin(); /* there is nothing to look up */
	ready('a', 0);
	rl_dial_doubt(&dial, now_ns + rl_ms(5000));
	expect("try a\n> nothing\n> connected\na\n");
}

/* ---- lookups ---- */

static void no_such_name(void **state)
{
	(void)state;
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

static void no_thread(void **state)
{
	(void)state;
	named();
	lookup_error = EAGAIN;
	begin();
	expect("look up\n> failed\n");
	assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
	assert_string_equal(dial.failure_text, "Resource temporarily unavailable");
}

/* Nobody waits for ever, and the lookup goes on: when it ends, there is something to do. */
static void name_server_is_silent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		named();
		begin();
		now_ns += rl_ms(3000);
		rl_dial_time_out(&dial);
		rl_dial_end(&dial);
		assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
		assert_string_equal(dial.failure_text, "the name server does not answer");
		assert_false(rl_dial_may_begin(&dial));
		found.why[0] = '?';
		told(rl_dial_ready(&dial, lookup_id, RL_READABLE, now_ns)); /* spurious */
		now_ns += rl_ms(20000);
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

static void connecting_takes_too_long(void **state)
{
	(void)state;
	named();
	begin();
	lookup_says("a");
	rl_dial_time_out(&dial);
	assert_int_equal(dial.failure, REDLOCK_VOTE_DOWN);
	assert_string_equal(dial.failure_text, "connecting timed out");
}

/* Each new connection looks the name up, but not twice in a second. */
static void looked_up_again(void **state)
{
	(void)state;
	connect_to("a");
	rl_dial_end(&dial); /* the connection breaks */
	now_ns += rl_ms(999);
	begin();
	ready('a', ECONNREFUSED);
	expect("try a\n> nothing\ndrop a\n> failed\n");
	now_ns += rl_ms(1);
	begin();
	expect("look up\n> nothing\n");
	lookup_says("b"); /* it has moved */
	ready('b', 0);
	expect("try b\n> nothing\n> connected\nb\n");
}

/* A name server that is slow or fails costs a quarter of a second where the address was known. */
static void known_address_is_tried(void **state)
{
	(void)state;
	connect_to("ab");
	rl_dial_end(&dial);
	now_ns += rl_ms(5000);
	begin();
	assert_true(rl_dial_may_begin(&dial));
	pass(249);
	expect("look up\n> nothing\n> nothing\n");
	pass(1);
	expect("try a\n> nothing\n");
	lookup_says("ba"); /* the same, turned round: the race goes on */
	expect("> nothing\n");
	ready('a', 0);
	expect("> connected\na\n");

	rl_dial_end(&dial);
	now_ns += rl_ms(5000);
	begin();
	lookup_fails("Temporary failure in name resolution", false);
	expect("look up\n> nothing\ntry a\n> nothing\n");
}

/* A lookup that goes on for long is not waited for a second time. */
static void known_address_is_tried_at_once(void **state)
{
	(void)state;
	connect_to("a");
	rl_dial_end(&dial);
	now_ns += rl_ms(5000);
	begin();
	pass(250);
	ready('a', ECONNREFUSED);
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\n> nothing\n"); /* the lookup may bring another */
	rl_dial_time_out(&dial);
	assert_string_equal(dial.failure_text, "connecting timed out");
	rl_dial_end(&dial);
	now_ns += rl_ms(3000);
	begin();
	ready('a', 0);
	expect("try a\n> nothing\n> connected\na\n");
	lookup_says("b");
	expect("> moved\n");
}

static void all_known_fail_before_the_lookup(void **state)
{
	(void)state;
	connect_to("a");
	for (unsigned i = 0; i < 3; i++) {
		rl_dial_end(&dial);
		now_ns += rl_ms(5000);
		begin();
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
static void turned_round_while_connecting(void **state)
{
	(void)state;
	connect_to("ab");
	now_ns += rl_ms(10000);
	rl_dial_end(&dial);
	begin();
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

/* New addresses end the race for the old ones. */
static void moved_while_connecting(void **state)
{
	(void)state;
	connect_to("ab");
	rl_dial_end(&dial);
	now_ns += rl_ms(5000);
	begin();
	pass(250);
	pass(250);
	lookup_says("bc");
	expect("look up\n> nothing\ntry a\n> nothing\ntry b\n> nothing\ndrop a\ndrop b\ntry b\n> nothing\n");
	ready('b', 0);
	expect("> connected\nb\n");
}

/* What was denied is not tried any more. */
static void name_is_gone(void **state)
{
	(void)state;
	connect_to("a");
	rl_dial_end(&dial);
	now_ns += rl_ms(5000);
	begin();
	pass(250);
	lookup_fails("Name or service not known", true);
	expect("look up\n> nothing\ntry a\n> nothing\ndrop a\n> failed\n");
	assert_int_equal(dial.failure, REDLOCK_VOTE_NAME);
}

/* ---- doubt ---- */

static void doubt(void **state)
{
	(void)state;
	connect_to("ab");
	rl_dial_doubt(&dial, now_ns + rl_ms(999)); /* it was looked up just now */
	expect("");
	now_ns += rl_ms(1000);
	rl_dial_doubt(&dial, now_ns);
	rl_dial_doubt(&dial, now_ns);
	expect("look up\n");
	lookup_says("ca");
	expect("> nothing\n"); /* the address is among them still */
	rl_dial_doubt(&dial, now_ns);
	expect("");
	now_ns += rl_ms(1000);
	rl_dial_doubt(&dial, now_ns);
	lookup_fails("Temporary failure in name resolution", false);
	rl_dial_doubt(&dial, now_ns); /* a failure counts as asked, too */
	expect("look up\n> nothing\n");
	now_ns += rl_ms(1000);
	rl_dial_doubt(&dial, now_ns);
	lookup_fails("Name or service not known", true); /* there is no other server */
	expect("look up\n> nothing\n");
	now_ns += rl_ms(1000);
	rl_dial_doubt(&dial, now_ns);
	lookup_says("bc");
	expect("look up\n> moved\n");
	rl_dial_end(&dial);
	begin();
	expect("try b\n> nothing\n");
}

static void elsewhere(void **state)
{
	(void)state;
	connect_to("ab");
	assert_false(dial.elsewhere);
	rl_dial_end(&dial);
	begin();
	ready('a', 0);
	assert_false(dial.elsewhere);
	rl_dial_end(&dial);
	begin();
	ready('a', ECONNREFUSED);
	ready('b', 0);
	assert_true(dial.elsewhere);
	rl_dial_end(&dial);
	begin();
	ready('a', 0);
	assert_true(dial.elsewhere); /* until somebody has seen it */
}

/* ---- the rest ---- */

static void closing(void **state)
{
	(void)state;
	for (unsigned child = 0; child < 2; child++) {
		connect_to("abc");
		rl_dial_end(&dial);
		now_ns += rl_ms(5000);
		begin();
		pass(250);
		pass(250);
		log_text[0] = '\0';
		rl_dial_close(&dial, child != 0);
		expect(child ? "close a\nclose b\nfree the lookup\n" : "close a\nclose b\nleave the lookup\n");
		rl_dial_close(&dial, child != 0);
		expect("");
	}
}

static void same(void **state)
{
	(void)state;
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
		rl_endpoint_free(&other);
	}
}

static int end(void **state)
{
	(void)state;
	rl_endpoint_free(&endpoint);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_address),
	    cmocka_unit_test(refused_goes_on_at_once),
	    cmocka_unit_test(silent_goes_on_soon),
	    cmocka_unit_test(late_winner),
	    cmocka_unit_test(all_fail),
	    cmocka_unit_test(no_way_says_least),
	    cmocka_unit_test(cannot_be_watched),
	    cmocka_unit_test(stale_reports),
	    cmocka_unit_test(literal),
	    cmocka_unit_test(no_such_name),
	    cmocka_unit_test(no_thread),
	    cmocka_unit_test(name_server_is_silent),
	    cmocka_unit_test(connecting_takes_too_long),
	    cmocka_unit_test(looked_up_again),
	    cmocka_unit_test(known_address_is_tried),
	    cmocka_unit_test(known_address_is_tried_at_once),
	    cmocka_unit_test(all_known_fail_before_the_lookup),
	    cmocka_unit_test(turned_round_while_connecting),
	    cmocka_unit_test(moved_while_connecting),
	    cmocka_unit_test(name_is_gone),
	    cmocka_unit_test(doubt),
	    cmocka_unit_test(elsewhere),
	    cmocka_unit_test(closing),
	    cmocka_unit_test(same),
	};
	return cmocka_run_group_tests(tests, NULL, end);
}
