/* SPDX-License-Identifier: MIT */
/* The traffic of an open connection: order, partial sends, scripts that are not known, limits of the backlog,
 * and answers that nobody asked for. */
#include "scene.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"

TEST(pipelined_in_order)
{
	own_scene *s = scene_begin_connected(9, "acquire 1 #1; extend 1 #2; query 1 #3; release 1 #4");
	expect_heard(s, "SET job token1 NX PX 30000\nEVAL extend 1 job token1 30000\nEVAL query 1 job\n"
	                "EVAL release 1 job token1\n");
	scene_say(s, "+OK\r\n:1\r\n*4\r\n$6\r\nstring\r\n:5\r\n:1\r\n$1\r\nx\r\n:0\r\n");
	expect_answers(s, "acquire #1 YES\nextend #2 YES\nquery #3 YES\nrelease #4 NO\n");
}

TEST(nobody_waits)
{
	own_scene *s = scene_begin_connected(9, "owe 1 #0; acquire 2 #2; hear");
	scene_vote(s, ":1\r\n+OK\r\n", "acquire #2 YES\n");
}

/* ---- scripts ---- */

/* By text until the connection has run it once, then by digest; a script of another kind is not known by
 * that. */
TEST(scripts_are_learnt)
{
	own_scene *s = scene_connected(9);
	scene_submit(s, REDLOCK_OP_RELEASE, 1, 1);
	scene_submit(s, REDLOCK_OP_RELEASE, 2, 2); /* not known yet */
	scene_reply(s, "EVAL release 1 job token1\nEVAL release 1 job token2\n", ":1\r\n:1\r\n");
	scene_play(s, "release 3 #3; extend 3 #4");
	expect_heard(s, "EVALSHA release 1 job token3\nEVAL extend 1 job token3 30000\n");
	scene_play(s, "hang up; turn; connect");
	scene_greet(s, 10); /* a server that was started again knows none */
	scene_submit(s, REDLOCK_OP_RELEASE, 3, 5);
	expect_heard(s, "EVAL release 1 job token3\n");
}

/* An error does not teach a script; a key of another type does: the script has run. */
TEST(errors_teach_nothing)
{
	own_scene *s = scene_begin_connected(9, "release 1 #1; hear");
	scene_vote(s, "-LOADING Redis is loading the dataset in memory\r\n", "release #1 LOADING\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_LOADING);
	scene_submit(s, REDLOCK_OP_RELEASE, 1, 2);
	expect_heard(s, "EVAL release 1 job token1\n");
	scene_say(s, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
	expect_answers(s, "release #2 NO\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_LOADING); /* no failure */
	scene_submit(s, REDLOCK_OP_RELEASE, 1, 3);
	expect_heard(s, "EVALSHA release 1 job token1\n");
}

TEST(forgotten_scripts)
{
	own_scene *s = scene_begin_connected(9, "release 1 #1; extend 1 #2; hear");
	scene_say(s, ":0\r\n:0\r\n");
	scene_play(s, "take; extend 2 #3; release 2 #4; owe 3 #0");
	expect_heard(s, "EVALSHA extend 1 job token2 30000\nEVALSHA release 1 job token2\n"
	                "EVALSHA release 1 job token3\n");
	scene_vote(s, "-NOSCRIPT No matching script. Please use EVAL.\r\n-NOSCRIPT x\r\n-NOSCRIPT x\r\n", "");
	expect_heard(s, "EVAL extend 1 job token2 30000\nEVAL release 1 job token2\nEVAL release 1 job token3\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_vote(s, ":1\r\n:1\r\n:1\r\n", "extend #3 YES\nrelease #4 YES\n");
	expect_owed(s, 0, 0);
	/* A server that does not know an EVAL either is broken; it is not asked for ever. */
	scene_play(s, "release 4 #5; hear");
	scene_say(s, "-NOSCRIPT x\r\n");
	scene_heard(s);
	scene_vote(s, "-NOSCRIPT x\r\n", "release #5 SERVER\n");
}

/* A caller's own value is never asked about twice: its requests go by text, always. */
TEST(by_text_on_demand)
{
	own_scene *s = scene_connected(9);
	struct rl_request release = {.operation = REDLOCK_OP_RELEASE,
	                             .tag = {.slot = 1, .seq = 1},
	                             .name = {"job", 3},
	                             .token = {"own", 3},
	                             .own_value = true};
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(scene_request(s, &release), REDLOCK_VOTE_PENDING);
		scene_reply(s, "EVAL release 1 job own\n", ":1\r\n");
	}
}

/* ---- partial sends ---- */

/* A small socket buffer and a slow reader: every byte arrives, once and in order. */
TEST(partial_sends)
{
	own_scene *s = scene_connected(9);
	static char name[30000];
	char want[256];
	scene_narrow(s, 4608);
	for (unsigned i = 0; i < 8; i++) {
		memset(name, 'a' + (int)i, sizeof name);
		struct rl_request set = {.operation = REDLOCK_OP_ACQUIRE,
		                         .tag = {.slot = i, .seq = i + 1},
		                         .name = {name, 1000 + 3000 * i},
		                         .token = {"t", 1},
		                         .ttl_ms = 1};
		assert_int_equal(scene_request(s, &set), REDLOCK_VOTE_PENDING);
	}
	rl_submit_flush(&s->node);
	assert_true(s->node.link.watching_write); /* it did not fit */
	assert_true(rl_outbox_unsent(&s->node.link.outbox).size > 0);
	const char *heard = scene_heard(s);
	for (unsigned i = 0; i < 8; i++) {
		size_t size = 1000 + 3000 * i;
		memset(name, 'a' + (int)i, size);
		assert_memory_equal(heard, "SET ", 4);
		assert_memory_equal(heard + 4, name, size);
		snprintf(want, sizeof want, " t NX PX 1\n");
		assert_memory_equal(heard + 4 + size, want, strlen(want));
		heard += 4 + size + strlen(want);
	}
	assert_string_equal(heard, "");
	assert_false(s->node.link.watching_write);
	assert_int_equal(s->heard_size, 0);
}

/* Nobody knows whether the rest of a request was needed that was sent in part. */
TEST(cut_in_the_middle)
{
	own_scene *s = scene_connected(9);
	scene_narrow(s, 4608);
	assert_int_equal(scene_large(s, REDLOCK_OP_ACQUIRE, 60000, false), REDLOCK_VOTE_PENDING);
	scene_play(s, "acquire 2 #2; turn");
	assert_false(rl_outbox_front_unsent(&s->node.link.outbox));
	scene_play(s, "hang up; turn");
	expect_answers(s, "acquire #1 CLOSED\nacquire #2 UNSENT\n");
	assert_int_equal(s->node.ledger.ghost_count, 1);
}

/* An answer to a request that was sent in part does not count: the bytes that are not sent yet would be
 * dropped, and later ones would be read instead. */
TEST(answered_in_the_middle)
{
	own_scene *s = scene_connected(9);
	scene_narrow(s, 4608);
	assert_int_equal(scene_large(s, REDLOCK_OP_ACQUIRE, 60000, false), REDLOCK_VOTE_PENDING);
	rl_submit_flush(&s->node);
	assert_false(rl_outbox_front_unsent(&s->node.link.outbox));
	assert_false(rl_outbox_front_sent(&s->node.link.outbox));
	scene_vote(s, "+OK\r\n", "acquire #1 GARBAGE\n");
}

TEST(answers_byte_by_byte)
{
	own_scene *s = scene_connected(9);
	static const char stream[] = "+OK\r\n-NOSCRIPT x\r\n$-1\r\n:1\r\n";
	s->node.methods.knows |= UINT64_C(1) << RL_SCRIPT_RELEASE;
	scene_play(s, "acquire 1 #1; release 1 #2; acquire 2 #3; hear");
	for (unsigned i = 0; i < sizeof stream - 1; i++) {
		char byte[2] = {stream[i], '\0'};
		scene_say(s, byte);
	}
	expect_answers(s, "acquire #1 YES\nacquire #3 NO\nrelease #2 YES\n");
}

/* ---- the end ---- */

/* A node over TCP, where it matters how a connection is closed. The test is the server. */
static struct scene *open_tcp_scene(void)
{
	int port, listener = child_listen(0, &port);
	struct scene *s = scene_open("", "");
	assert_true(rl_resolve_literal("127.0.0.1", (uint16_t)port, &s->node.link.dial.known.list[0]));
	rl_node_connect(&s->node, s->now_ns);
	s->peer = accept(listener, NULL, NULL);
	assert_true(s->peer >= 0);
	close(listener);
	for (unsigned i = 0; i < 1000 && s->node.link.state != RL_LINK_OPEN; i++)
		scene_turn(s);
	return s;
}

/* Closes the node and reads to the end. Returns the errno of the end: 0 when it is in order. */
static int close_and_read(struct scene *s, bool child, size_t *ret_size)
{
	static char bytes[65536];
	ssize_t got;
	*ret_size = 0;
	rl_node_close(&s->node, child);
	while ((got = recv(s->peer, bytes, sizeof bytes, 0)) > 0)
		*ret_size += (size_t)got;
	int error = got < 0 ? errno : 0;
	assert_true(rl_node_open(&s->node, &(struct rl_endpoint){.host = strdup("::1")}, NULL, &s->poller,
	                         3)); /* for scene_close() */
	scene_close(s);
	return error;
}

/* All is sent: it is delivered, the release with it. */
TEST(close_in_order)
{
	size_t size;
	struct scene *s = open_tcp_scene();
	scene_play(s, "acquire 1 #1; owe 1 #0; turn");
	size_t sent = s->node.link.setup.tail + s->node.link.outbox.tail;
	assert_int_equal(close_and_read(s, false, &size), 0);
	assert_int_equal(size, sent);
}

/* The release after a SET is held back: then the SET must not be delivered alone. */
TEST(close_abortively)
{
	for (unsigned child = 0; child < 2; child++) {
		struct scene *s = open_tcp_scene();
		size_t size;
		scene_narrow(s, 8192);
		for (unsigned i = 0; i < 60; i++) /* more than the sockets hold */
			assert_int_equal(scene_large(s, REDLOCK_OP_ACQUIRE, 65536, false), REDLOCK_VOTE_PENDING);
		scene_turn(s);
		assert_true(rl_outbox_unsent(&s->node.link.outbox).size > 0);
		/* A child shares the connection with its parent, who goes on with it. */
		assert_int_equal(close_and_read(s, child, &size), child ? 0 : ECONNRESET);
	}
}

/* ---- what piles up ---- */

static enum redlock_vote_code submit_large(struct scene *s, enum redlock_operation operation, bool owed)
{
	return scene_large(s, operation, 10000, owed);
}

/* A node that does not answer: requests are refused first, releases later, then they become debts; all is
 * bounded. */
TEST(backlog)
{
	own_scene *s = scene_connected(9);
	unsigned taken = 0;
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 7);
	s->now_ns += rl_time_ms(150); /* since then nothing came */
	while (submit_large(s, REDLOCK_OP_ACQUIRE, false) == REDLOCK_VOTE_PENDING)
		assert_true(++taken < 1000);
	assert_int_equal(submit_large(s, REDLOCK_OP_QUERY, false), REDLOCK_VOTE_BACKLOG);
	size_t requests = rl_outbox_size(&s->node.link.outbox);
	assert_in_range(requests, 100000, 256 * 1024);
	while (submit_large(s, REDLOCK_OP_RELEASE, true) == REDLOCK_VOTE_PENDING)
		assert_true(++taken < 1000);
	assert_in_range(rl_outbox_size(&s->node.link.outbox), requests + 50000, 512 * 1024);
	assert_int_equal(s->node.ledger.debts.count, 1);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(submit_large(s, REDLOCK_OP_RELEASE, true), REDLOCK_VOTE_BACKLOG);
	assert_true(rl_outbox_size(&s->node.ledger.debts) <= 256 * 1024);
	assert_true(s->node.ledger.lingering > 900);
	unsigned debts = s->node.ledger.debts.count;
	scene_turn(s); /* they wait for what was asked before them */
	assert_int_equal(s->node.ledger.debts.count, debts);
	assert_true(s->node.link.outbox.capacity + s->node.ledger.debts.capacity <= 4 * 1024 * 1024);
}

TEST(backlog_of_a_busy_node)
{
	own_scene *s = scene_connected(9);
	for (unsigned i = 0; i < 100; i++) /* a million bytes in one moment */
		assert_int_equal(submit_large(s, REDLOCK_OP_ACQUIRE, false), REDLOCK_VOTE_PENDING);
	unsigned taken = 100;
	while (submit_large(s, REDLOCK_OP_ACQUIRE, false) == REDLOCK_VOTE_PENDING)
		assert_true(++taken < 10000);
	assert_true(rl_outbox_size(&s->node.link.outbox) <= 5 * 1024 * 1024);
}

TEST(one_large_request)
{
	own_scene *s = scene_connected(9);
	static char name[65536];
	struct rl_request set = {.operation = REDLOCK_OP_ACQUIRE,
	                         .tag = {.seq = 1},
	                         .name = {name, sizeof name},
	                         .token = {name, 512},
	                         .ttl_ms = 1};
	s->now_ns += rl_time_ms(500);
	assert_int_equal(scene_request(s, &set), REDLOCK_VOTE_PENDING);
	scene_listen(s);
	assert_int_equal(s->heard_size, s->node.link.outbox.tail);
}

/* A release that did not fit while the node was slow is paid when it answers again, also under load: nothing
 * that is asked for later overtakes it, and it does not wait for ever. */
TEST(debts_of_an_open_connection)
{
	own_scene *s = scene_begin_connected(9, "acquire 1 #1; pass 150");
	unsigned taken = 0;
	while (submit_large(s, REDLOCK_OP_RELEASE, false) == REDLOCK_VOTE_PENDING)
		taken++;
	while (scene_submit(s, REDLOCK_OP_RELEASE, 9, 9) == REDLOCK_VOTE_PENDING)
		taken++;
	assert_int_equal(scene_owe(s, 1, 0), REDLOCK_VOTE_BACKLOG);
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_heard(s);
	scene_say(s, "+OK\r\n");
	for (; taken > 1; taken--)
		scene_say(s, ":0\r\n");
	/* The load: two are asked for whenever one is answered, so that there is always something in flight. */
	char asked[512] = "r";
	size_t answered = 0;
	for (unsigned i = 0; i < 100 && rl_node_owed(&s->node) > 0; i++) {
		(void)scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
		(void)scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
		for (const char *line = scene_heard(s); *line != '\0'; line = strchr(line, '\n') + 1)
			strcat(asked, line[0] == 'S' ? "s" : "r");
		assert_true(asked[answered] != '\0');
		scene_say(s, asked[answered++] == 's' ? "$-1\r\n" : ":1\r\n");
	}
	expect_owed(s, 0, 0);
}

/* ---- answers that nobody asked for ---- */

TEST(unasked)
{
	static const char *const said[] = {
	    "+OK\r\n", /* nothing is out */
	    "$3\r\nabc\r\n",    "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n",
	    "\x01\x02\x03\r\n", "HTTP/1.1 200 OK\r\n",
	};
	for (unsigned i = 0; i < COUNT(said); i++) {
		own_scene *s = scene_connected(9);
		scene_say(s, said[i]);
		assert_int_equal(s->node.link.state, RL_LINK_DOWN);
		assert_int_equal(s->node.link.failure, REDLOCK_VOTE_GARBAGE);
	}
}

TEST(too_early)
{
	own_scene *s = scene_connected(9);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1); /* in the outbox: the answer is read before it goes out */
	scene_vote(s, "+OK\r\n", "acquire #1 UNSENT\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_GARBAGE);
}

TEST(one_too_many)
{
	own_scene *s = scene_begin_connected(9, "acquire 1 #1; hear");
	scene_vote(s, "+OK\r\n+OK\r\n", "acquire #1 YES\n");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
}

TEST(answers_before_the_end)
{
	own_scene *s = scene_begin_connected(9, "acquire 1 #1; acquire 2 #2; hear");
	assert_int_equal(send(s->peer, "+OK\r\n$-", 7, 0), 7);
	scene_play(s, "hang up; turn");
	expect_answers(s, "acquire #1 YES\nacquire #2 CLOSED\n");
}

/* The end is met while sending: reading tells why, and what was not sent did not happen. */
TEST(sending_fails)
{
	own_scene *s = scene_begin_connected(9, "acquire 1 #1; hang up; flush");
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	scene_turn(s);
	assert_string_equal(s->node.link.failure_text, "connection closed by the server");
	expect_answers(s, "acquire #1 UNSENT\n");
}

/* The poller may be wrong; a node that is not open is not touched. */
TEST(ready_without_cause)
{
	own_scene *s = scene_connected(9);
	rl_link_ready(&s->node.link, s->node.link.watch_id, RL_READABLE | RL_WRITABLE, s->now_ns);
	rl_node_tick(&s->node, s->now_ns);
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	scene_play(s, "hang up; turn");
	rl_link_ready(&s->node.link, s->node.link.watch_id, RL_READABLE | RL_WRITABLE, s->now_ns);
	rl_submit_flush(&s->node);
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	expect_answers(s, "");
}

TEST(fail_twice)
{
	own_scene *s = scene_connected(9);
	rl_link_fail(&s->node.link, REDLOCK_VOTE_DOWN, "first, with more");
	rl_link_fail(&s->node.link, REDLOCK_VOTE_GARBAGE, "second");
	assert_string_equal(s->node.link.failure_text, "first");
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_DOWN); /* while it is broken */
	scene_turn(s);
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
}

TESTS()
