/* SPDX-License-Identifier: MIT */
/* The second link of a node: what is said and heard on it, byte for byte, and which server must be there. */
#include "listener_stage.h"

/* ---- opening ---- */

TEST(nothing_before_somebody_waits)
{
	assert_null(node()->listener);
	pass(60000);
	assert_int_equal(wires.count, 1 + NODES);
	assert_true(redlock_timeout_ns(client) == REDLOCK_NEVER_NS);
}

TEST(opens)
{
	listener_opens();
	assert_false(rl_node_hears(node()));
	says(RUN_ID("1"));
	assert_false(rl_node_hears(node()));
	says(SUBSCRIBED);
	assert_true(rl_node_hears(node()));
	listen(); /* it is there already */
	assert_int_equal(wires.count, 1 + NODES + 1);
	assert_string_equal(heard(ear), "");
	assert_string_equal(heard(&wires.list[1 + AT]), "");
}

/* No database is chosen: channels have none. */
TEST(logs_in)
{
	close_stage();
	open_with("unix://me:pw@/0?db=3", "unix://me:pw@/1?db=3", "+OK\r\n+OK\r\n");
	listen();
	turn();
	assert_string_equal(heard(ear), "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\npw\r\n" OPENING);
	says("+OK\r\n" RUN_ID("1") SUBSCRIBED MESSAGE("$1\r\n5"));
	assert_true(rl_node_hears(node()));
	expect_woken("5@1 ");
}

/* The address is the one that the node has reached; until it knows who is there, nothing is opened. */
TEST(waits_for_the_first_link)
{
	struct wire *first = &wires.list[1 + AT];
	first->ended = true;
	turn();
	listen();
	assert_int_equal(wires.count, 1 + NODES);
	pass(1000);
	assert_int_equal(wires.count, 1 + NODES + 1);
	greet(wire_last(), "", '1');
	assert_int_equal(wires.count, 1 + NODES + 2);
	ear = wire_last();
	turn();
	assert_string_equal(heard(ear), OPENING);
}

/* A server that does not say who it is cannot be told from another one. */
TEST(anonymous_server)
{
	wires.list[1 + AT].ended = true;
	turn();
	pass(1000);
	turn();
	wire_say(wire_last(), ":7\r\n-NOPERM no\r\n" NO_NATIVE);
	listen();
	assert_int_equal(wires.count, 1 + NODES + 1);
	assert_false(rl_node_hears(node()));
}

/* ---- messages ---- */

TEST(messages)
{
	listener_stands();
	says(MESSAGE("$1\r\n0") MESSAGE("$2\r\n17"));
	expect_woken("0@1 17@1 ");
	says(MESSAGE("$10\r\n4294967295"));
	expect_woken("4294967295@1 ");
	wires.read_most = 1;
	wire_say(ear, MESSAGE("$1\r\n3") MESSAGE("$1\r\n4"));
	for (unsigned i = 0; i < 2 * sizeof MESSAGE("$1\r\n4"); i++)
		turn();
	expect_woken("3@1 4@1 ");
}

TEST(message_after_the_confirmation)
{
	listener_opens();
	says(RUN_ID("1") SUBSCRIBED MESSAGE("$1\r\n9"));
	expect_woken("9@1 ");
}

/* Whatever else it says ends it, is nobody's message, and no vote suffers. */
TEST(misbehaves)
{
	static const char *const before[] = {
	    SUBSCRIBED,
	    "+OK\r\n",
	    RUN_ID("1") "+OK\r\n",
	    RUN_ID("1") "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
	    RUN_ID("1") "*3\r\n$9\r\nsubscribe\r\n$29\r\n" CHANNEL "\r\n:2\r\n",
	    RUN_ID("1") MESSAGE("$1\r\n5") SUBSCRIBED,
	    "HTTP/1.1 400 Bad Request\r\n\r\n",
	};
	static const char *const behind[] = {
	    MESSAGE("$0\r\n"),
	    MESSAGE("$1\r\nx"),
	    MESSAGE("$2\r\n-1"),
	    MESSAGE("$2\r\n 1"),
	    MESSAGE("$10\r\n4294967296"),
	    MESSAGE("$21\r\n184467440737095516170"),
	    MESSAGE("$-1"),
	    MESSAGE(":5"),
	    "*3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$1\r\n5\r\n",
	    "*3\r\n$9\r\nsubscribe\r\n$29\r\n" CHANNEL "\r\n:1\r\n",
	    "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$29\r\n" CHANNEL "\r\n$1\r\n5\r\n",
	    "*2\r\n$7\r\nmessage\r\n$29\r\n" CHANNEL "\r\n",
	    "*3\r\n$7\r\nmessage\r\n*1\r\n:1\r\n$1\r\n5\r\n",
	    PONG,
	    "-ERR what\r\n",
	    "+OK\r\n",
	    ":1\r\n",
	    "$-1\r\n",
	    "*0\r\n",
	    ">3\r\n$7\r\nmessage\r\n",
	    "\x15\x03\x03",
	};
	for (unsigned i = 0; i < COUNT(before) + COUNT(behind); i++) {
		bool stands = i >= COUNT(before);
		if (i > 0) {
			close_stage();
			open_stage();
		}
		assert_int_equal(redlock_start_acquire(lock), 0);
		turn();
		if (stands)
			listener_stands();
		else
			listener_opens();
		says(stands ? behind[i - COUNT(before)] : before[i]);
		expect_woken("");
		expect_left();
		wire_say(&wires.list[1], "+OK\r\n");
		wire_say(&wires.list[2], "+OK\r\n");
		turn();
		assert_true(redlock_remaining_ms(lock) > 0);
		comes_back_within(200);
		struct redlock_event event = {.size = sizeof event};
		assert_int_equal(redlock_next(client, &event), 1);
	}
}

/* ---- what becomes of keys ---- */

#define KEY "__keyspace@0__:a\nb"
#define FOLLOW "*2\r\n$9\r\nSUBSCRIBE\r\n$18\r\n" KEY "\r\n"
#define LEAVE "*2\r\n$11\r\nUNSUBSCRIBE\r\n$18\r\n" KEY "\r\n"
#define FOLLOWED "*3\r\n$9\r\nsubscribe\r\n$18\r\n" KEY "\r\n:2\r\n"
#define LEFT "*3\r\n$11\r\nunsubscribe\r\n$18\r\n" KEY "\r\n:1\r\n"
#define EVENT(text) "*3\r\n$7\r\nmessage\r\n$18\r\n" KEY "\r\n" text "\r\n"

static bool follow(bool on)
{
	return rl_node_follow(node(), rl_slice_of("a\nb"), on, wires.now_ns);
}

TEST(ends_of_keys)
{
	static char name[RL_HEARD_CHANNEL];
	assert_false(follow(true));
	listener_stands();
	assert_false(rl_node_follow(node(), (struct rl_slice){name, sizeof name}, true, wires.now_ns));
	assert_true(follow(true));
	assert_string_equal(heard(ear), FOLLOW);
	says(FOLLOWED EVENT("$6\r\nexpire") EVENT("$3\r\ndel") EVENT("$7\r\nexpired") MESSAGE("$1\r\n5"));
	expect_woken("0a\nb@1 0a\nb@1 5@1 ");
	says(EVENT("$7\r\nevicted") EVENT("$11\r\nrename_from") EVENT("$9\r\nmove_from") EVENT("$0\r\n"));
	expect_woken("0a\nb@1 0a\nb@1 0a\nb@1 ");
	assert_true(follow(false) && follow(true));
	assert_string_equal(heard(ear), LEAVE FOLLOW);
	says(EVENT("$3\r\ndel") LEFT FOLLOWED MESSAGE("$1\r\n6"));
	expect_woken("0a\nb@1 6@1 ");
	pass(5000);
	assert_string_equal(heard(ear), PING);
	says(PONG);
}

/* The messages to the client are heard all the same. It is not asked again before somebody logs in anew. */
TEST(keys_are_refused)
{
	listener_stands();
	assert_true(follow(true));
	says("-NOPERM no\r\n" MESSAGE("$1\r\n5"));
	expect_woken("5@1 ");
	heard(ear);
	assert_false(follow(true) || follow(false));
	assert_string_equal(heard(ear), "");
	assert_int_equal(redlock_set_credentials(client, NULL, "new"), 0);
	listen();
	turn();
	says("+OK\r\n" RUN_ID("1") SUBSCRIBED);
	assert_true(follow(true));
}

/* The server answers within a second, and to the question. */
TEST(keys_and_a_server_that_fails)
{
	static const char *const answers[] = {
	    NULL,
	    LEFT,
	    PONG,
	    SUBSCRIBED,
	    "*3\r\n$9\r\nsubscribe\r\n$18\r\n" KEY "\r\n$1\r\n2\r\n",
	    "*3\r\n$9\r\nsubscribe\r\n:18\r\n:2\r\n",
	    FOLLOWED FOLLOWED,
	    FOLLOWED EVENT("$-1"),
	    "*3\r\n$7\r\nmessage\r\n$18\r\n__keyspace@1__:a\nb\r\n$3\r\ndel\r\n"};
	for (unsigned i = 0; i < COUNT(answers); i++) {
		listener_stands();
		assert_true(follow(true));
		if (answers[i] != NULL)
			says(answers[i]);
		else
			pass(1000);
		expect_left();
		expect_woken("");
		close_stage();
		open_stage();
	}
}

/* ---- which server ---- */

/* Two processes share one address, as while one takes over from the other. */
TEST(another_server_answers)
{
	static const unsigned most_ms[] = {100, 200, 400, 800, 1600, 3000, 3000};
	listener_opens();
	for (unsigned i = 0; i < COUNT(most_ms); i++) {
		says(RUN_ID("2") SUBSCRIBED MESSAGE("$1\r\n5"));
		expect_woken("");
		expect_left();
		listen(); /* a waiter does not hurry it */
		assert_false(ear->open);
		comes_back_within(most_ms[i]);
	}
	says(RUN_ID("1") SUBSCRIBED);
	assert_true(rl_node_hears(node()));
}

/* The first link has lost its server: what is heard does not count until it is known to be the same. */
TEST(first_link_ends_and_comes_back)
{
	listener_stands();
	wires.list[1 + AT].ended = true;
	turn();
	assert_false(rl_node_hears(node()));
	says(MESSAGE("$1\r\n5"));
	pass(1000);
	struct wire *again = wire_last();
	assert_ptr_not_equal(again, ear);
	ear = &wires.list[1 + NODES];
	says(MESSAGE("$1\r\n6"));
	expect_woken("");
	greet(again, "", '1');
	assert_true(ear->open && rl_node_hears(node()));
	says(MESSAGE("$1\r\n7"));
	expect_woken("7@1 ");
}

/* The server was restarted, or its name has moved: the subscription is at the wrong place. */
TEST(first_link_meets_another_server)
{
	listener_stands();
	wires.list[1 + AT].ended = true;
	turn();
	pass(1000);
	struct wire *again = wire_last();
	greet(again, "", '2');
	assert_false(wires.list[1 + NODES].open);
	assert_int_equal(wires.count, 1 + NODES + 3);
	ear = wire_last();
	turn();
	assert_string_equal(heard(ear), OPENING);
	says(RUN_ID("2") SUBSCRIBED MESSAGE("$1\r\n7"));
	expect_woken("7@1 ");
}

TESTS(.before = open_stage, .after = close_stage)
