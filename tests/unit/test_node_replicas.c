/* SPDX-License-Identifier: MIT */
/* A node whose URL has ?replicas=N: WAIT follows what is relied on, and its answer decides whether a yes is a
 * vote. */
#include "scene.h"

static struct scene *begin(void)
{
	struct scene *s = scene_open("", "?replicas=2");
	rl_node_connect(&s->node, s->now_ns);
	scene_greet(s, 77);
	return s;
}

static enum redlock_vote_code ask(struct scene *s, enum redlock_operation operation, uint32_t seq,
                                  bool own_value)
{
	struct rl_request request = {.operation = operation,
	                             .tag = {.slot = 1, .seq = seq},
	                             .name = {"job", 3},
	                             .token = {"token1", 6},
	                             .ttl_ms = 30000,
	                             .wait_ms = 150,
	                             .own_value = own_value};
	enum redlock_vote_code vote = scene_request(s, &request);
	scene_turn(s);
	return vote;
}

#define SET "SET job token1 NX PX 30000\n"
#define WAIT "WAIT 2 150\n"

TEST(a_yes_counts_when_wait_has_counted_the_replicas)
{
	static const struct {
		const char *set, *wait, *answers;
	} cases[] = {
	    {"+OK\r\n", ":2\r\n", "acquire #1 YES\n"},
	    {"+OK\r\n", ":3\r\n", "acquire #1 YES\n"},
	    {"+OK\r\n", ":1\r\n", "acquire #1 UNREPLICATED\n"},
	    {"+OK\r\n", "-NOPERM x\r\n", "acquire #1 NOPERM\n"},
	    {"+OK\r\n", "-ERR unknown command 'WAIT'\r\n", "acquire #1 COMMAND\n"},
	    {"$-1\r\n", ":0\r\n", "acquire #1 NO\n"},
	    {"-OOM x\r\n", ":2\r\n", "acquire #1 OOM\n"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++)
		for (unsigned together = 0; together < 2; together++) {
			char both[64];
			own_scene *s = begin();
			assert_int_equal(ask(s, REDLOCK_OP_ACQUIRE, 1, false), REDLOCK_VOTE_PENDING);
			expect_heard(s, SET WAIT);
			snprintf(both, sizeof both, "%s%s", cases[i].set, together ? cases[i].wait : "");
			scene_say(s, both);
			if (!together)
				scene_say(s, cases[i].wait);
			expect_answers(s, cases[i].answers);
			assert_int_equal(s->node.link.outbox.count, 0);
			assert_int_equal(s->node.link.state, RL_LINK_OPEN);
		}
}

TEST(the_yes_waits_for_the_answer_to_wait)
{
	own_scene *s = begin();
	ask(s, REDLOCK_OP_ACQUIRE, 1, false);
	scene_vote(s, "+OK\r\n", "");
	ask(s, REDLOCK_OP_EXTEND, 2, false);
	expect_heard(s, SET WAIT "EVAL extend 1 job token1 30000\n" WAIT);
	scene_vote(s, ":2\r\n", "acquire #1 YES\n");
	scene_vote(s, ":1\r\n", "");
	scene_vote(s, ":0\r\n", "extend #2 UNREPLICATED\n");
}

/* Releases, and what only looks, need no replica. */
TEST(other_operations_do_not_wait)
{
	own_scene *s = begin();
	scene_owe(s, 1, 1);
	scene_submit(s, REDLOCK_OP_QUERY, 1, 2);
	assert_null(strstr(scene_heard(s), "WAIT"));
}

/* While replicas are missing, what comes after a request does not wait as long as that. */
TEST(missing_replicas_are_waited_for_by_one_request_at_a_time)
{
	own_scene *s = begin();
	ask(s, REDLOCK_OP_ACQUIRE, 1, false);
	scene_say(s, "+OK\r\n:0\r\n");
	scene_heard(s);
	ask(s, REDLOCK_OP_ACQUIRE, 2, false);
	ask(s, REDLOCK_OP_ACQUIRE, 3, false);
	expect_heard(s, SET WAIT SET "WAIT 2 1\n");
	scene_say(s, "+OK\r\n:2\r\n+OK\r\n:2\r\n");
	ask(s, REDLOCK_OP_ACQUIRE, 4, false);
	ask(s, REDLOCK_OP_ACQUIRE, 5, false);
	expect_heard(s, SET WAIT SET WAIT);
}

/* A connection that ends between the two leaves open whether the replicas have it. */
TEST(a_connection_that_ends_before_the_answer_to_wait)
{
	own_scene *s = begin();
	ask(s, REDLOCK_OP_ACQUIRE, 1, false);
	scene_vote(s, "+OK\r\n", "");
	scene_hang_up(s);
	scene_turn(s);
	expect_answers(s, "acquire #1 CLOSED\n");
}

TEST(a_status_as_the_answer_to_wait_ends_the_connection)
{
	own_scene *s = begin();
	ask(s, REDLOCK_OP_ACQUIRE, 1, false);
	scene_vote(s, "+OK\r\n+OK\r\n", "acquire #1 GARBAGE\n");
	assert_int_equal(s->node.link.connects, 1);
	assert_int_not_equal(s->node.link.state, RL_LINK_OPEN);
}

/* The release of the caller's own value is sent by the node, as nobody else knows that the SET has made the
 * key. */
TEST(a_key_of_the_callers_value_is_given_back)
{
	own_scene *s = begin();
	ask(s, REDLOCK_OP_ACQUIRE, 1, true);
	scene_say(s, "+OK\r\n");
	scene_heard(s);
	scene_vote(s, ":1\r\n", "acquire #1 UNREPLICATED\n");
	expect_heard(s, "EVAL release 1 job token1\n");
}

/* A script that the server does not know is sent again, with a WAIT of its own. */
TEST(a_request_that_is_asked_again_waits_again)
{
	own_scene *s = begin();
	ask(s, REDLOCK_OP_EXTEND, 1, false);
	scene_say(s, ":1\r\n:2\r\n");
	expect_answers(s, "extend #1 YES\n");
	ask(s, REDLOCK_OP_EXTEND, 2, false);
	scene_heard(s);
	scene_say(s, "-NOSCRIPT x\r\n:2\r\n");
	expect_answers(s, "");
	expect_heard(s, "EVAL extend 1 job token1 30000\n" WAIT);
	scene_vote(s, ":1\r\n:2\r\n", "extend #2 YES\n");
}

TESTS()
