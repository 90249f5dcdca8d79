/* SPDX-License-Identifier: MIT */
/*
 * Memory runs out at every possible place of src/net: at the k-th allocation alone, and at the k-th and all
 * later ones, for k from 1 until a run needs fewer. Nothing crashes or leaks, every request that was taken is
 * answered once, and a release that cannot be kept is counted.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "failmalloc.h"
#include "net/auth.h"
#include "scene.h"

enum { MAX_CALLS = 2000 };

static void need_failmalloc(void)
{
	if (!failmalloc_works()) {
		print_message("allocations cannot be made to fail under a sanitizer or valgrind\n");
		skip();
	}
}

/* ---- a connection ---- */

#define RUN_ID "$49\r\nrun_id:0123456789012345678901234567890123456789\r\n\r\n*2\r\n*-1\r\n*-1\r\n"

struct books {
	unsigned taken; /* requests that somebody waits for */
	unsigned answered;
};

/* As scene_accept(), but there may be no connection. */
static void accept_if_any(struct scene *s)
{
	scene_play(s, "hang up; turn");
	s->peer = accept(s->listener, NULL, NULL);
	if (s->peer >= 0)
		assert_int_equal(fcntl(s->peer, F_SETFL, O_NONBLOCK), 0);
	s->heard_size = 0;
	scene_turn(s);
}

static void say(struct scene *s, const char *bytes)
{
	if (s->peer >= 0)
		(void)!send(s->peer, bytes, strlen(bytes), MSG_NOSIGNAL);
	scene_turn(s);
}

/* Whether the peer has received these bytes since the last time. */
static bool has_heard(struct scene *s, const char *bytes)
{
	ssize_t got = s->peer >= 0 ? recv(s->peer, s->heard, sizeof s->heard, 0) : 0;
	return got > 0 && memmem(s->heard, (size_t)got, bytes, strlen(bytes)) != NULL;
}

static void submit(struct scene *s, struct books *b, enum redlock_operation operation, unsigned slot)
{
	enum redlock_vote_code vote = scene_submit(s, operation, slot, b->taken + 1);
	assert_int_not_equal(vote, REDLOCK_VOTE_YES);
	assert_int_not_equal(vote, REDLOCK_VOTE_NO);
	b->taken += vote == REDLOCK_VOTE_PENDING;
}

/* A SET and its release, whose script the server does not know; then a SET whose answer is lost, its release,
 * and a connection that kills the one before it and pays the debts. In between, enough for everything to
 * grow. */
static void play(struct scene *s, struct books *b)
{
	rl_node_connect(&s->node, s->now_ns);
	accept_if_any(s);
	say(s, "+OK\r\n+OK\r\n:9\r\n" RUN_ID);
	s->node.methods.knows |= UINT64_C(1) << RL_SCRIPT_RELEASE;
	submit(s, b, REDLOCK_OP_ACQUIRE, 1);
	scene_play(s, "owe 1 #0; turn");
	say(s, "+OK\r\n-NOSCRIPT x\r\n");
	say(s, ":1\r\n");
	for (unsigned i = 0; i < 20; i++)
		submit(s, b, REDLOCK_OP_EXTEND, 1);
	scene_turn(s);
	has_heard(s, "");
	submit(s, b, REDLOCK_OP_ACQUIRE, 2);
	scene_turn(s);
	bool owes = has_heard(s, "token2");
	scene_play(s, "hang up; turn");
	s->node.link.backoff.failures = 1; /* do not connect yet: the releases become debts at once */
	for (unsigned slot = 2; slot < 60; slot++)
		scene_owe(s, slot, 0);
	assert_true(rl_node_owed(&s->node) + s->node.ledger.lingering >= (owes ? 1u : 0u));
	s->node.link.backoff.failures = 0;
	scene_at(s, 5000);
	accept_if_any(s);
	assert_true(rl_node_owed(&s->node) + s->node.ledger.lingering >= (owes ? 1u : 0u));
	say(s, "+OK\r\n+OK\r\n:10\r\n" RUN_ID);
	say(s, ":1\r\n");
	say(s, ":1\r\n:1\r\n:1\r\n");
	submit(s, b, REDLOCK_OP_QUERY, 4);
	scene_turn(s);
}

static long run(unsigned long n, bool and_all_behind)
{
	struct scene *s = scene_open("user:secret@", "?db=3");
	struct books books = {0};
	failmalloc_arm(n, and_all_behind);
	play(s, &books);
	failmalloc_disarm();
	if (s->node.link.state != RL_LINK_DOWN)
		rl_link_fail(&s->node.link, REDLOCK_VOTE_DOWN, "the end");
	scene_turn(s);
	for (const char *at = scene_answers(s); *at != '\0'; at++)
		books.answered += *at == '\n';
	assert_int_equal(books.answered, books.taken);
	scene_close(s);
	return failmalloc_outstanding();
}

TEST(connection)
{
	need_failmalloc();
	long before = run(0, false); /* what was allocated before the counting began */
	assert_int_equal(failmalloc_failures(), 0);
	for (unsigned behind = 0; behind < 2; behind++) {
		unsigned long n = 0;
		do {
			assert_true(++n < MAX_CALLS);
			assert_int_equal(run(n, behind != 0), before);
		} while (failmalloc_failures() > 0);
		assert_true(n > 10);
	}
}

/* SETs leave with the opening commands, of which one is answered and the rest never: what fails on such a
 * connection was sent all the same, and its release is owed, or the key counts as lingering. */
static unsigned sets_heard(struct scene *s)
{
	unsigned sets = 0;
	scene_listen(s);
	const char *at = s->heard, *end = s->heard + s->heard_size;
	while ((at = memmem(at, (size_t)(end - at), "NX", 2)) != NULL) {
		at += 2;
		sets++;
	}
	return sets;
}

static unsigned open_without_answers(unsigned long n, bool and_all_behind)
{
	own_scene *s = scene_begin("", "", "connect; turn; accept");
	failmalloc_arm(n, and_all_behind);
	for (unsigned slot = 1; slot < 40; slot++) {
		scene_submit(s, REDLOCK_OP_ACQUIRE, slot, slot);
		scene_turn(s);
		scene_owe(s, slot, 0);
		scene_turn(s);
	}
	rl_node_renew(&s->node, s->now_ns);
	say(s, ":9\r\n");
	unsigned sets = s->peer >= 0 ? sets_heard(s) : 0;
	scene_play(s, "hang up; turn");
	failmalloc_disarm();
	scene_turn(s);
	assert_true(rl_node_owed(&s->node) + s->node.ledger.lingering >= sets);
	return sets;
}

TEST(no_debt_is_forgotten)
{
	need_failmalloc();
	assert_int_equal(open_without_answers(0, false), 39);
	for (unsigned behind = 0; behind < 2; behind++) {
		unsigned long n = 0;
		do {
			assert_true(++n < MAX_CALLS);
			open_without_answers(n, behind != 0);
		} while (failmalloc_failures() > 0);
		assert_true(n > 5);
	}
}

/* ---- URLs ---- */

static void url(const char *text)
{
	unsigned long n = 0;
	int error;
	do {
		struct rl_endpoint endpoint;
		char why[64] = "";
		assert_true(++n < MAX_CALLS);
		failmalloc_arm(n, false);
		error = rl_url_parse(text, &endpoint, why, sizeof why);
		assert_int_equal(error, failmalloc_failures() > 0 ? REDLOCK_E_NOMEM : 0);
		if (error != 0)
			assert_string_equal(why, "out of memory");
		rl_url_free(&endpoint);
		failmalloc_disarm();
		assert_int_equal(failmalloc_outstanding(), 0);
	} while (error != 0);
	assert_true(n > 2);
}

TEST(urls)
{
	need_failmalloc();
	url("redis://user:secret@host:1/2");
	url("unix://user:secret@/path?db=3");
}

/* ---- requests ---- */

/* A form of a request, and the one that is made of it: all or nothing. */
TEST(requests)
{
	need_failmalloc();
	struct rl_request r = {
	    .operation = REDLOCK_OP_EXTEND, .name = {"job", 3}, .token = {"t", 1}, .ttl_ms = 7};
	unsigned long n = 0;
	bool ok;
	do {
		struct rl_wire wire = {0};
		struct rl_buffer again = {0};
		assert_true(++n < MAX_CALLS);
		failmalloc_arm(n, false);
		const struct rl_buffer *form = rl_request_bytes(&wire, &r, RL_FORM_SHA);
		ok = form != NULL && rl_request_write(&again, &r, RL_FORM_TEXT);
		assert_int_equal(ok, failmalloc_failures() == 0);
		assert_int_equal(form != NULL, wire.forms[RL_FORM_SHA].size > 0);
		assert_int_equal(ok, again.size > 0);
		rl_buffer_free(&again);
		rl_request_free(&wire);
		failmalloc_disarm();
		assert_int_equal(failmalloc_outstanding(), 0);
	} while (!ok);
	assert_int_equal(n, 3);
}

/* New credentials while connecting: the opening commands are written anew, all of them or none. Without AUTH,
 * or without the INFO that the gate waits for, nothing must be said. */
TEST(new_credentials_while_connecting)
{
	need_failmalloc();
	bool told = false;
	for (unsigned long n = 1; !told; n++) {
		assert_true(n < 100);
		own_scene *s = scene_open("user:secret@", "?db=3");
		rl_node_connect(&s->node, s->now_ns);
		assert_int_equal(s->node.link.state, RL_LINK_CONNECTING);
		scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
		failmalloc_arm(n, false);
		rl_node_renew(&s->node, s->now_ns);
		failmalloc_disarm();
		told = failmalloc_failures() == 0;
		accept_if_any(s);
		if (s->peer >= 0)
			expect_heard(s, told ? "AUTH user secret\nSELECT 3\n" HELLO : "");
		expect_answers(s, told ? "" : "acquire #1 DOWN\n");
	}
}

/* New credentials on an open connection: requests that wait for them are sent after them, or not at all. */
TEST(new_credentials_while_open)
{
	need_failmalloc();
	bool told = false;
	for (unsigned long n = 1; !told; n++) {
		assert_true(n < 100);
		own_scene *s = scene_begin("user:secret@", "", "connect; accept");
		scene_say(s, "+OK\r\n:1\r\n-NOPERM no\r\n" NO_NATIVE);
		scene_play(s, "acquire 1 #1; turn");
		rl_node_renew(&s->node, s->now_ns);
		rl_auth_begin(&s->node.link, s->now_ns);
		scene_play(s, "turn; acquire 2 #2; hear");
		failmalloc_arm(n, false);
		scene_say(s, "+OK\r\n");
		failmalloc_disarm();
		told = failmalloc_failures() == 0;
		expect_heard(s, told ? "AUTH user secret\n" : "");
		expect_answers(s, told ? "acquire #1 YES\n" : "acquire #1 YES\nacquire #2 DOWN\n");
	}
}

/* ---- the listener ---- */

#define CHANNEL "redlock:wake:0123456789abcdef"
#define HEARD                                                                                                \
	"$49\r\nrun_id:0000000000000000000000000000000000000007\r\n\r\n"                                         \
	"*3\r\n$9\r\nsubscribe\r\n$29\r\n" CHANNEL "\r\n:1\r\n"                                                  \
	"*3\r\n$7\r\nmessage\r\n$29\r\n" CHANNEL "\r\n$1\r\n5\r\n"

/* The listener subscribes, hears, and asks whether the server is there, as far as it can; the node's link
 * works on. */
static void listen_at(struct scene *s)
{
	rl_node_listen(&s->node, CHANNEL, s->now_ns);
	scene_turn(s);
	int ear = accept(s->listener, NULL, NULL);
	scene_turn(s);
	if (ear >= 0)
		(void)!send(ear, HEARD, sizeof HEARD - 1, MSG_NOSIGNAL);
	scene_turn(s);
	scene_at(s, 1000 + 5000);
	if (ear >= 0)
		close(ear);
}

TEST(listener)
{
	need_failmalloc();
	for (unsigned behind = 0; behind < 2; behind++) {
		unsigned long n = 0;
		bool told = false;
		for (; !told; n++) {
			assert_true(n < 100);
			own_scene *s = scene_connected(1);
			failmalloc_arm(n + 1, behind != 0);
			listen_at(s);
			failmalloc_disarm();
			told = failmalloc_failures() == 0;
			assert_int_equal(s->node.link.state, RL_LINK_OPEN);
			assert_int_equal(s->messages, told ? 1 : s->messages);
		}
		assert_true(n > 5);
	}
}

TESTS()
