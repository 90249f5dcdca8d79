/* SPDX-License-Identifier: MIT */
/* Requests that look at the queue of waiters: the requests to a node, and the consequences of its refusals.
 */
#include "scene.h"
#include "unit.h"

#define KEYS "job {job}:redlock:queue"
#define ALL_KEYS KEYS " {job}:redlock:offers"
#define ENTER(how) how " enter 3 " ALL_KEYS " token1 30000 0123456789abcdef.1 250 0\n"
#define FORBIDDEN "-NOPERM No permissions to access a key\r\n"

static enum redlock_vote_code ask(struct scene *s, unsigned operation, uint32_t seq)
{
	struct rl_request request = {.operation = operation,
	                             .tag = {.slot = 1, .seq = seq},
	                             .name = {"job", 3},
	                             .token = {"token1", 6},
	                             .ttl_ms = 30000,
	                             .place = {"0123456789abcdef.1", 18},
	                             .patience_ms = 250,
	                             .owed = rl_ops[operation].gives_back ? 1u << 3 : 0};
	return scene_request(s, &request);
}

TEST(in_turn)
{
	own_scene *s = scene_connected(9);
	ask(s, RL_OP_ENTER, 1);
	scene_reply(s, ENTER("EVAL"), "*6\r\n:0\r\n:1\r\n:900\r\n:1\r\n$6\r\ntoken1\r\n$5\r\nother\r\n");
	expect_answers(s, "enter #1 NO\n");
	ask(s, RL_OP_ENTER, 2);
	scene_reply(s, ENTER("EVALSHA"), "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n$6\r\ntoken1\r\n$0\r\n\r\n");
	expect_answers(s, "enter #2 YES\n");
	ask(s, REDLOCK_OP_RELEASE, 3);
	scene_reply(s, "EVAL vacate 2 " KEYS " token1\n", ":2\r\n");
	scene_reply(s, "EVAL leave 3 " ALL_KEYS " token1  50 \n", ":0\r\n"); /* by itself */
	ask(s, RL_OP_LEAVE, 4);
	scene_reply(s, "EVALSHA leave 3 " ALL_KEYS " token1 0123456789abcdef.1 250 \n", ":0\r\n");
	expect_answers(s, "release #3 YES\nleave #4 NO\n");
	assert_int_equal(rl_node_owed(&s->node) + s->node.ledger.lingering, 0);
}

/* A release whose answer nobody waits for was not the release of a held lock: it wakes nobody. */
TEST(waiters_that_a_release_wakes)
{
	static const struct {
		uint32_t seq;
		const char *reply;
		bool wakes;
	} cases[] = {{1, ":1\r\n", false}, {1, ":0\r\n", false}, {1, ":2\r\n", true},
	             {1, ":-1\r\n", true}, {0, ":2\r\n", false}, {0, ":-1\r\n", false}};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = scene_connected(9);
		ask(s, REDLOCK_OP_RELEASE, cases[i].seq);
		scene_reply(s, "EVAL vacate 2 " KEYS " token1\n", cases[i].reply);
		expect_heard(s, cases[i].wakes ? "EVAL leave 3 " ALL_KEYS " token1  50 \n" : "");
	}
}

/* An answer that quotes another token is one to another question: the connection ends. */
TEST(another_question)
{
	own_scene *s = scene_connected(9);
	ask(s, RL_OP_ENTER, 1);
	expect_heard(s, ENTER("EVAL"));
	scene_say(s, "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n$6\r\ntoken2\r\n$0\r\n\r\n");
	expect_answers(s, "enter #1 GARBAGE\n");
	assert_int_not_equal(s->node.link.state, RL_LINK_OPEN);
}

/* ENTER is not sent a second time after its own release: the next one goes by text. */
TEST(enter_is_forgotten)
{
	own_scene *s = scene_connected(9);
	s->node.methods.knows |= UINT64_C(1) << RL_SCRIPT_ENTER;
	ask(s, RL_OP_ENTER, 1);
	ask(s, REDLOCK_OP_RELEASE, 0);
	expect_heard(s, ENTER("EVALSHA") "EVAL vacate 2 " KEYS " token1\n");
	scene_say(s, "-NOSCRIPT No matching script. Please use EVAL.\r\n:0\r\n");
	expect_heard(s, "");
	expect_answers(s, "enter #1 NO\n");
	ask(s, RL_OP_ENTER, 2);
	expect_heard(s, ENTER("EVAL"));
}

/* A user that may not touch the queue's key is refused, and the node does not ask for it again. */
TEST(enter_is_barred)
{
	own_scene *s = scene_connected(9);
	assert_true(rl_node_may_queue(&s->node));
	ask(s, RL_OP_ENTER, 1);
	scene_reply(s, ENTER("EVAL"), FORBIDDEN);
	expect_heard(s, "");
	expect_answers(s, "enter #1 NOPERM\n");
	assert_false(rl_node_may_queue(&s->node));
	ask(s, REDLOCK_OP_RELEASE, 2);
	scene_reply(s, "EVAL release 1 job token1\n", ":1\r\n");
}

/* A token that may have been handed over is asked for by ENTER, too. Where that is barred a plain claim
 * replaces it, but not after a release of the token. */
TEST(enter_without_a_place)
{
	for (int released = 0; released < 2; released++) {
		own_scene *s = scene_connected(9);
		struct rl_request request = {.operation = RL_OP_ENTER,
		                             .tag = {.slot = 1, .seq = 1},
		                             .name = {"job", 3},
		                             .token = {"token1", 6},
		                             .ttl_ms = 30000,
		                             .patience_ms = 250};
		scene_request(s, &request);
		if (released)
			ask(s, REDLOCK_OP_RELEASE, 2);
		scene_reply(s,
		            released ? "EVAL enter 3 " ALL_KEYS " token1 30000  250 0\nEVAL vacate 2 " KEYS
		                       " token1\n"
		                     : "EVAL enter 3 " ALL_KEYS " token1 30000  250 0\n",
		            FORBIDDEN);
		if (released) {
			expect_heard(s, "");
			expect_answers(s, "enter #1 NOPERM\n");
			continue;
		}
		scene_reply(s, "SET job token1 NX PX 30000\n", "+OK\r\n");
		expect_answers(s, "acquire #1 YES\n");
	}
}

/* The server has forgotten the script, and before it said so the node has lost its vote: a claim that cannot
 * quote a pass any more is not made without one. */
TEST(a_guarded_claim_is_not_made_plainly)
{
	static const unsigned operations[] = {REDLOCK_OP_ACQUIRE, RL_OP_ENTER};
	for (unsigned i = 0; i < COUNT(operations); i++) {
		own_scene *s = scene_connected(9);
		struct rl_request request = {.operation = operations[i],
		                             .tag = {.slot = 1, .seq = 1},
		                             .name = {"job", 3},
		                             .token = {"token1", 6},
		                             .ttl_ms = 30000,
		                             .patience_ms = 250,
		                             .pass = {"pass", 4}};
		s->node.methods.guarded = RL_FORMS_GUARD;
		s->node.methods.knows = UINT64_MAX;
		scene_request(s, &request);
		const char *heard = scene_heard(s);
		assert_true(strncmp(heard, "EVALSHA ", 8) == 0 && strstr(heard, " pass ") != NULL);
		s->node.methods.guarded = 0;
		scene_say(s, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
		expect_heard(s, "");
		assert_non_null(strstr(scene_answers(s), " #1 "));
	}
}

/* The release is asked for in the next form, then in no other. A release that only waits for an answer is
 * owed. */
TEST(release_is_barred)
{
	own_scene *s = scene_connected(9);
	ask(s, REDLOCK_OP_RELEASE, 1);
	scene_reply(s, "EVAL vacate 2 " KEYS " token1\n", FORBIDDEN);
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_reply(s, "EVAL release 1 job token1\n", ":1\r\n");
	ask(s, RL_OP_LEAVE, 2);
	scene_reply(s, "EVALSHA release 1 job token1\n", ":0\r\n");
	assert_int_equal(rl_node_owed(&s->node) + s->node.ledger.lingering, 0);
}

/* Where no script may be run nothing else is left, and each of several releases is asked for once. */
TEST(releases_by_script_alone_are_barred)
{
	enum { MANY = 5 };
	own_scene *s = scene_connected(9);
	for (unsigned i = 0; i < MANY; i++)
		ask(s, RL_OP_SHARE_RELEASE, i + 1);
	(void)scene_heard(s);
	for (unsigned i = 0; i < MANY; i++)
		scene_say(s, "-NOPERM this user has no permissions to run the 'eval' command\r\n");
	expect_heard(s, "");
}

/* A release that the server has forgotten is asked for by its text, and still looks at the queue. */
TEST(release_is_forgotten)
{
	own_scene *s = scene_connected(9);
	s->node.methods.knows |= UINT64_C(1) << RL_SCRIPT_VACATE | UINT64_C(1) << RL_SCRIPT_LEAVE;
	ask(s, REDLOCK_OP_RELEASE, 1);
	ask(s, RL_OP_LEAVE, 2);
	scene_reply(
	    s, "EVALSHA vacate 2 " KEYS " token1\nEVALSHA leave 3 " ALL_KEYS " token1 0123456789abcdef.1 250 \n",
	    "-NOSCRIPT x\r\n-NOSCRIPT x\r\n");
	expect_heard(s,
	             "EVAL vacate 2 " KEYS " token1\nEVAL leave 3 " ALL_KEYS " token1 0123456789abcdef.1 250 \n");
}

TESTS()
