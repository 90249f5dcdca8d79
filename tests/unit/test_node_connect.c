/* SPDX-License-Identifier: MIT */
/* A node's connection: how it opens, what must be answered before anything else is sent, how it fails and
 * comes back. */
#include "scene.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(opening_bytes)
{
	static const char want[] =
	    "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$5\r\np\"w@:\r\n*2\r\n$6\r\nSELECT\r\n$2\r\n15\r\n"
	    "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n"
	    "*4\r\n$7\r\nCOMMAND\r\n$4\r\nINFO\r\n$5\r\ndelex\r\n$7\r\ndelifeq\r\n";
	own_scene *s = scene_begin("me:p%22w@:@", "?db=15", "connect; accept");
	scene_listen(s);
	assert_int_equal(s->heard_size, sizeof want - 1);
	assert_memory_equal(s->heard, want, sizeof want - 1);
}

TEST(no_gate)
{
	own_scene *s = scene_open("", "");
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_PENDING); /* connects */
	assert_int_equal(s->node.link.state, RL_LINK_CONNECTING);
	scene_accept(s);
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	scene_reply(s, HELLO "SET job token1 NX PX 30000\n", ":42\r\n");
	assert_int_equal(s->node.link.facts.client_id, 42);
	scene_say(s, "$47\r\nrun_id:0123456789012345678901234567890123456789\r\n" NO_NATIVE "+OK\r\n");
	assert_string_equal(s->node.link.facts.run_id, "0123456789012345678901234567890123456789");
	assert_true(s->node.identified);
	expect_answers(s, "acquire #1 YES\n");
	assert_true(rl_link_deadline(&s->node.link) == UINT64_MAX);
}

TEST(gate)
{
	own_scene *s = scene_begin(":pw@", "?db=2", "acquire 1 #1; accept");
	expect_heard(s, "AUTH pw\nSELECT 2\n" HELLO);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
	scene_say(s, "+OK\r\n");
	scene_reply(s, "", "+O");
	scene_reply(s, "", "K\r\n");
	expect_heard(s, "SET job token1 NX PX 30000\nSET job token2 NX PX 30000\n");
	scene_vote(s, ":1\r\n-NOPERM no\r\n" NO_NATIVE "+OK\r\n$-1\r\n", "acquire #1 YES\nacquire #2 NO\n");
	assert_string_equal(s->node.link.facts.run_id, "");
}

TEST(user_without_password)
{
	own_scene *s = scene_begin("me@", "", "connect; accept");
	expect_heard(s, "AUTH me \n" HELLO);
}

/* A refused password: the reason is the vote of all that waited; nothing was sent. */
TEST(gate_refused)
{
	static const struct {
		const char *reply;
		const char *answers;
		const char *text;
	} cases[] = {
	    {"-WRONGPASS invalid username-password pair or user is disabled.\r\n", "acquire #1 AUTH\n",
	     "WRONGPASS invalid username-password pair or user is disabled."},
	    {"-ERR unknown command 'AUTH', with args beginning with: 'pw' \r\n", "acquire #1 COMMAND\n",
	     "ERR unknown command 'AUTH'"}, /* without the password */
	    {"+OK\r\n-ERR DB index is out of range\r\n", "acquire #1 DATABASE\n", "ERR DB index is out of range"},
	    {"-LOADING Redis is loading the dataset in memory\r\n", "acquire #1 LOADING\n",
	     "LOADING Redis is loading the dataset in memory"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = scene_open(":pw@", "?db=2");
		scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
		scene_owe(s, 1, 0); /* after a SET that is never sent: no debt */
		scene_play(s, "accept; hear");
		scene_vote(s, cases[i].reply, cases[i].answers);
		assert_string_equal(s->node.link.failure_text, cases[i].text);
		assert_int_equal(s->node.link.state, RL_LINK_DOWN);
		expect_owed(s, 0, 0);
		/* While it is down, the vote comes at once. */
		enum redlock_vote_code vote = scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 2);
		assert_int_equal(vote, s->node.link.failure);
		assert_int_equal(redlock_vote_kind(vote), i == 3 ? REDLOCK_KIND_MISSING : REDLOCK_KIND_FATAL);
	}
}

TEST(nobody_listens)
{
	own_scene *s = scene_open("", "");
	assert_int_equal(unlink(s->path), 0);
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_DOWN);
	assert_int_equal(rl_link_deadline(&s->node.link), 0); /* broken: to be collected at once */
	scene_turn(s);
	expect_answers(s, "");
	assert_string_equal(s->node.link.failure_text, "No such file or directory");
}

/* Over TCP a refusal comes later, as the outcome of the connect. */
TEST(refused_over_tcp)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int bound = socket(AF_INET, SOCK_STREAM, 0); /* takes a port, and does not listen */
	assert_int_equal(bind(bound, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(getsockname(bound, (struct sockaddr *)&address, &size), 0);
	own_scene *s = scene_open("", "");
	assert_true(rl_resolve_literal("127.0.0.1", ntohs(address.sin_port), &s->node.link.dial.known.list[0]));
	enum redlock_vote_code vote = scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	for (unsigned i = 0; i < 1000 && s->node.link.state != RL_LINK_DOWN; i++) {
		struct rl_ready ready;
		if (s->node.link.state == RL_LINK_CONNECTING && rl_poller_wait(&s->poller, &ready, 1, NULL) == 1)
			rl_link_ready(&s->node.link, ready.id, ready.events, s->now_ns);
		scene_turn(s);
	}
	if (vote == REDLOCK_VOTE_PENDING)
		expect_answers(s, "acquire #1 DOWN\n");
	else
		assert_int_equal(vote, REDLOCK_VOTE_DOWN);
	assert_string_equal(s->node.link.failure_text, "Connection refused");
	assert_int_equal(s->node.link.backoff.failures, 1);
	close(bound);
}

TEST(unresolved)
{
	own_scene *s = scene_open("", "");
	s->node.link.dial.known.count = 0;
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_NAME);
	assert_int_equal(scene_owe(s, 1, 0), REDLOCK_VOTE_NAME);
	assert_int_equal(rl_node_owed(&s->node), 0);
	assert_true(rl_link_deadline(&s->node.link) == UINT64_MAX);
	rl_node_connect(&s->node, s->now_ns);
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
}

/* The delays between connections that fail double up to 3 s, and are random. */
TEST(backoff)
{
	own_scene *s = scene_open("", "");
	assert_int_equal(unlink(s->path), 0);
	static const unsigned most_ms[] = {100, 200, 400, 800, 1600, 3000, 3000, 3000};
	uint64_t delays[COUNT(most_ms)];
	scene_play(s, "connect; turn");
	for (unsigned i = 0; i < COUNT(most_ms); i++) {
		assert_int_equal(s->node.link.state, RL_LINK_DOWN);
		uint64_t due = rl_link_deadline(&s->node.link);
		delays[i] = due - s->now_ns;
		assert_in_range(delays[i], rl_time_ms(most_ms[i]) / 2, rl_time_ms(most_ms[i]));
		assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_DOWN); /* and waits */
		assert_int_equal(s->node.link.state, RL_LINK_DOWN);
		s->now_ns = due - 1;
		rl_node_tick(&s->node, s->now_ns);
		assert_int_equal(s->node.link.state, RL_LINK_DOWN); /* not yet */
		s->now_ns = due;
		scene_play(s, "tick; turn");
	}
	/* The last three had the same limit, and three random numbers in nanoseconds. */
	assert_true(delays[5] != delays[6] || delays[6] != delays[7]);
}

/* A connection that worked comes back at once when it is needed, else within a second; its backoff begins
 * anew. */
TEST(comes_back_on_demand)
{
	own_scene *s = scene_open("", "");
	s->node.link.backoff.failures = 5;
	scene_play(s, "connect; greet 1; pass 1000; hang up; turn");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	assert_int_equal(s->node.link.backoff.failures, 0);
	expect_failure(s, REDLOCK_VOTE_CLOSED, "connection closed by the server");
	assert_in_range(rl_link_deadline(&s->node.link) - s->now_ns, 0, rl_time_ms(1000));
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_PENDING);
	scene_accept(s);
	expect_heard(s, HELLO "SET job token1 NX PX 30000\n");
}

/* A connection that opens and ends soon is excused once. Then it counts as one that never opened: a server
 * that closes on every command is not asked again with every operation. */
TEST(brief_connections)
{
	static const unsigned want_failures[] = {0, 1, 2, 3};
	own_scene *s = scene_open("", "");
	for (unsigned i = 0; i < COUNT(want_failures); i++) {
		rl_node_connect(&s->node, s->now_ns);
		scene_greet(s, (int)i + 1);
		scene_play(s, "pass 999; hang up; turn");
		assert_int_equal(s->node.link.backoff.failures, want_failures[i]);
	}
	assert_in_range(rl_link_deadline(&s->node.link) - s->now_ns, rl_time_ms(200), rl_time_ms(400));
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_DOWN);
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
}

TEST(debts_come_back_soon)
{
	for (unsigned i = 0; i < 50; i++) {
		own_scene *s = scene_connected((int)i + 1);
		scene_play(s, "pass 1000; acquire 1 #1; owe 1 #0; hear; hang up; turn; take");
		assert_true(rl_node_owed(&s->node) > 0);
		assert_in_range(rl_link_deadline(&s->node.link) - s->now_ns, 0, rl_time_ms(100));
	}
}

TEST(closed_in_the_greeting)
{
	own_scene *s = scene_begin("", "", "connect; accept");
	scene_say(s, ":1\r\n");
	scene_play(s, "hang up; turn");
	assert_int_equal(s->node.link.backoff.failures, 1);
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_DOWN);
}

/* A server that is full says so and closes: that is the reason to be told. */
TEST(told_and_closed)
{
	static const struct {
		const char *said;
		enum redlock_vote_code failure;
		const char *text;
	} cases[] = {
	    {"-ERR max number of clients reached\r\n", REDLOCK_VOTE_SERVER, "ERR max number of clients reached"},
	    {"-DENIED Redis is running in protected mode because protected mode is enabled.\r\n",
	     REDLOCK_VOTE_AUTH, "DENIED Redis is running in protected mode because protected mode is enabled."},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = scene_begin("", "", "acquire 1 #1; accept");
		scene_reply(s, HELLO "SET job token1 NX PX 30000\n", cases[i].said);
		scene_play(s, "hang up; turn");
		assert_int_equal(s->node.link.state, RL_LINK_DOWN);
		expect_failure(s, cases[i].failure, cases[i].text);
	}
}

/* A listener whose queue is full, or a host that does not answer: 3 s. */
TEST(connecting_times_out)
{
	own_scene *s = scene_open("", "");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	assert_int_equal(s->node.link.state, RL_LINK_CONNECTING); /* no turn yet: as if it were on the way */
	assert_true(rl_link_deadline(&s->node.link) == rl_time_ms(4000));
	s->now_ns = rl_time_ms(4000) - 1;
	rl_node_tick(&s->node, s->now_ns);
	assert_int_equal(s->node.link.state, RL_LINK_CONNECTING);
	scene_play(s, "now 4000; tick; turn");
	expect_answers(s, "acquire #1 DOWN\n"); /* not sent: it did not happen */
	assert_string_equal(s->node.link.failure_text, "connecting timed out");
}

/* A server that goes silent is left after 5 s without a byte, but only while it owes an answer. */
TEST(silence)
{
	own_scene *s = scene_begin("", "", "connect; greet 1; at 100000");
	assert_int_equal(s->node.link.state, RL_LINK_OPEN); /* idle */
	scene_play(s, "query 1 #1; query 1 #2; hear; at 104000");
	scene_say(s, "*4\r\n$4\r\nnone\r\n:-2\r\n:0\r\n"); /* a part of the answer */
	assert_true(rl_link_deadline(&s->node.link) == rl_time_ms(109000));
	scene_at(s, 108999);
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	scene_submit(s, REDLOCK_OP_QUERY, 1, 3); /* asking more does not put it off */
	scene_play(s, "hear; at 109000");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	/* The server did not end the connection: to a caller the node is silent, as it was before the client gave
	 * it up. */
	expect_answers(s, "query #1 TIMEOUT\nquery #2 TIMEOUT\nquery #3 TIMEOUT\n");
	assert_string_equal(s->node.link.failure_text, "no answer for 5 seconds");
}

/* A server that answers again is neither down nor silent. A refusal stays until another failure replaces it.
 */
TEST(an_outage_is_forgotten)
{
	static const struct {
		enum redlock_vote_code failure;
		bool forgotten;
	} cases[] = {{REDLOCK_VOTE_DOWN, true},
	             {REDLOCK_VOTE_CLOSED, true},
	             {REDLOCK_VOTE_TIMEOUT, true},
	             {REDLOCK_VOTE_READONLY, false},
	             {REDLOCK_VOTE_GARBAGE, false}};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = scene_begin("", "", "connect");
		rl_link_remember(&s->node.link, cases[i].failure, "before");
		expect_failure(s, cases[i].failure, "before"); /* a connection alone is no answer */
		scene_play(s, "greet 1");
		expect_failure(s, cases[i].forgotten ? REDLOCK_VOTE_PENDING : cases[i].failure,
		               cases[i].forgotten ? "" : "before");
	}
}

TEST(identity_is_learnt_anew)
{
	own_scene *s = scene_begin("", "", "connect; greet 1");
	assert_string_equal(s->node.link.facts.run_id, "0000000000000000000000000000000000000007");
	scene_play(s, "hang up; turn");
	s->node.identified = false;
	scene_play(s, "connect; accept; hear");
	scene_say(s, ":2\r\n-NOPERM this user has no permissions to run the 'info' command\r\n");
	assert_string_equal(s->node.link.facts.run_id, "");
	assert_true(s->node.identified);
}

TEST(odd_identities)
{
	static const char *const infos[] = {
	    "$0\r\n\r\n",
	    "$7\r\nrun_id:\r\n",
	    "$14\r\nrun_id:0123456\r\n",
	    "$48\r\nrun_id:01234567890123456789012345678901234567890\r\n", /* 41 digits */
	    "$48\r\nrun_id:012345678901234567890123456789012345678x9\r\n",
	};
	for (unsigned i = 0; i < COUNT(infos); i++) {
		own_scene *s = scene_begin("", "", "connect; accept");
		scene_say(s, "-ERR what?\r\n");
		scene_say(s, infos[i]);
		scene_say(s, NO_NATIVE);
		if (s->node.link.state != RL_LINK_OPEN)
			fail_msg("%s: %s", infos[i], s->node.link.failure_text);
		assert_int_equal(s->node.link.facts.client_id, 0);
		assert_string_equal(s->node.link.facts.run_id, "");
		assert_int_equal(s->node.link.setup.count, 0);
	}
}

TESTS()
