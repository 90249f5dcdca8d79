/* SPDX-License-Identifier: MIT */
/* The caller's own value at one node: what an attempt has left is released only where it is known to have
 * made the key, and a SET is no vote while an older request with such a value may still arrive. */
#include "scene.h"

static enum redlock_vote_code ask(struct scene *s, enum redlock_operation operation, uint32_t seq,
                                  bool unproven)
{
	struct rl_request request = {.operation = operation,
	                             .tag = {.slot = 1, .seq = seq},
	                             .name = {"job", 3},
	                             .token = {"own", 3},
	                             .ttl_ms = 30000,
	                             .owed = operation == REDLOCK_OP_RELEASE && !unproven ? 1u << 3 : 0,
	                             .own_value = true,
	                             .unproven = unproven};
	return scene_request(s, &request);
}

#define try_set(seq) ask(s, REDLOCK_OP_ACQUIRE, (seq), false)
#define give_up() ask(s, REDLOCK_OP_RELEASE, 0, true)
#define owe_release(seq) ask(s, REDLOCK_OP_RELEASE, (seq), false)

#define SET "SET job own NX PX 30000\n"
#define RELEASE "EVAL release 1 job own\n"

/* The answer to the SET decides, as late as it comes. */
TEST(the_set_says_what_to_release)
{
	static const struct {
		const char *reply, *heard, *answers;
	} cases[] = {
	    {"+OK\r\n", RELEASE, "acquire #1 YES\n"},
	    {"$-1\r\n", "", "acquire #1 NO\n"},
	    {"-OOM x\r\n", "", "acquire #1 OOM\n"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = scene_connected(77);
		assert_int_equal(try_set(1), REDLOCK_VOTE_PENDING);
		give_up();
		expect_heard(s, SET);
		assert_int_equal(rl_node_owed(&s->node), 1);
		scene_say(s, cases[i].reply);
		expect_heard(s, cases[i].heard);
		expect_answers(s, cases[i].answers);
		assert_int_equal(rl_node_owed(&s->node), cases[i].heard[0] != '\0');
		assert_int_equal(s->node.ledger.lingering, 0);
	}
}

/* Until then the value is not asked for again: its release would come after the next SET. Another name or
 * another value is not affected. */
TEST(no_second_claim_before_that)
{
	own_scene *s = scene_connected(77);
	try_set(1);
	assert_int_equal(try_set(2), REDLOCK_VOTE_PENDING); /* the first one is still wanted */
	give_up();                                          /* the last one of this handle: the second */
	assert_int_equal(try_set(3), REDLOCK_VOTE_STALE);
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 4, 4), REDLOCK_VOTE_PENDING);
	scene_heard(s);
	scene_say(s, "$-1\r\n+OK\r\n");
	expect_heard(s, RELEASE);
	assert_int_equal(try_set(5), REDLOCK_VOTE_PENDING); /* after the release: in order */
	expect_heard(s, SET);
}

/* Nor is it extended: what the SET makes is given back. */
TEST(no_extension_before_that)
{
	own_scene *s = scene_connected(77);
	try_set(1);
	give_up();
	assert_int_equal(ask(s, REDLOCK_OP_EXTEND, 2, false), REDLOCK_VOTE_STALE);
	scene_heard(s);
	scene_say(s, "$-1\r\n");
	assert_int_equal(ask(s, REDLOCK_OP_EXTEND, 3, false), REDLOCK_VOTE_PENDING);
}

/* A SET whose connection ends says nothing: its key may be anybody's, and stays. One that was not sent has
 * made none. */
TEST(the_connection_ends_first)
{
	for (unsigned sent = 0; sent < 2; sent++) {
		own_scene *s = scene_connected(77);
		try_set(1);
		if (sent)
			rl_submit_flush(&s->node);
		rl_link_fail(&s->node.link, REDLOCK_VOTE_CLOSED, "cut");
		if (sent)
			give_up(); /* while it breaks, or before */
		scene_turn(s);
		expect_answers(s, sent ? "acquire #1 CLOSED\n" : "acquire #1 UNSENT\n");
		expect_owed(s, 0, sent);
		scene_hang_up(s);
		if (sent) {
			give_up(); /* after the vote was CLOSED */
			assert_int_equal(s->node.ledger.lingering, 2);
		}
	}
}

/* A release of the value was on the old connection. Where that cannot be ended, the next SET is no vote, and
 * is given back. */
static void a_ghost(const char *killed, const char *vote, const char *heard)
{
	own_scene *s = scene_connected(77);
	assert_int_equal(owe_release(1), REDLOCK_VOTE_PENDING);
	expect_heard(s, RELEASE);
	scene_play(s, "hang up; turn");
	expect_answers(s, "release #1 CLOSED\n");
	scene_play(s, "due; tick; accept");
	assert_int_equal(try_set(2), REDLOCK_VOTE_PENDING);
	scene_say(s, ":78\r\n$47\r\nrun_id:0000000000000000000000000000000000000007\r\n" NO_NATIVE);
	scene_heard(s);
	scene_say(s, killed);
	scene_say(s, ":0\r\n+OK\r\n"); /* to the debt and the SET */
	expect_answers(s, vote);
	expect_heard(s, heard);
	if (heard[0] != '\0') { /* but not for ever */
		scene_say(s, ":1\r\n");
		s->now_ns += 61000 * UINT64_C(1000000);
		try_set(3);
		scene_reply(s, SET, "+OK\r\n");
		expect_answers(s, "acquire #3 YES\n");
	}
}

TEST(a_ghost_of_the_value)
{
	a_ghost(":1\r\n", "acquire #2 YES\n", "");
	a_ghost("-NOPERM this user has no permissions to run the 'client|kill' command\r\n", "acquire #2 STALE\n",
	        RELEASE);
}

/* The next connection's request deletes the key, and the copy on the old one, which could not be ended, would
 * delete the next: the node reports it, because the value may be used again. */
static void an_earlier_copy_of_the_release(const char *killed, unsigned lingering)
{
	own_scene *s = scene_connected(77);
	owe_release(1);
	scene_play(s, "hear; hang up; turn; due; tick; accept");
	scene_say(s, ":78\r\n$47\r\nrun_id:0000000000000000000000000000000000000007\r\n" NO_NATIVE);
	scene_heard(s);
	scene_say(s, killed);
	scene_say(s, ":1\r\n"); /* to the debt */
	expect_answers(s, "release #1 CLOSED\n");
	expect_owed(s, 0, lingering);
}

TEST(an_earlier_copy_may_come)
{
	an_earlier_copy_of_the_release(":1\r\n", 0);
	an_earlier_copy_of_the_release(
	    "-NOPERM this user has no permissions to run the 'client|kill' command\r\n", 1);
}

/* A yes to a random token was no vote, and was given back while the attempt went on with that token. As long
 * as this release may come, no key with the token is a vote: neither one that the node makes nor one that it
 * was handed. Other tokens are not concerned. */
static void a_release_in_the_midst(const char *killed, const char *vote, const char *heard)
{
	const struct rl_slice job = {"job", 3}, token = {"token1", 6};
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; hear");
	assert_false(rl_submit_may_release(&s->node, job, token, s->now_ns));
	assert_true(rl_submit_give_back(&s->node, rl_outbox_front(&s->node.link.outbox)));
	assert_true(rl_submit_may_release(&s->node, job, token, s->now_ns));
	assert_false(rl_submit_may_release(&s->node, job, (struct rl_slice){"token2", 6}, s->now_ns));
	scene_say(s, "+OK\r\n");
	expect_heard(s, "EVAL vacate 2 job {job}:redlock:queue token1\n");
	scene_play(s, "hang up; turn; take");
	assert_int_equal(s->node.ledger.debts.count, 1);
	assert_true(rl_submit_may_release(&s->node, job, token, s->now_ns));
	scene_play(s, "due; tick; accept; acquire 1 #2");
	scene_say(s, ":78\r\n$47\r\nrun_id:0000000000000000000000000000000000000007\r\n" NO_NATIVE);
	scene_heard(s);
	scene_say(s, killed);
	scene_say(s, ":0\r\n+OK\r\n"); /* to the debt and the SET */
	expect_answers(s, vote);
	expect_heard(s, heard);
	if (heard[0] != '\0')
		scene_say(s, ":1\r\n");
	assert_int_equal(rl_submit_may_release(&s->node, job, token, s->now_ns), heard[0] != '\0');
	s->now_ns += 61000 * UINT64_C(1000000);
	assert_false(rl_submit_may_release(&s->node, job, token, s->now_ns));
}

TEST(a_yes_that_was_given_back)
{
	a_release_in_the_midst(":1\r\n", "acquire #2 YES\n", "");
	a_release_in_the_midst("-NOPERM this user has no permissions to run the 'client|kill' command\r\n",
	                       "acquire #2 STALE\n", "EVALSHA vacate 2 job {job}:redlock:queue token1\n");
}

/* Attempts with other tokens go on: a minute without votes of a single server is a minute without the lock.
 */
TEST(a_ghost_is_of_one_token)
{
	struct rl_facts facts = {0};
	struct rl_ledger ledger = {0};
	struct rl_entry release = {.operation = RL_OP_RELEASE, .own_value = true, .goes_on = true};
	for (release.token_hash = 1; release.token_hash <= RL_GHOST_TOKENS + 1; release.token_hash++) {
		rl_ledger_lose(&ledger, &release);
		rl_ledger_break(&ledger, &facts, 1);
		bool many = release.token_hash > RL_GHOST_TOKENS;
		assert_true(rl_ledger_has_ghost_of(&ledger, release.token_hash, 1));
		assert_int_equal(rl_ledger_has_ghost_of(&ledger, 77, 1), many);
	}
	rl_ledger_opened(&ledger, 1);
	assert_true(rl_ledger_has_ghost_of(&ledger, 77, 1));
	assert_false(rl_ledger_has_ghost_of(&ledger, 77, 1 + 61000 * UINT64_C(1000000)));
	release = (struct rl_entry){.operation = RL_OP_RELEASE, .own_value = true};
	ledger = (struct rl_ledger){0};
	rl_ledger_lose(&ledger, &release);
	rl_ledger_break(&ledger, &facts, 1);
	assert_false(rl_ledger_has_ghost_of(&ledger, 0, 1));
}

/* The owner of a ghost counts: the ghost of a random value, which is never used again, does no harm. */
TEST(a_ghost_of_a_random_value)
{
	own_scene *s = scene_begin_connected(77, "acquire 9 #9; hear; hang up; turn");
	rl_ledger_doubt(&s->node.ledger);
	assert_false(s->node.ledger.ghost_own);
	expect_answers(s, "acquire #9 CLOSED\n");
}

TESTS()
