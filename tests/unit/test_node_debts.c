/* SPDX-License-Identifier: MIT */
/* Debts of a node whose connection breaks: releases become debts, SETs without an answer become ghosts that
 * are killed before the debts are paid, and outcomes that cannot be made certain are counted. */
#include "scene.h"

static void cut(struct scene *s)
{
	scene_play(s, "hang up; turn");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
}

/* Accepts the next connection. Returns what the node said on it: no more than its greeting while there are
 * ghosts to be met, because only the identity of the server says what their ids mean. */
static const char *next_connection(struct scene *s)
{
	scene_play(s, "due; tick; accept");
	return scene_heard(s);
}

#define RUN_ID "$47\r\nrun_id:0000000000000000000000000000000000000007\r\n" NO_NATIVE
#define GREETING ":2\r\n" RUN_ID

/* The whole way: SET in flight, cut, the release is owed; then kill, release, settled. */
TEST(set_in_flight)
{
	own_scene *s = scene_connected(77);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	expect_heard(s, "SET job token1 NX PX 30000\n");
	scene_owe(s, 1, 0);
	expect_heard(s, "EVAL release 1 job token1\n"); /* after its SET */
	assert_int_equal(rl_node_owed(&s->node), 1);
	cut(s);
	expect_answers(s, "acquire #1 CLOSED\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
	assert_string_equal(next_connection(s), HELLO);
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_say(s, GREETING);
	scene_reply(s, "CLIENT KILL ID 77\nEVAL release 1 job token1\n", ":1\r\n:1\r\n");
	expect_owed(s, 0, 0);
	expect_answers(s, ""); /* nobody waits for it any more */
	cut(s);
	assert_string_equal(next_connection(s), HELLO); /* all is settled */
}

/* Not there, and the old connection is gone: settled too. 0: it was gone already. */
TEST(not_there_after_the_kill)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; owe 1 #0; hear");
	cut(s);
	next_connection(s);
	scene_say(s, GREETING);
	scene_heard(s);
	scene_say(s, ":0\r\n:0\r\n");
	expect_owed(s, 0, 0);
}

/* The kill is refused: "not there" proves nothing, for the SET may still come. */
TEST(kill_refused)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; owe 1 #0; acquire 2 #2; owe 2 #0; hear");
	cut(s);
	next_connection(s);
	scene_say(s, GREETING);
	expect_heard(s, "CLIENT KILL ID 77\nEVAL release 1 job token1\nEVAL release 1 job token2\n");
	scene_say(s, "-NOPERM this user has no permissions to run the 'client|kill' command\r\n:0\r\n:1\r\n");
	assert_int_equal(rl_node_owed(&s->node), 0);
	assert_int_equal(s->node.ledger.lingering, 1); /* the second was there and is deleted */
}

/* The server was started again: the old ids mean somebody else now, and its buffers are gone. */
TEST(another_process)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; owe 1 #0; hear");
	cut(s);
	next_connection(s);
	scene_say(s, ":2\r\n$47\r\nrun_id:0000000000000000000000000000000000000008\r\n" NO_NATIVE);
	scene_reply(s, "EVAL release 1 job token1\n", ":0\r\n");
	expect_owed(s, 0, 0);
}

/* The identity is not told: nobody is killed on suspicion. */
TEST(identity_refused)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; owe 1 #0; hear");
	cut(s);
	next_connection(s);
	scene_say(s, ":2\r\n-NOPERM this user has no permissions to run the 'info' command\r\n" NO_NATIVE);
	scene_reply(s, "EVAL release 1 job token1\n", ":0\r\n");
	assert_int_equal(s->node.ledger.lingering, 1);
}

/* A ghost that could not be killed is gone by itself some time after the server answers again: what sat in
 * its buffer has been read by then. */
TEST(ghosts_do_not_stay_for_ever)
{
	own_scene *s = scene_begin("", "", "acquire 1 #1; accept; hear");
	cut(s); /* its id is not known */
	next_connection(s);
	scene_say(s, GREETING);
	scene_play(s, "pass 50000; owe 1 #2; hear");
	scene_say(s, ":0\r\n");
	assert_int_equal(s->node.ledger.lingering, 1);
	scene_play(s, "pass 20000; owe 1 #3; hear");
	scene_say(s, ":0\r\n");
	assert_int_equal(s->node.ledger.lingering, 1); /* no more */
	expect_answers(s, "acquire #1 CLOSED\nrelease #2 NO\nrelease #3 NO\n");
	cut(s); /* the next connection does not hear of it either */
	assert_false(s->node.ledger.ghost_stays);
}

/* The id of the old connection is not known: it cannot be killed. */
TEST(id_unknown)
{
	own_scene *s = scene_begin("", "", "acquire 1 #1; owe 1 #0; accept");
	expect_heard(s, HELLO "SET job token1 NX PX 30000\nEVAL release 1 job token1\n");
	cut(s);
	expect_answers(s, "acquire #1 CLOSED\n");
	assert_string_equal(next_connection(s), HELLO "EVAL release 1 job token1\n");
	scene_say(s, GREETING ":0\r\n");
	assert_int_equal(s->node.ledger.lingering, 1);
}

/* A lock is granted by the others while this node owes the answer to its SET; the release comes later, after
 * further connections came and went. The ghost is not forgotten because nothing was owed at the time. */
TEST(ghost_without_a_debt)
{
	own_scene *s = scene_begin("", "", "acquire 1 #1; accept; hear");
	cut(s); /* its id is not known */
	next_connection(s);
	scene_say(s, GREETING);
	cut(s);
	next_connection(s);
	scene_say(s, GREETING);
	scene_play(s, "owe 1 #2; hear");
	scene_vote(s, ":0\r\n", "acquire #1 CLOSED\nrelease #2 NO\n");
	assert_int_equal(s->node.ledger.lingering, 1);
}

TEST(kill_is_repeated)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; owe 1 #0; hear");
	cut(s);
	next_connection(s);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
	scene_say(s, ":78\r\n" RUN_ID); /* cut before the kill is answered */
	expect_heard(s, "CLIENT KILL ID 77\nEVAL release 1 job token1\nSET job token2 NX PX 30000\n");
	cut(s);
	expect_answers(s, "acquire #1 CLOSED\nacquire #2 CLOSED\n");
	assert_string_equal(next_connection(s), HELLO);
	scene_say(s, ":79\r\n" RUN_ID);
	scene_reply(s, "CLIENT KILL ID 77\nCLIENT KILL ID 78\nEVAL release 1 job token1\n", ":0\r\n:0\r\n:0\r\n");
	expect_owed(s, 0, 0);
	cut(s);
	next_connection(s);
	scene_say(s, ":80\r\n" RUN_ID);
	expect_heard(s, ""); /* they are laid */
}

/* No more ghosts are remembered than there is room for: the rest cannot be killed, and that is known. */
TEST(too_many_ghosts)
{
	own_scene *s = scene_connected(100);
	char text[96];
	for (unsigned i = 0; i < RL_GHOSTS + 1; i++) {
		scene_submit(s, REDLOCK_OP_ACQUIRE, i, i + 1);
		expect_answers(s, "");
		scene_heard(s);
		cut(s);
		snprintf(text, sizeof text, "acquire #%u CLOSED\n", i + 1);
		expect_answers(s, text);
		assert_int_equal(s->node.ledger.ghost_count, i + 1 <= RL_GHOSTS ? i + 1 : RL_GHOSTS);
		next_connection(s);
		snprintf(text, sizeof text, ":%u\r\n" RUN_ID, 101 + i);
		scene_say(s, text); /* the kills are not answered */
	}
	scene_heard(s);
	for (unsigned i = 0; i < RL_GHOSTS; i++)
		scene_say(s, ":1\r\n");
	scene_play(s, "owe 1 #9; hear");
	scene_vote(s, ":0\r\n", "release #9 NO\n");
	assert_int_equal(s->node.ledger.lingering, 1);
}

TEST(unsent_set)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; hang up; turn");
	expect_answers(s, "acquire #1 UNSENT\n");
	assert_int_equal(s->node.ledger.ghost_count, 0);
	assert_false(s->node.ledger.ghost_stays);
	assert_string_equal(next_connection(s), HELLO);
}

/* Before the connection is open nothing can have been sent: a release after its own SET is no debt. */
TEST(release_after_its_unsent_set)
{
	own_scene *s = scene_begin(":pw@", "", "acquire 1 #1; owe 1 #0");
	scene_owe(s, 2, 0); /* of an earlier connection: its SET is not here */
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_accept(s);
	expect_heard(s, "AUTH pw\n" HELLO);
	cut(s);
	expect_answers(s, "acquire #1 UNSENT\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
	next_connection(s);
	scene_say(s, "+OK\r\n");
	expect_heard(s, "EVAL release 1 job token2\n");
}

/* This time the gate opened and the SET went out before the cut: then the release is a debt. */
TEST(release_after_its_sent_set)
{
	own_scene *s = scene_begin(":pw@", "", "acquire 1 #1; owe 1 #0; accept; hear");
	scene_say(s, "+OK\r\n:5\r\n" RUN_ID);
	expect_heard(s, "SET job token1 NX PX 30000\nEVAL release 1 job token1\n");
	cut(s);
	expect_answers(s, "acquire #1 CLOSED\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
	assert_string_equal(next_connection(s), "AUTH pw\n" HELLO);
	scene_say(s, "+OK\r\n:6\r\n");
	scene_reply(s, "", RUN_ID);
	expect_heard(s, "CLIENT KILL ID 5\nEVAL release 1 job token1\n");
}

/* The SET went out in part, its release not at all: the rest of the SET may have been in the same packet. */
TEST(release_after_a_half_sent_set)
{
	own_scene *s = scene_open(":pw@", "");
	assert_int_equal(scene_large(s, REDLOCK_OP_ACQUIRE, 60000, false), REDLOCK_VOTE_PENDING);
	scene_play(s, "owe 1 #0; accept; hear");
	scene_narrow(s, 4608);
	scene_say(s, "+OK\r\n");
	assert_false(rl_outbox_front_unsent(&s->node.link.outbox));
	assert_true(rl_outbox_unsent(&s->node.link.outbox).size > 0);
	cut(s);
	expect_answers(s, "acquire #1 CLOSED\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
}

TEST(release_while_down)
{
	own_scene *s = scene_connected(77);
	cut(s);
	s->node.link.backoff.failures = 3; /* no connection on demand */
	assert_int_equal(scene_owe(s, 1, 5), REDLOCK_VOTE_DOWN);
	assert_int_equal(scene_submit(s, REDLOCK_OP_RELEASE, 2, 6), REDLOCK_VOTE_DOWN); /* not owed: not kept */
	assert_int_equal(rl_node_owed(&s->node), 1);
	assert_string_equal(next_connection(s), HELLO "EVAL release 1 job token1\n");
	scene_vote(s, GREETING ":1\r\n", "");
	assert_int_equal(rl_node_owed(&s->node), 0);
}

TEST(debt_by_digest)
{
	own_scene *s = scene_begin_connected(77, "owe 1 #1; hear");
	scene_say(s, ":1\r\n"); /* now the script is known */
	scene_owe(s, 2, 2);
	expect_heard(s, "EVALSHA release 1 job token2\n");
	cut(s);
	expect_answers(s, "release #1 YES\nrelease #2 CLOSED\n");
	assert_string_equal(next_connection(s), HELLO "EVALSHA release 1 job token2\n");
	scene_say(s, GREETING "-NOSCRIPT No matching script. Please use EVAL.\r\n");
	expect_heard(s, "EVAL release 1 job token2\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_say(s, ":1\r\n");
	expect_owed(s, 0, 0);
}

TEST(release_refused)
{
	own_scene *s = scene_connected(77);
	scene_owe(s, 1, 1);
	scene_submit(s, REDLOCK_OP_RELEASE, 2, 2); /* not owed: nothing can linger */
	scene_heard(s);
	scene_say(s, "-MISCONF Redis is configured to save RDB snapshots\r\n-MISCONF x\r\n");
	expect_answers(s, "release #1 MISCONF\nrelease #2 MISCONF\n");
	assert_int_equal(s->node.ledger.lingering, 1);
	assert_string_equal(s->node.link.failure_text, "MISCONF x");
}

TEST(debts_survive_failed_connections)
{
	own_scene *s = scene_begin_connected(77, "owe 1 #0; owe 2 #0; hear");
	cut(s);
	for (unsigned i = 0; i < 5; i++) {
		next_connection(s);
		cut(s);
		assert_int_equal(rl_node_owed(&s->node), 2);
	}
	assert_string_equal(next_connection(s), HELLO "EVAL release 1 job token1\nEVAL release 1 job token2\n");
	scene_say(s, GREETING ":1\r\n:1\r\n");
	assert_int_equal(rl_node_owed(&s->node), 0);
}

TEST(debts_are_bounded)
{
	own_scene *s = scene_connected(77);
	cut(s);
	s->node.link.backoff.failures = 3;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(scene_large(s, REDLOCK_OP_RELEASE, 60000, true), REDLOCK_VOTE_DOWN);
	assert_true(rl_outbox_size(&s->node.ledger.debts) <= 256 * 1024);
	assert_int_equal(rl_node_owed(&s->node) + s->node.ledger.lingering, 100);
	assert_true(rl_node_owed(&s->node) >= 2);
}

/* Garbage in answer to a SET, or an answer that SET does not give: nobody knows whether it was executed. */
static void garbage_for(const char *reply, const char *failure)
{
	own_scene *s = scene_begin_connected(77, "acquire 1 #1; owe 1 #0; hear");
	scene_vote(s, reply, "acquire #1 GARBAGE\n");
	assert_string_equal(s->node.link.failure_text, failure);
	assert_int_equal(rl_node_owed(&s->node), 1);
	/* Nothing is sent while it is down: that is no open outcome. */
	s->node.link.backoff.failures = 3;
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 3, 3), REDLOCK_VOTE_DOWN);
	scene_hang_up(s);
	next_connection(s);
	scene_say(s, GREETING);
	expect_heard(s, "CLIENT KILL ID 77\nEVAL release 1 job token1\n");
}

TEST(garbage_for_a_set)
{
	garbage_for("HTTP/1.1 400 Bad Request\r\n\r\n", "the answer is not the Redis protocol");
	garbage_for(":5\r\n", "the answer is not to this request");
}

/* A release that is asked for while the answers of a broken connection are still being handed out: after a
 * SET that never left it is not owed, after one that did it is. */
TEST(release_while_breaking)
{
	for (unsigned sent = 0; sent < 2; sent++) {
		own_scene *s = scene_begin_connected(77, "acquire 1 #1; acquire 2 #2");
		if (sent)
			rl_submit_flush(&s->node);
		rl_link_fail(&s->node.link, REDLOCK_VOTE_CLOSED, "cut");
		assert_int_equal(s->node.link.state, RL_LINK_BROKEN);
		assert_int_equal(scene_owe(s, 2, 0), REDLOCK_VOTE_DOWN);
		assert_int_equal(scene_owe(s, 9, 0), REDLOCK_VOTE_DOWN); /* its SET was answered long ago */
		assert_int_equal(rl_node_owed(&s->node), sent ? 2 : 1);
		scene_turn(s);
		expect_answers(s, sent ? "acquire #1 CLOSED\nacquire #2 CLOSED\n"
		                       : "acquire #1 UNSENT\nacquire #2 UNSENT\n");
		assert_int_equal(rl_node_owed(&s->node), sent ? 2 : 1);
	}
}

TESTS()
