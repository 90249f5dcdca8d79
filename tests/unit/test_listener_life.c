/* SPDX-License-Identifier: MIT */
/* When the second link of a node is opened, refused, found dead, given up and made again; and that nothing of
 * it harms the first. */
#include <errno.h>

#include "listener_stage.h"

/* ---- refused ---- */

#define NO_CHANNEL "-NOPERM this user has no permissions to access one of the channels used as arguments\r\n"

static void refuse(void)
{
	listener_opens();
	says(RUN_ID("1") NO_CHANNEL);
	expect_left();
	assert_null(node()->listener);
	listen();
	assert_null(node()->listener);
}

TEST(refused)
{
	static const char *const answers[] = {
	    RUN_ID("1") NO_CHANNEL,
	    RUN_ID("1") "-NOPERM this user has no permissions to run the 'subscribe' command\r\n",
	    RUN_ID("1") "-ERR unknown command 'SUBSCRIBE', with args beginning with: 'x' \r\n",
	    "-NOAUTH Authentication required.\r\n",
	    "-NOPERM this user has no permissions to run the 'info' command\r\n",
	    "$0\r\n\r\n",
	};
	for (unsigned i = 0; i < COUNT(answers); i++) {
		uint32_t before = wires.count;
		listener_opens();
		says(answers[i]);
		expect_left();
		assert_null(node()->listener); /* what it takes is given back */
		assert_true(redlock_timeout_ns(client) == REDLOCK_NEVER_NS);
		for (unsigned s = 0; s < 59; s++) {
			pass(1000);
			listen();
		}
		assert_int_equal(wires.count, before + 1);
		pass(1000);
	}
	listener_stands();
}

/* The error of a busy server is no refusal. */
TEST(refused_for_a_moment)
{
	listener_opens();
	says(RUN_ID("1") "-BUSY Redis is busy running a script.\r\n");
	expect_left();
	comes_back_within(200);
}

TEST(refused_until_the_server_is_another)
{
	refuse();
	wires.list[1 + AT].ended = true;
	turn();
	pass(1000);
	greet(wire_last(), "", '1');
	listen();
	assert_null(node()->listener); /* the same one */
	wire_last()->ended = true;
	turn();
	pass(1000);
	greet(wire_last(), "", '2');
	listener_opens();
}

TEST(refused_until_the_credentials_are_others)
{
	refuse();
	assert_int_equal(redlock_set_credentials(client, NULL, "new"), 0);
	listen();
	turn();
	assert_string_equal(heard(ear), "*2\r\n$4\r\nAUTH\r\n$3\r\nnew\r\n" OPENING);
}

/* ---- new credentials ---- */

/* A subscribed connection cannot log in again: a new connection does, and the old one is left at once. */
TEST(new_credentials)
{
	listener_stands();
	uint32_t at = wires.count;
	assert_int_equal(redlock_set_credentials(client, "me", "new"), 0);
	assert_false(wires.list[at - 1].open);
	assert_int_equal(wires.count, at + 1);
	ear = wire_last();
	turn();
	assert_string_equal(heard(ear), "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$3\r\nnew\r\n" OPENING);
	assert_int_equal(redlock_set_credentials(client, "me", "newer"), 0); /* while it opens */
	turn();
	assert_string_equal(heard(wire_last()), "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$5\r\nnewer\r\n" OPENING);
	ear = wire_last();
	says("+OK\r\n" RUN_ID("1") SUBSCRIBED);
	assert_true(rl_node_hears(node()));
}

/* The first link stays as the server has left it; this one is given up. */
TEST(new_credentials_are_refused)
{
	listener_stands();
	assert_int_equal(redlock_set_credentials(client, "me", "wrong"), 0);
	ear = wire_last();
	turn();
	says("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
	expect_left();
	assert_null(node()->listener);
}

/* ---- a connection that is silent ---- */

TEST(ping)
{
	listener_stands();
	for (unsigned i = 0; i < 4; i++) {
		static const char *const answers[] = {PONG, "-NOPERM no\r\n", MESSAGE("$1\r\n1") PONG,
		                                      "-MISCONF no\r\n"};
		listen();
		pass(4999);
		assert_string_equal(heard(ear), "");
		pass(1);
		assert_string_equal(heard(ear), PING);
		pass(999);
		says(answers[i]);
		assert_true(rl_node_hears(node()));
		assert_string_equal(heard(ear), "");
	}
	expect_woken("1@1 ");
}

TEST(messages_are_signs_of_life)
{
	listener_stands();
	for (unsigned i = 0; i < 9; i++) {
		pass(4999);
		listen();
		says(MESSAGE("$1\r\n1"));
		assert_string_equal(heard(ear), "");
	}
}

TEST(no_answer_to_a_ping)
{
	listener_stands();
	pass(5000);
	assert_string_equal(heard(ear), PING);
	pass(999);
	assert_true(rl_node_hears(node()));
	pass(1);
	expect_left();
	comes_back_within(100);
}

/* A server that is stopped accepts, and says nothing. */
TEST(no_answer_while_opening)
{
	listener_opens();
	for (unsigned s = 0; s < 4; s++)
		pass(1000);
	assert_true(ear->open);
	listen();
	pass(1000);
	expect_left();
	comes_back_within(100);
}

/* ---- who needs it ---- */

TEST(lingers)
{
	listener_stands();
	pass(5000);
	says(PONG);
	listen();
	pass(5000);
	says(PONG);
	assert_true(rl_node_hears(node()));
	pass(4999);
	assert_true(rl_node_hears(node()));
	pass(1);
	expect_left();
	assert_null(node()->listener);
	assert_true(redlock_timeout_ns(client) == REDLOCK_NEVER_NS);
	assert_int_equal(client->nodes.listening, 0);
}

/* Late reports about the previous connection are ignored. */
TEST(ids_are_not_used_again)
{
	uint32_t before = 0;
	for (unsigned i = 0; i < 3; i++) {
		listener_stands();
		uint32_t id = node()->listener->link.watch_id;
		assert_int_not_equal(id, before);
		assert_int_equal(id % RL_WATCH_LINKS, AT + RL_WATCH_NODES);
		before = id;
		pass(5000);
		says(PONG);
		pass(5000);
		assert_null(node()->listener);
		rl_node_listener_ready(node(), id, RL_READABLE, wires.now_ns); /* late, for nobody */
	}
}

TEST(is_down)
{
	wires.connect_error = ECONNREFUSED;
	for (unsigned i = 0; i < 20; i++) {
		listen();
		assert_false(rl_node_hears(node()));
		pass(500);
	}
	assert_int_equal(wires.count, 1 + NODES);
	uint64_t due = rl_nodes_deadline(&client->nodes, wires.now_ns) - wires.now_ns;
	assert_in_range(due, 0, rl_time_ms(3000));
	assert_int_equal(redlock_drain(client, 10000), 0); /* it waits for no listener */
	assert_int_equal(redlock_start_acquire(lock), 0);
	turn();
	assert_non_null(strstr(heard(&wires.list[1 + AT]), "SET"));
	wires.connect_error = 0;
	wires.now_ns += due;
	turn();
	assert_int_equal(wires.count, 1 + NODES + 1);
	assert_int_equal(redlock_cancel(lock), 0);
}

TEST(connecting_takes_long)
{
	rl_nodes_listen(&client->nodes, AT, rl_slice_of("name"), CHANNEL, wires.now_ns);
	ear = wire_last();
	ear->due_ns = UINT64_MAX;
	pass(2999);
	assert_int_equal(redlock_drain(client, 10000), 0);
	pass(1);
	expect_left();
	comes_back_within(100);
}

/* The socket takes a part at a time, and what cannot be watched is given up. */
TEST(sends_in_parts)
{
	wires.send_most = 7;
	listen();
	for (unsigned i = 0; i < sizeof OPENING / 7 + 2; i++)
		turn();
	assert_string_equal(heard(ear), OPENING);
	wires.send_most = SIZE_MAX;
	wires.watch_error = ENOSPC;
	turn();
	wires.watch_error = 0;
	says(RUN_ID("1") SUBSCRIBED);
}

TEST(cannot_be_watched)
{
	wires.watch_error = ENOSPC;
	listen();
	assert_false(ear->open);
	wires.watch_error = 0;
	comes_back_within(100);
	says(RUN_ID("1") SUBSCRIBED);
	assert_true(rl_node_hears(node()));
}

/* ---- close and fork ---- */

TEST(close_at_any_time)
{
	for (unsigned how = 0; how < 5; how++) {
		if (how > 0) {
			close_stage();
			open_stage();
		}
		if (how == 0)
			rl_nodes_listen(&client->nodes, AT, rl_slice_of("name"), CHANNEL, wires.now_ns);
		if (how == 1)
			listen();
		if (how == 2)
			listener_opens();
		if (how >= 3)
			listener_stands();
		if (how == 4)
			pass(5000);
	}
}

/* A child process leaves all that it shares, and says nothing. */
TEST(child)
{
	listener_stands();
	pass(5000);
	heard(ear);
	struct rl_listener *l = node()->listener;
	node()->listener = NULL;
	rl_listener_free(l, true);
	assert_string_equal(heard(ear), "");
}

TESTS(.before = open_stage, .after = close_stage)
