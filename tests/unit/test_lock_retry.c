/* SPDX-License-Identifier: MIT */
/* Acquiring: the wait for a lock. Retries, deadlines, patience, and what the call says at its end. */
#include "drive.h"

TEST(refused_then_granted)
{
	struct drive d = drive_idle(drive_waiting_rules(3, 10000));
	drive_tells(&d, "acquire; at 1; votes YNN; at 2; tick; votes N; until 5; at 6; votes Y; at 7; votes .Y",
	            "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	            "[    1.000] acquiring: reply #1 node 0 YES, 1 NO, 2 NO -> paused YNN until 1.000 | send "
	            "release #0 owed 1\n"
	            "[    2.000] paused: tick -> acquiring ... | send acquire #2 to 1 ttl 30000.000\n"
	            "[    2.000] acquiring: reply #2 node 0 NO -> paused N.. until 4.000\n"
	            "[    4.000] paused: tick -> acquiring ... | send acquire #3 to 1 ttl 30000.000\n"
	            "[    6.000] acquiring: reply #3 node 0 YES -> acquiring Y.. | send acquire #3 again to 6 "
	            "ttl 30000.000\n"
	            "[    7.000] acquiring: reply #3 node 1 YES -> held YY. until 29702.000 | done acquire OK\n");
}

/* A quorum that came too late to leave enough validity is no reason to give up. */
TEST(granted_too_late_then_granted)
{
	struct rl_rules rules = drive_waiting_rules(3, 10000);
	rules.min_validity_ns = rl_time_ms(29600);
	struct drive d = drive_idle(rules);
	drive_acquire(&d);
	drive_at(&d, 98); /* 29600 ms are left: not more */
	drive_tells(&d, "votes YY; at 99; tick; votes Y; at 149; votes .Y",
	            "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	            "[   98.000] acquiring: reply #1 node 0 YES, 1 YES -> paused YY. until 98.000 | send release "
	            "#0 owed 7\n"
	            "[   99.000] paused: tick -> acquiring ... | send acquire #2 to 1 ttl 30000.000\n"
	            "[   99.000] acquiring: reply #2 node 0 YES -> acquiring Y.. | send acquire #2 again to 6 "
	            "ttl 30000.000\n"
	            "[  149.000] acquiring: reply #2 node 1 YES -> held YY. until 29797.000 | done acquire OK\n");
}

/* A last try is made before the end of the wait, and none after it. */
TEST(tries_until_the_deadline)
{
	struct drive d = drive_idle(drive_waiting_rules(3, 300));
	drive_acquire(&d);
	uint64_t last_send = 0;
	unsigned attempts = 1;
	while (rl_state_is_busy(&d.lock)) {
		drive_votes(&d, d.lock.queue.stage == RL_STAGE_ALL ? "NN" : "N");
		drive_forget(&d);
		if (!rl_state_is_busy(&d.lock))
			break;
		d.now_ns = drive_deadline_ns(&d);
		last_send = d.now_ns;
		drive_tick(&d);
		assert_int_equal(d.fx.send.operation, REDLOCK_OP_ACQUIRE);
		attempts++;
	}
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_ACQUIRE);
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_in_range(attempts, 50, 200);
	assert_in_range(last_send, rl_time_ms(295), rl_time_ms(300));
}

/* A process that was stopped while it waited comes back after the deadline: nothing is sent any more. */
TEST(no_attempt_begins_after_the_deadline)
{
	struct drive d = drive_begin(drive_waiting_rules(3, 1000), "acquire; votes NN; at 1000; tick");
	assert_int_equal(d.fx.send.operation, REDLOCK_OP_NONE);
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_ACQUIRE);
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_int_equal(d.lock.phase, RL_IDLE);
}

TEST(no_attempt_begins_after_the_patience)
{
	struct rl_rules rules = drive_waiting_rules(3, 60000);
	rules.noquorum_wait_ns = rl_time_ms(1000);
	struct drive d = drive_begin(rules, "acquire; votes DD; at 1001; tick");
	assert_int_equal(d.fx.send.operation, REDLOCK_OP_NONE);
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_ACQUIRE);
	assert_int_equal(d.fx.done.result, REDLOCK_E_NOQUORUM);
}

/* Attempts at the end have less time than an answer takes: that they get none says nothing of the nodes. */
TEST(a_busy_lock_is_busy_to_the_end)
{
	for (uint64_t rtt_us = 100; rtt_us <= 40000; rtt_us += 300) {
		struct drive d = drive_idle(drive_waiting_rules(3, 300));
		drive_acquire(&d);
		while (rl_state_is_busy(&d.lock)) {
			uint64_t answer_ns = d.lock.round.t0_ns + rtt_us * 1000;
			bool answered = d.lock.phase == RL_ACQUIRING && answer_ns < drive_deadline_ns(&d);
			d.now_ns = answered ? answer_ns : drive_deadline_ns(&d);
			if (answered)
				drive_votes(&d, "NN");
			else
				drive_tick(&d);
			drive_forget(&d);
		}
		if (d.fx.done.result != REDLOCK_E_BUSY)
			fail_msg("round trip %u us: %s", (unsigned)rtt_us, redlock_error_name(d.fx.done.result));
		assert_true(d.now_ns <= rl_time_ms(300));
	}
}

SCENARIO(the_wait_ends_an_attempt, drive_idle(drive_waiting_rules(3, 120)), "acquire; votes Y; until 1000",
         "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
         "[    0.000] acquiring: reply #1 node 0 YES -> acquiring Y..\n"
         "[  120.000] acquiring: tick -> idle YTT | send release #0 owed 7 | done acquire NOQUORUM\n")

/* A node that dies at the very end does not hide that a quorum was never there. */
TEST(an_unreachable_quorum_is_no_quorum_to_the_end)
{
	struct drive d = drive_idle(drive_waiting_rules(3, 500));
	drive_acquire(&d);
	while (rl_state_is_busy(&d.lock)) {
		if (d.lock.phase == RL_ACQUIRING)
			drive_reply(&d, 0, REDLOCK_VOTE_YES); /* the others are silent */
		d.now_ns = drive_deadline_ns(&d);
		drive_tick(&d);
	}
	assert_int_equal(d.fx.done.result, REDLOCK_E_NOQUORUM);
	assert_true(d.now_ns <= rl_time_ms(500));
}

TEST(a_retry_lies_in_the_future)
{
	struct rl_rules rules = drive_waiting_rules(3, 1000);
	rules.retry_min_ns = rules.retry_max_ns = 0;
	struct drive d = drive_idle(rules);
	drive_acquire(&d);
	drive_votes(&d, "DDD"); /* at once, as nodes that are down vote */
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_true(drive_deadline_ns(&d) > d.now_ns);
}

TEST(cancel_while_paused)
{
	struct drive d = drive_idle(drive_waiting_rules(3, REDLOCK_FOREVER));
	drive_tells(&d, "acquire; votes DD; at 20; cancel",
	            "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	            "[    0.000] acquiring: reply #1 node 0 DOWN, 1 DOWN -> paused --. until 50.000 | send "
	            "release #0 owed 4\n"
	            "[   20.000] paused: cancel -> idle --. | done acquire CANCELLED\n");
	assert_true(drive_deadline_ms(&d) == UINT64_MAX);
}

TEST(patience_with_an_unreachable_quorum)
{
	struct rl_rules rules = drive_waiting_rules(3, 60000);
	rules.noquorum_wait_ns = rl_time_ms(120);
	struct drive d = drive_begin(rules, "acquire; votes DD; until 50");
	drive_votes(&d, "NN"); /* a quorum answers: patience begins anew */
	drive_tells(&d,
	            "at 51; tick; votes Y; votes .DD; until 101; at 110; votes DD; until 160; at 220; votes DD",
	            "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	            "[    0.000] acquiring: reply #1 node 0 DOWN, 1 DOWN -> paused --. until 50.000 | send "
	            "release #0 owed 4\n"
	            "[   50.000] paused: tick -> acquiring ... | send acquire #2 ttl 30000.000\n"
	            "[   50.000] acquiring: reply #2 node 0 NO, 1 NO -> paused NN. until 50.000 | send release "
	            "#0 owed 4\n"
	            "[   51.000] paused: tick -> acquiring ... | send acquire #3 to 1 ttl 30000.000\n"
	            "[   51.000] acquiring: reply #3 node 0 YES -> acquiring Y.. | send acquire #3 again to 6 "
	            "ttl 30000.000\n"
	            "[   51.000] acquiring: reply #3 node 1 DOWN, 2 DOWN -> paused Y-- until 101.000 | send "
	            "release #0 owed 1\n"
	            "[  101.000] paused: tick -> acquiring ... | send acquire #4 ttl 30000.000\n"
	            "[  110.000] acquiring: reply #4 node 0 DOWN, 1 DOWN -> paused --. until 140.500 | send "
	            "release #0 owed 4\n"
	            "[  140.500] paused: tick -> acquiring ... | send acquire #5 ttl 30000.000\n"
	            "[  220.000] acquiring: reply #5 node 0 DOWN, 1 DOWN -> idle --. | send leave #0 owed 4 | "
	            "done acquire NOQUORUM\n");
}

TEST(no_patience_at_all)
{
	struct rl_rules rules = drive_waiting_rules(3, 60000);
	rules.noquorum_wait_ns = 0;
	struct drive d = drive_idle(rules);
	drive_tells(&d, "at 5; acquire; votes DD",
	            "[    5.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	            "[    5.000] acquiring: reply #1 node 0 DOWN, 1 DOWN -> idle --. | send release #0 owed "
	            "4 | done acquire NOQUORUM\n");
}

/* So many nodes need an operator that no quorum can come: waiting is no use. */
TEST(hopeless_votes_end_the_wait)
{
	struct drive d = drive_idle(drive_waiting_rules(5, REDLOCK_FOREVER));
	drive_tells(&d, "acquire; votes PPYP",
	            "[    0.000] idle: acquire -> acquiring ..... | send acquire #1 ttl 30000.000\n"
	            "[    0.000] acquiring: reply #1 node 0 NOPERM, 1 NOPERM, 2 YES, 3 NOPERM -> idle !!Y!. "
	            "| send release #0 owed 14 | done acquire NOQUORUM\n");
	drive_acquire(&d);
	drive_votes(&d, "PPDY"); /* the dead one may come back */
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ..... | send acquire #2 ttl 30000.000\n"
	                 "[    0.000] acquiring: reply #2 node 0 NOPERM, 1 NOPERM, 2 DOWN -> paused !!-.. until "
	                 "50.000 | send release #0 owed 18\n"
	                 "[    0.000] paused: reply #2 node 3 YES -> paused !!-Y. until 50.000\n");
}

/* A caller's own value is asked for once. Another claim of the same caller may have it: it is given back only
 * where it is known that this attempt made it, and the rest is left to the nodes. */
TEST(own_token_makes_one_attempt)
{
	struct rl_rules rules = drive_waiting_rules(5, 10000);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	struct drive d = drive_begin(rules, "acquire; votes YNDN");
	assert_int_equal(d.fx.send.nodes, 0x11);
	drive_play(&d, "acquire; votes YC");
	drive_reply(&d, 2, REDLOCK_VOTE_STALE);
	drive_ticks_until(&d, 200);
	assert_int_equal(d.fx.send.nodes, 0x1b);
	drive_expect(
	    &d, "[    0.000] idle: acquire -> acquiring ..... | send acquire #1 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #1 node 0 YES, 1 NO, 2 DOWN, 3 NO -> idle YN-N. | send release #0 "
	        "owed 1 | done acquire BUSY\n"
	        "[    0.000] idle: acquire -> acquiring ..... | send acquire #2 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #2 node 0 YES, 1 CLOSED, 2 STALE -> acquiring Y--..\n"
	        "[  200.000] acquiring: tick -> idle Y--TT | send release #0 owed 1 | done acquire NOQUORUM\n");
}

TESTS()
