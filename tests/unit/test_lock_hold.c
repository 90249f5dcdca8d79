/* SPDX-License-Identifier: MIT */
/* Holding: extend by hand, its caps, danger, and loss. */
#include "drive.h"

TEST(extend_is_granted)
{
	struct drive d = drive_begin_held(drive_rules(3), "at 10000; extend 30000");
	assert_int_equal(d.fx.send.nodes, 7);
	drive_tells(
	    &d, "at 10004; votes YNY",
	    "[10000.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	    "[10004.000] held: reply #2 node 0 YES, 1 NO, 2 YES -> held YNY until 39698.000 | done extend OK\n");
	assert_int_equal(d.lock.extends, 1);
}

/* Validity counts from the start of the extend, not from its answers. */
TEST(extend_is_granted_late)
{
	struct drive d = drive_begin_held(drive_rules(3), "at 29600; extend 30000");
	d.now_ns = rl_time_ms(29698) - 1;
	drive_votes(&d, "YY");
	drive_expect(
	    &d, "[29600.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	        "[29697.999] held: reply #2 node 0 YES, 1 YES -> held YY. until 59298.000 | done extend OK\n");
}

/* A quorum that comes when the old validity has ended does not bring it back. */
TEST(reply_after_expiry_does_not_revive)
{
	struct drive d = drive_begin_held(drive_rules(3), "at 29600; extend 30000; votes Y; at 29698");
	drive_reply(&d, 1, REDLOCK_VOTE_YES);
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	drive_tells(&d, "tick; extend 30000",
	            "[29600.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[29600.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	            "[29698.000] held: reply #2 node 1 YES -> lost YY. | lost | done extend LOST\n"
	            "[29698.000] lost: reply #2 node 2 YES -> lost YYY\n"
	            "[29698.000] lost: tick -> lost YYY\n"
	            "[29698.000] lost: extend -> lost YYY | error LOST\n");
	assert_true(rl_lock_valid_until(&d.lock, 0) == 0);
}

/* The old validity stands when an extend fails, whatever the reason but a quorum of no. */
TEST(extend_fails)
{
	struct drive d = drive_begin_held(drive_rules(4), "at 1000; extend 30000");
	drive_votes(&d, "YYNN"); /* two of four: nobody has a quorum */
	drive_tells(&d, "at 2000; extend 30000; votes YDD; at 3000; extend 30000; votes YN; until 3200",
	            "[ 1000.000] held: extend -> held .... until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[ 1000.000] held: reply #2 node 0 YES, 1 YES, 2 NO, 3 NO -> held YYNN until 29698.000 "
	            "| done extend NOQUORUM\n"
	            "[ 2000.000] held: extend -> held .... until 29698.000 | send extend #3 ttl 30000.000\n"
	            "[ 2000.000] held: reply #3 node 0 YES, 1 DOWN, 2 DOWN -> held Y--. until 29698.000 | "
	            "done extend NOQUORUM\n"
	            "[ 3000.000] held: extend -> held .... until 29698.000 | send extend #4 ttl 30000.000\n"
	            "[ 3000.000] held: reply #4 node 0 YES, 1 NO -> held YN.. until 29698.000\n"
	            "[ 3200.000] held: tick -> held YNTT until 29698.000 | done extend NOQUORUM\n");
}

SCENARIO(lost_by_a_majority, drive_held(drive_rules(5)),
         "at 1000; extend 30000; votes YYNNN; extend 30000; until 60000",
         "[ 1000.000] held: extend -> held ..... until 29698.000 | send extend #2 ttl 30000.000\n"
         "[ 1000.000] held: reply #2 node 0 YES, 1 YES, 2 NO, 3 NO, 4 NO -> lost YYNNN | lost | "
         "done extend LOST\n"
         "[ 1000.000] lost: extend -> lost YYNNN | error LOST\n")

TEST(lost_by_the_clock)
{
	struct drive d = drive_held(drive_rules(3));
	assert_int_equal(drive_deadline_ms(&d), 29698);
	drive_tells(&d, "until 60000; tick",
	            "[29698.000] held: tick -> lost YY. | lost\n"
	            "[60000.000] lost: tick -> lost YY.\n");
	assert_true(drive_deadline_ms(&d) == UINT64_MAX);
}

/* Whatever is asked first after the end, the loss is told, once. */
TEST(lost_is_told_with_any_event)
{
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	void (*const asks[])(struct drive *) = {drive_acquire, drive_release, drive_query, drive_cancel,
	                                        drive_tick};
	for (unsigned i = 0; i < COUNT(asks); i++) {
		drive_hold(&d, &rules);
		drive_at(&d, 29698);
		asks[i](&d);
		assert_true(d.fx.observed & RL_OBSERVE_LOST);
		drive_play(&d, "at 30000; cancel");
		assert_false(d.fx.observed & RL_OBSERVE_LOST);
	}
	drive_hold(&d, &rules);
	drive_play(&d, "at 29698; extend 30000");
	assert_true(d.fx.observed & RL_OBSERVE_LOST);
	assert_int_equal(d.error, REDLOCK_E_LOST);
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	assert_false(d.fx.observed & RL_OBSERVE_LOST);
}

/* The loss ends an extend that somebody waits for, and leaves a query alone. */
TEST(loss_ends_an_open_extend)
{
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_tells(&d, "at 29690; extend 30000; until 30000",
	            "[29690.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[29698.000] held: tick -> lost ... | lost | done extend LOST\n");
	drive_hold(&d, &rules);
	drive_tells(
	    &d, "at 29690; query; votes YNY; query; until 29700; votes YNY",
	    "[29690.000] held: query -> held ... until 29698.000 | send query #2\n"
	    "[29690.000] held: reply #2 node 0 YES, 1 NO, 2 YES -> held YNY until 29698.000 | done query OK\n"
	    "[29690.000] held: query -> held ... until 29698.000 | send query #3\n"
	    "[29698.000] held: tick -> lost ... | lost\n"
	    "[29700.000] lost: reply #3 node 0 YES, 1 NO, 2 YES -> lost YNY | done query OK\n");
}

TEST(never_shortens)
{
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_time_ms(5000);
	struct drive d = drive_begin_held(rules, "at 100; extend 1000; votes YY");
	drive_ticks_until(&d, 24698); /* danger */
	drive_extend(&d, 1000);       /* until 25686: nothing new, and no second notice */
	drive_tells(
	    &d, "votes YY; until 29000",
	    "[  100.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 1000.000\n"
	    "[  100.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 29698.000 | done extend OK\n"
	    "[24698.000] held: tick -> held YY. until 29698.000 | danger\n"
	    "[24698.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 1000.000\n"
	    "[24698.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 29698.000 | done extend OK\n");
}

TEST(danger_once_per_deadline)
{
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_time_ms(5000);
	struct drive d = drive_held(rules);
	drive_tells(&d, "until 24800; tick; extend 10000; votes YY; until 40000",
	            "[24698.000] held: tick -> held YY. until 29698.000 | danger\n"
	            "[24800.000] held: tick -> held YY. until 29698.000\n"
	            "[24800.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 10000.000\n"
	            "[24800.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 34698.000 | done extend OK\n"
	            "[29698.000] held: tick -> held YY. until 34698.000 | danger\n"
	            "[34698.000] held: tick -> lost YY. | lost\n");
}

/* Danger and loss hang on their own timers: an extend that nobody answers does not hold them up. */
TEST(danger_while_an_extend_hangs)
{
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_time_ms(100);
	struct drive d = drive_held(rules);
	drive_tells(&d, "at 29500; extend 30000; until 30000",
	            "[29500.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[29598.000] held: tick -> held ... until 29698.000 | danger\n"
	            "[29698.000] held: tick -> lost ... | lost | done extend LOST\n");
}

/* More danger than validity: the notice comes at once, and once. */
TEST(danger_at_the_grant)
{
	struct rl_rules rules = drive_rules(1);
	rules.danger_ns = rl_time_ms(29990);
	struct drive d = drive_held(rules);
	drive_ticks_until(&d, 10);
	drive_expect(&d, "[    0.000] held: tick -> held Y until 29698.000 | danger\n");
}

TEST(cap_on_extends)
{
	struct rl_rules rules = drive_rules(1);
	rules.max_extends = 2;
	struct drive d = drive_held(rules);
	for (unsigned i = 1; i <= 3; i++) {
		drive_at(&d, 1000 * i);
		drive_extend(&d, 30000);
		if (d.error == 0)
			drive_votes(&d, "Y");
	}
	drive_expect(&d, "[ 1000.000] held: extend -> held . until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[ 1000.000] held: reply #2 node 0 YES -> held Y until 30698.000 | done extend OK\n"
	                 "[ 2000.000] held: extend -> held . until 30698.000 | send extend #3 ttl 30000.000\n"
	                 "[ 2000.000] held: reply #3 node 0 YES -> held Y until 31698.000 | done extend OK\n"
	                 "[ 3000.000] held: extend -> held Y until 31698.000 | error LIMIT\n");
	assert_true(rl_lock_valid_until(&d.lock, d.now_ns) == rl_time_ms(31698)); /* the old validity stands */
}

/* An extend that fails does not count. */
TEST(failed_extends_do_not_count)
{
	struct rl_rules rules = drive_rules(1);
	rules.max_extends = 1;
	struct drive d = drive_begin_held(rules, "extend 30000; votes D; extend 30000; votes Y; extend 30000");
	assert_int_equal(d.error, REDLOCK_E_LIMIT);
}

/* No extend reaches beyond max_hold after the acquire: what is asked for is cut, then refused. */
TEST(cap_on_holding)
{
	struct rl_rules rules = drive_rules(1);
	rules.max_hold_ns = rl_time_ms(40000);
	struct drive d = drive_held(rules);
	drive_at(&d, 9000);
	drive_extend(&d, 30000); /* 39000: fits */
	drive_votes(&d, "Y");
	d.now_ns = rl_time_ms(15000) + 1;
	drive_extend(&d, 30000); /* cut to whole milliseconds */
	drive_votes(&d, "Y");
	drive_extend(&d, 30000); /* nothing more to be gained */
	drive_expect(&d, "[ 9000.000] held: extend -> held . until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[ 9000.000] held: reply #2 node 0 YES -> held Y until 38698.000 | done extend OK\n"
	                 "[15000.000] held: extend -> held . until 38698.000 | send extend #3 ttl 24999.000\n"
	                 "[15000.000] held: reply #3 node 0 YES -> held Y until 39747.010 | done extend OK\n"
	                 "[15000.000] held: extend -> held Y until 39747.010 | error LIMIT\n");
	assert_true(d.lock.valid_until_ns <= rl_time_ms(40000));
}

/* At the cap, a further extend of the same moment gains nothing, to the nanosecond. */
TEST(cap_on_holding_twice_at_once)
{
	struct rl_rules rules = drive_rules(1);
	rules.max_hold_ns = rl_time_ms(40000);
	struct drive d = drive_held(rules);
	drive_tells(&d, "at 15000; extend 30000; votes Y; extend 30000",
	            "[15000.000] held: extend -> held . until 29698.000 | send extend #2 ttl 25000.000\n"
	            "[15000.000] held: reply #2 node 0 YES -> held Y until 39748.000 | done extend OK\n"
	            "[15000.000] held: extend -> held Y until 39748.000 | error LIMIT\n");
}

/* The caps begin anew with the next acquire. */
TEST(caps_begin_anew)
{
	struct rl_rules rules = drive_rules(1);
	rules.max_extends = 1;
	rules.max_hold_ns = rl_time_ms(60000);
	struct drive d = drive_held(rules);
	drive_play(&d, "extend 30000; votes Y; release; votes Y; at 100000; acquire; votes Y");
	drive_play(&d, "extend 30000");
	assert_int_equal(d.error, 0);
	assert_true(d.fx.send.ttl_ns == rl_time_ms(30000));
}

TEST(cancel_an_extend)
{
	struct drive d = drive_begin_held(drive_rules(3), "extend 30000; cancel");
	drive_votes(&d, "YY"); /* recorded, but not counted: the old validity stands */
	drive_cancel(&d);      /* held, nothing runs */
	drive_expect(&d, "[    0.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[    0.000] held: cancel -> held ... until 29698.000 | done extend CANCELLED\n"
	                 "[    0.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 29698.000\n"
	                 "[    0.000] held: cancel -> held YY. until 29698.000\n");
}

/* A caller's own value can be extended without an acquire: there is no old validity. */
TEST(attached_extend)
{
	struct rl_rules rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	rules.max_hold_ns = rl_time_ms(1000); /* of an acquire that was not made here: no cap is known */
	struct drive d = drive_idle(rules);
	drive_play(&d, "extend 30000; votes NN; extend 30000; votes DD; at 100; extend 30000");
	drive_tells(
	    &d, "votes YY",
	    "[    0.000] idle: extend -> idle ... | send extend #1 ttl 30000.000\n"
	    "[    0.000] idle: reply #1 node 0 NO, 1 NO -> idle NN. | done extend GONE\n"
	    "[    0.000] idle: extend -> idle ... | send extend #2 ttl 30000.000\n"
	    "[    0.000] idle: reply #2 node 0 DOWN, 1 DOWN -> idle --. | done extend NOQUORUM\n"
	    "[  100.000] idle: extend -> idle ... | send extend #3 ttl 30000.000\n"
	    "[  100.000] idle: reply #3 node 0 YES, 1 YES -> held YY. until 29798.000 | done extend OK\n");
	assert_int_equal(d.lock.claim.owed, 7);
	drive_play(&d, "at 200; extend 40000; votes YY");
	assert_true(d.lock.valid_until_ns == rl_time_ms(200 + 40000 - 402));
}

/* A TTL that the drift eats confirms nothing. */
TEST(attached_extend_without_validity)
{
	struct rl_rules rules = drive_rules(1);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	rules.drift_base_ns = rl_time_ms(50);
	struct drive d = drive_idle(rules);
	drive_tells(&d, "extend 40; votes Y",
	            "[    0.000] idle: extend -> idle . | send extend #1 ttl 40.000\n"
	            "[    0.000] idle: reply #1 node 0 YES -> idle Y | done extend NOQUORUM\n");
}

/* A node that refused the token and has it all the same is another one of the nodes, by another name. Not if
 * all say who they are, and not with an older answer. */
TEST(has_what_it_refused)
{
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	for (unsigned i = 0; i < 2; i++) {
		drive_init(&d, &rules);
		d.anonymous = i == 0;
		drive_play(&d, "acquire; votes YYYN");
		drive_reply_to(&d, 0, 3, REDLOCK_VOTE_YES); /* a release of the token before */
		assert_false(d.fx.twin);
		drive_extend(&d, 40000);
		drive_reply(&d, 0, REDLOCK_VOTE_YES);
		assert_false(d.fx.twin);
		drive_reply(&d, 3, REDLOCK_VOTE_YES);
		assert_int_equal(d.fx.twin, i == 0);
		assert_int_equal(d.lock.votes[3].code, i == 0 ? REDLOCK_VOTE_DUPLICATE : REDLOCK_VOTE_YES);
	}
}

/* ---- time that the clock does not show ---- */

/* Validity, notice and renewal come sooner by it, also when it is longer than the time since the boot. */
TEST(a_leap_ends_a_lock_sooner)
{
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_time_ms(5000);
	struct drive d = drive_held(rules);
	drive_tells(&d, "at 1000; leap 20000; until 4698; leap 4999; leap 1",
	            "[ 1000.000] held: clock leapt 20000.000 -> held YY. until 9698.000\n"
	            "[ 4698.000] held: tick -> held YY. until 9698.000 | danger\n"
	            "[ 4698.000] held: clock leapt 4999.000 -> held YY. until 4699.000\n"
	            "[ 4698.000] held: clock leapt 1.000 -> lost YY. | lost\n");
	d = drive_begin_held(rules, "at 1");
	drive_tells(&d, "leap 1800000000000",
	            "[    1.000] held: clock leapt 1800000000000.000 -> lost YY. | lost\n");
}

/* Votes that are out are worth so much less. A vote that would be worth nothing is not granted, and given
 * back. */
TEST(a_leap_while_votes_are_out)
{
	struct drive d = drive_begin_held(drive_rules(3), "at 100; extend 30000; leap 10000; votes YY");
	drive_expect(
	    &d, "[  100.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	        "[  100.000] held: clock leapt 10000.000 -> held ... until 19698.000\n"
	        "[  100.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 19798.000 | done extend OK\n");
	d = drive_begin(drive_rules(3), "acquire; leap 29000; leap 697; votes Y; forget; votes .Y");
	drive_expect(&d,
	             "[    0.000] acquiring: reply #1 node 1 YES -> held YY. until 1.000 | done acquire OK\n");
	d = drive_begin(drive_rules(3), "acquire; leap 29000; leap 698; votes Y; forget; votes .Y");
	drive_expect(&d, "[    0.000] acquiring: reply #1 node 1 YES -> idle YY. | send release #0 owed 7 "
	                 "| done acquire BUSY\n");
	d = drive_begin(drive_rules(3), "acquire; leap 9000000000000");
	assert_int_equal(drive_deadline_ms(&d), 200); /* nobody's patience is shorter */
	d = drive_begin(drive_rules(3), "acquire");
	for (unsigned i = 0; i < 20; i++) /* small ones add up, to no more than they are */
		drive_step(&d, (struct rl_event){.kind = RL_EV_LEAP, .leap_ns = 50001});
	drive_play(&d, "votes YY");
	assert_int_equal(d.lock.valid_until_ns, rl_time_ms(29698) - 20 * 50001);
}

/* Only what began afterwards counts in full; the cap is not moved by what was before. */
TEST(a_leap_counts_once)
{
	struct rl_rules rules = drive_rules(3);
	rules.max_hold_ns = rl_time_ms(60000);
	struct drive d =
	    drive_begin(rules, "acquire; leap 1000; votes YY; at 10; leap 1000; extend 30000; votes YY");
	assert_int_equal(d.lock.valid_until_ns, rl_time_ms(29708));
	assert_int_equal(d.lock.hold.hold_until_ns, rl_time_ms(58000));
}

/* ---- the nodes turn out to be a guarded set ---- */

/* Votes so far may be of nodes that have forgotten locks: an attempt begins anew, and an extend is asked
 * again. A lock that is held lasts no longer than locks of the set may, and is renewed at once. */
TEST(a_set_that_turns_out_to_be_guarded)
{
	struct rl_rules rules = drive_waiting_rules(3, 60000);
	struct drive d = drive_begin(rules, "acquire; votes Y; forget");
	drive_tells(&d, "guarded 10000",
	            "[    0.000] acquiring: guarded -> paused Y.. until 50.000 | send release #0 owed 7\n");
	drive_tells(&d, "guarded 10000", "[    0.000] paused: guarded -> paused Y.. until 50.000\n");
	d = drive_begin_held(rules, "at 100; guarded 10000");
	drive_expect(&d, "[  100.000] held: guarded -> held YY. until 9998.000\n");
	d = drive_begin_held(rules,
	                     "at 100; query; guarded 10000; votes YYY; extend 30000; votes Y; guarded 60000");
	drive_expect(
	    &d,
	    "[  100.000] held: query -> held ... until 29698.000 | send query #2\n"
	    "[  100.000] held: guarded -> held ... until 9998.000\n"
	    "[  100.000] held: reply #2 node 0 YES, 1 YES, 2 YES -> held YYY until 9998.000 | done query OK\n"
	    "[  100.000] held: extend -> held ... until 9998.000 | send extend #3 ttl 30000.000\n"
	    "[  100.000] held: reply #3 node 0 YES -> held Y.. until 9998.000\n"
	    "[  100.000] held: guarded -> held ... until 9998.000 | send extend #3 again to 7 ttl 30000.000\n");
	rules.renew_ns = rl_time_ms(10000);
	d = drive_begin_held(rules, "at 100; guarded 10000");
	drive_expect(&d, "[  100.000] held: guarded -> held YY. until 9998.000\n");
	assert_int_equal(drive_deadline_ms(&d), 100);
	d = drive_begin(rules, "guarded 10000");
	drive_expect(&d, "[    0.000] idle: guarded -> idle\n");
}

/* ---- the node set permits less than a TTL that nobody asked for ---- */

/* Each node that says so is asked again, for the TTL of the rules: by an acquire, a probe, a renewal, and an
 * extend of no TTL, or one that replaces a renewal. */
TEST(a_ttl_that_nobody_asked_for_becomes_shorter)
{
	struct rl_rules rules = drive_rules(3);
	struct drive d = drive_begin(rules, "acquire; shorter 0; shorter 1; votes Y; at 20; votes .Y; shorter 2");
	drive_expect(
	    &d,
	    "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	    "[    0.000] acquiring: shorter -> acquiring ... | send acquire #1 again to 1 ttl 10000.000\n"
	    "[    0.000] acquiring: shorter -> acquiring ... | send acquire #1 again to 2 ttl 10000.000\n"
	    "[    0.000] acquiring: reply #1 node 0 YES -> acquiring Y..\n"
	    "[   20.000] acquiring: reply #1 node 1 YES -> held YY. until 9898.000 | done acquire OK\n"
	    "[   20.000] held: shorter -> held YY. until 9898.000 | send acquire #1 again to 4 ttl 10000.000\n");
	d = drive_idle(rules);
	drive_probe(&d);
	drive_play(&d, "shorter 0");
	drive_expect(&d, "[    0.000] idle: query -> idle ... | send probe #1\n"
	                 "[    0.000] idle: shorter -> idle ... | send probe #1 again to 1\n");
	d = drive_begin_held(rules, "at 100; extend 0; shorter 0; votes Y; at 120; votes .Y");
	drive_expect(
	    &d,
	    "[  100.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	    "[  100.000] held: shorter -> held ... until 29698.000 | send extend #2 again to 1 ttl 10000.000\n"
	    "[  100.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	    "[  120.000] held: reply #2 node 1 YES -> held YY. until 29698.000 | done extend OK\n");
	rules.renew_ns = rl_time_ms(10000);
	d = drive_begin_held(rules, "until 10000; shorter 1");
	drive_expect(
	    &d,
	    "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	    "[10000.000] held: shorter -> held ... until 29698.000 | send extend #2 again to 2 ttl 10000.000\n");
	d = drive_begin_held(rules, "until 10000; extend 8000; shorter 1");
	drive_expect(
	    &d,
	    "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	    "[10000.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 30000.000\n"
	    "[10000.000] held: shorter -> held ... until 29698.000 | send extend #3 again to 2 ttl 10000.000\n");
}

/* No renewal makes the key of a node that was refused the TTL of the claim: it is claimed there also when a
 * renewal has begun. Not while the lock is upgraded, whose key has another form, nor when it is lost. */
TEST(a_node_heard_of_after_a_renewal_is_claimed)
{
	struct rl_rules rules = drive_rules(3);
	struct rl_event late = {.kind = RL_EV_SHORTER, .node = 2};
	struct drive d = drive_begin_held(rules, "at 100; extend 0");
	d.lock.claim.owed = 3; /* its refusal has said that there is no key */
	late.reply.seq = d.lock.claim.seq;
	drive_forget(&d);
	drive_step(&d, late);
	drive_reply(&d, 2, REDLOCK_VOTE_NO);
	drive_reply_to(&d, late.reply.seq, 2, REDLOCK_VOTE_YES);
	drive_expect(
	    &d,
	    "[  100.000] held: shorter -> held ... until 29698.000 | send acquire #1 again to 4 ttl 30000.000\n"
	    "[  100.000] held: reply #2 node 2 NO -> held ..N until 29698.000\n"
	    "[  100.000] held: reply #1 node 2 YES -> held ..N until 29698.000\n");
	assert_int_equal(d.lock.claim.owed, 7);
	rules.policy = &rl_kinds[RL_KIND_SHARED];
	d = drive_begin_held(rules, "upgrade; votes YY");
	drive_step(&d, late);
	assert_int_equal(d.error, REDLOCK_E_STATE);
	d = drive_begin_held(drive_rules(3), "extend 0; votes NN");
	drive_step(&d, late);
	assert_int_equal(d.error, REDLOCK_E_STATE);
}

/* Where the caller asked for the TTL, after the decision, while votes are split, and after an upgrade. */
TEST(a_ttl_that_is_needed_is_refused)
{
	struct drive d = drive_begin_held(drive_rules(3), "extend 30000; shorter 0; shorter 1");
	drive_expect(&d, "[    0.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[    0.000] held: shorter -> held ... until 29698.000 | error STATE\n"
	                 "[    0.000] held: shorter -> held ... until 29698.000 | error STATE\n");
	d = drive_begin_held(drive_rules(3), "extend 0; votes YY; forget; shorter 2");
	drive_expect(
	    &d,
	    "[    0.000] held: shorter -> held YY. until 29698.000 | send extend #2 again to 4 ttl 10000.000\n");
	d = drive_begin(drive_rules(3), "acquire; votes NN; forget; shorter 2");
	drive_expect(&d, "[    0.000] looking: shorter -> looking NN. | error STATE\n");
	d = drive_begin(drive_rules(3), "acquire; votes Y; forget; shorter 0"); /* it has voted */
	drive_expect(&d, "[    0.000] acquiring: shorter -> acquiring Y.. | error STATE\n");
	drive_step(&d, (struct rl_event){.kind = RL_EV_SHORTER, .reply.seq = d.lock.round.seq - 1, .node = 1});
	drive_expect(&d, "[    0.000] acquiring: shorter -> acquiring Y.. | error STATE\n");
	struct rl_rules rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_SHARED];
	d = drive_begin_held(rules, "upgrade; votes YY; forget; shorter 2");
	drive_expect(&d, "[    0.000] held: shorter -> held YY. until 29698.000 | error STATE\n");
	d = drive_begin_held(rules, "upgrade; votes YY; downgrade; forget; shorter 2");
	drive_expect(&d, "[    0.000] held: shorter -> held ... until 29698.000 | error STATE\n");
}

/* Not more than the set permits can be left of the shared lock, so that an upgrade may ask for less. */
TEST(an_upgrade_with_a_shorter_ttl)
{
	struct rl_rules rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_SHARED];
	struct drive d = drive_begin_held(rules, "at 100; upgrade; shorter 0; shorter 2; at 110; votes Y.Y");
	drive_expect(
	    &d,
	    "[  100.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
	    "[  100.000] held: shorter -> held ... until 9998.000 | send upgrade #2 again to 1 ttl 10000.000\n"
	    "[  100.000] held: shorter -> held ... until 9998.000 | send upgrade #2 again to 4 ttl 10000.000\n"
	    "[  110.000] held: reply #2 node 0 YES, 2 YES -> held Y.Y until 9998.000 | done upgrade OK\n");
}

TESTS()
