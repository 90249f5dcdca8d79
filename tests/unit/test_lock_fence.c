/* SPDX-License-Identifier: MIT */
/* Fencing tokens: one round where counters agree, a second one where they do not. Whole traces are quoted. */
#include "drive.h"

static struct rl_rules fenced(unsigned nodes)
{
	struct rl_rules rules = drive_rules(nodes);
	rules.policy = &rl_kinds[RL_KIND_FENCED];
	return rules;
}

SCENARIO(counters_that_agree_cost_nothing, drive_idle(fenced(3)), "acquire; at 10; yes 7,7",
         "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
         "[   10.000] acquiring: reply #1 node 0 YES, 1 YES -> held YY. until 29698.000 number 7 | done "
         "acquire OK\n")

/* Validity counts from the first round. */
SCENARIO(
    lower_counters_are_raised, drive_begin(fenced(3), "acquire; forget"), "at 10; yes 7,5; at 20; yes -,7",
    "[   10.000] acquiring: reply #1 node 0 YES, 1 YES -> raising Y.. | send raise #1 again to 2 number 7\n"
    "[   20.000] raising: reply #1 node 1 YES -> held YY. until 29698.000 number 7 | done acquire OK\n")

/* A third node that agrees is as good as one that was raised; a node with a lower number is raised as well; a
 * node with a higher one has no vote for this number. */
SCENARIO(
    late_votes_count_for_the_number, drive_begin(fenced(7), "acquire; yes 9,5,5,5; forget"),
    "at 10; yes -,-,-,-,9,3,12; at 20; yes -,9; at 30; yes -,-,-,-,-,9",
    "[   10.000] raising: reply #1 node 4 YES, 5 YES -> raising Y...Y.. | send raise #1 again to 20 number "
    "9\n"
    "[   10.000] raising: reply #1 node 6 YES -> raising Y...Y.Y\n"
    "[   20.000] raising: reply #1 node 1 YES -> raising YY..Y.Y\n"
    "[   30.000] raising: reply #1 node 5 YES -> held YY..YYY until 29698.000 number 9 | done acquire OK\n")

/* Votes of one moment: a quorum that agrees does not need the nodes with higher or lower numbers. */
TEST(a_quorum_that_agrees_is_enough)
{
	static const uint64_t told[] = {9, 5, 7, 7, 7};
	struct drive d = drive_begin(fenced(5), "acquire; forget");
	for (unsigned i = 0; i < COUNT(told); i++)
		drive_step(&d,
		           (struct rl_event){.kind = RL_EV_REPLY,
		                             .reply.seq = 1,
		                             .node = i,
		                             .reply.more = i + 1 < COUNT(told),
		                             .reply.vote = {.code = REDLOCK_VOTE_YES, .number = (int64_t)told[i]}});
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_int_equal(rl_lock_fence(&d.lock), 7);
}

/* The key went meanwhile: who took it has counted on, and what is left of ours is given back everywhere. */
SCENARIO(a_number_that_cannot_be_raised_is_given_back, drive_begin(fenced(3), "acquire; yes 7,5,5; forget"),
         "votes .N; at 10; votes ..N",
         "[    0.000] raising: reply #1 node 1 NO -> raising YN.\n"
         "[   10.000] raising: reply #1 node 2 NO -> idle YNN | send release #0 owed 1 | done acquire BUSY\n")

/* A late yes with a lower number may become a vote, also when it is the last one that can. */
SCENARIO(the_last_one_is_raised, drive_begin(fenced(3), "acquire; yes 7,5; votes .D; forget"),
         "at 10; yes -,-,5; at 20; yes -,-,7",
         "[   10.000] raising: reply #1 node 2 YES -> raising Y-. | send raise #1 again to 4 number 7\n"
         "[   20.000] raising: reply #1 node 2 YES -> held Y-Y until 29698.000 number 7 | done acquire OK\n")

SCENARIO(silence_is_no_vote, drive_begin(fenced(3), "acquire; at 10; yes 7,5; forget"), "until 210",
         "[  210.000] raising: tick -> idle YTT | send release #0 owed 7 | done acquire NOQUORUM\n")

/* A node with more than the number, when no other can vote for it. */
SCENARIO(
    a_node_that_is_ahead_has_no_vote, drive_begin(fenced(3), "acquire; yes 7,5,9; forget"), "votes .C",
    "[    0.000] raising: reply #1 node 1 CLOSED -> idle Y-Y | send release #0 owed 7 | done acquire BUSY\n")

/* The node that failed to raise has the key all the same, and owes a release. */
SCENARIO(
    an_error_leaves_the_key, drive_begin(fenced(3), "acquire; votes ..O; yes 7,5; forget"), "votes .O",
    "[    0.000] raising: reply #1 node 1 OOM -> idle Y-- | send release #0 owed 3 | done acquire NOQUORUM\n")

/* The validity is checked after the second round too. */
/* Nor is one that scripts cannot count on from: raised, it would be the last one. */
TEST(no_number_is_no_vote)
{
	static const char *const odd[] = {"yes 0", "yes -1", "yes 9007199254740992"};
	for (unsigned i = 0; i < COUNT(odd); i++) {
		struct drive d = drive_begin(fenced(3), "acquire");
		drive_play(&d, odd[i]);
		assert_int_equal(d.lock.votes[0].code, REDLOCK_VOTE_GARBAGE);
		drive_play(&d, "yes -,7,7");
		assert_true(d.lock.phase == RL_HELD && rl_lock_fence(&d.lock) == 7);
	}
}

TEST(a_slow_second_round_grants_nothing)
{
	struct rl_rules rules = fenced(3);
	rules.min_validity_ns = rl_time_ms(29600);
	struct drive d = drive_begin(rules, "acquire; at 50; yes 7,5; forget");
	drive_tells(&d, "at 100; yes -,7",
	            "[  100.000] raising: reply #1 node 1 YES -> idle YY. | send release #0 owed 7 | done "
	            "acquire BUSY\n");
	assert_int_equal(rl_lock_fence(&d.lock), 0);
}

/* A yes that brings no number grants no lock that is to have one; its key may be there. */
SCENARIO(
    no_number_no_vote, drive_begin(fenced(3), "acquire; forget"), "votes Y; yes -,0",
    "[    0.000] acquiring: reply #1 node 0 YES, 1 YES -> idle --. | send release #0 owed 7 | done acquire "
    "NOQUORUM\n")

/* The number stays while the lock is extended, and until the next acquire. */
TEST(the_number_stays)
{
	struct drive d = drive_begin(fenced(3), "acquire");
	assert_int_equal(rl_lock_fence(&d.lock), 0);
	drive_play(&d, "yes 7,5");
	assert_int_equal(rl_lock_fence(&d.lock), 0); /* not before it is confirmed */
	drive_play(&d, "yes -,7; at 1000; extend 30000; votes YY");
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_int_equal(rl_lock_fence(&d.lock), 7);
	drive_play(&d, "release; votes YY");
	assert_int_equal(rl_lock_fence(&d.lock), 7);
	drive_play(&d, "acquire; votes NNN");
	assert_int_equal(rl_lock_fence(&d.lock), 0);
}

/* The end of the wait is the end of the second round, too. */
TEST(the_second_round_keeps_the_deadline)
{
	struct rl_rules rules = fenced(3);
	rules.wait_ns = rules.noquorum_wait_ns = rl_time_ms(100);
	struct drive d = drive_begin(rules, "acquire; at 50; yes 7,5");
	assert_int_equal(drive_deadline_ms(&d), 100);
}

/* Split votes: the leader insists, and then raises. */
SCENARIO(split_votes_are_raised_too, drive_begin(fenced(3), "acquire; yes 7; votes .NN; keys *12; forget"),
         "yes -,5; cancel",
         "[    0.000] insisting: reply #1 node 1 YES -> raising Y.. | send raise #1 again to 2 number 7\n"
         "[    0.000] raising: cancel -> idle Y.. | send release #0 owed 7 | done acquire CANCELLED\n")

/* At the gate, then everywhere, then raised; a waiter is woken, and never handed a lock that has a number. */
TEST(waiters_are_raised_too)
{
	struct rl_rules rules = fenced(3);
	rules.wait_ns = rules.noquorum_wait_ns = rl_time_ms(10000);
	struct drive d = drive_idle(rules);
	d.hears = 7;
	drive_play(&d, "acquire; votes NNN; until 3");
	assert_int_equal(d.lock.queue.stage, RL_STAGE_GATE);
	assert_true(d.fx.queue.stands && d.fx.queue.offered_ns == 0);
	drive_gate(&d, REDLOCK_VOTE_YES, 1, 7, 0); /* number 7 */
	drive_play(&d, "yes -,5,5");
	assert_true(d.lock.phase == RL_RAISING && d.fx.send.operation == RL_OP_RAISE && d.fx.send.enter == 0);
	assert_false(d.fx.queue.stands);
	drive_play(&d, "votes ..N; until 250");
	assert_true(d.lock.phase != RL_RAISING && d.lock.verdict == REDLOCK_E_BUSY);
}

/* The gate tells with its yes that nobody else waits there. */
TEST(the_gate_tells_who_waits)
{
	struct rl_rules rules = fenced(3);
	rules.wait_ns = rules.noquorum_wait_ns = rl_time_ms(10000);
	struct drive d = drive_idle(rules);
	d.hears = 7;
	drive_play(&d, "acquire; votes NNN; until 3");
	assert_true(d.lock.queue.contended);
	drive_gate(&d, REDLOCK_VOTE_YES, 0, 7, 0);
	assert_false(d.lock.queue.contended);
}

TESTS()
