/* SPDX-License-Identifier: MIT */
/* Holding: extend by hand, its caps, danger, and loss. */
#include "drive.h"

static void extend_is_granted(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_at(&d, 10000);
	drive_extend(&d, 30000);
	assert_int_equal(d.fx.nodes, 7);
	drive_at(&d, 10004);
	drive_votes(&d, "YNY");
	drive_expect(&d, "[10000.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10004.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[10004.000] held: reply #2 node 1 NO -> held YN. until 29698.000\n"
	                 "[10004.000] held: reply #2 node 2 YES -> held YNY until 39698.000 | done extend OK\n");
	assert_int_equal(d.lock.extends, 1);
}

/* Validity counts from the start of the extend, not from its answers. */
static void extend_is_granted_late(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_at(&d, 29600);
	drive_extend(&d, 30000);
	d.now_ns = rl_ms(29698) - 1;
	drive_votes(&d, "YY");
	drive_expect(&d, "[29600.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[29697.999] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[29697.999] held: reply #2 node 1 YES -> held YY. until 59298.000 | done extend OK\n");
}

/* A quorum that comes when the old validity has ended does not bring it back. */
static void reply_after_expiry_does_not_revive(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_at(&d, 29600);
	drive_extend(&d, 30000);
	drive_votes(&d, "Y");
	drive_at(&d, 29698);
	drive_reply(&d, 1, REDLOCK_VOTE_YES);
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	drive_tick(&d);
	drive_extend(&d, 30000);
	drive_expect(&d, "[29600.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[29600.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[29698.000] held: reply #2 node 1 YES -> lost YY. | lost | done extend LOST\n"
	                 "[29698.000] lost: reply #2 node 2 YES -> lost YYY\n"
	                 "[29698.000] lost: tick -> lost YYY\n"
	                 "[29698.000] lost: extend -> lost YYY | error LOST\n");
	assert_true(rl_lock_valid_until(&d.lock, 0) == 0);
}

/* The old validity stands when an extend fails, whatever the reason but a quorum of no. */
static void extend_fails(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(4);
	drive_hold(&d, &rules);
	drive_at(&d, 1000);
	drive_extend(&d, 30000);
	drive_votes(&d, "YYNN"); /* two of four: nobody has a quorum */
	drive_at(&d, 2000);
	drive_extend(&d, 30000);
	drive_votes(&d, "YDD");
	drive_at(&d, 3000);
	drive_extend(&d, 30000);
	drive_votes(&d, "YN");
	drive_ticks_until(&d, 3200);
	drive_expect(
	    &d, "[ 1000.000] held: extend -> held .... until 29698.000 | send extend #2 ttl 30000.000\n"
	        "[ 1000.000] held: reply #2 node 0 YES -> held Y... until 29698.000\n"
	        "[ 1000.000] held: reply #2 node 1 YES -> held YY.. until 29698.000\n"
	        "[ 1000.000] held: reply #2 node 2 NO -> held YYN. until 29698.000\n"
	        "[ 1000.000] held: reply #2 node 3 NO -> held YYNN until 29698.000 | done extend NOQUORUM\n"
	        "[ 2000.000] held: extend -> held .... until 29698.000 | send extend #3 ttl 30000.000\n"
	        "[ 2000.000] held: reply #3 node 0 YES -> held Y... until 29698.000\n"
	        "[ 2000.000] held: reply #3 node 1 DOWN -> held Y-.. until 29698.000\n"
	        "[ 2000.000] held: reply #3 node 2 DOWN -> held Y--. until 29698.000 | done extend NOQUORUM\n"
	        "[ 3000.000] held: extend -> held .... until 29698.000 | send extend #4 ttl 30000.000\n"
	        "[ 3000.000] held: reply #4 node 0 YES -> held Y... until 29698.000\n"
	        "[ 3000.000] held: reply #4 node 1 NO -> held YN.. until 29698.000\n"
	        "[ 3200.000] held: tick -> held YNTT until 29698.000 | done extend NOQUORUM\n");
}

static void lost_by_a_majority(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	drive_hold(&d, &rules);
	drive_at(&d, 1000);
	drive_extend(&d, 30000);
	drive_votes(&d, "YYNNN");
	drive_extend(&d, 30000);
	drive_ticks_until(&d, 60000);
	drive_expect(&d, "[ 1000.000] held: extend -> held ..... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[ 1000.000] held: reply #2 node 0 YES -> held Y.... until 29698.000\n"
	                 "[ 1000.000] held: reply #2 node 1 YES -> held YY... until 29698.000\n"
	                 "[ 1000.000] held: reply #2 node 2 NO -> held YYN.. until 29698.000\n"
	                 "[ 1000.000] held: reply #2 node 3 NO -> held YYNN. until 29698.000\n"
	                 "[ 1000.000] held: reply #2 node 4 NO -> lost YYNNN | lost | done extend LOST\n"
	                 "[ 1000.000] lost: extend -> lost YYNNN | error LOST\n");
}

static void lost_by_the_clock(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	assert_int_equal(drive_deadline_ms(&d), 29698);
	drive_ticks_until(&d, 60000);
	drive_tick(&d);
	drive_expect(&d, "[29698.000] held: tick -> lost YY. | lost\n"
	                 "[60000.000] lost: tick -> lost YY.\n");
	assert_true(drive_deadline_ms(&d) == UINT64_MAX);
}

/* Whatever is asked first after the end, the loss is told, once. */
static void lost_is_told_with_any_event(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	void (*const asks[])(struct drive *) = {drive_acquire, drive_release, drive_query, drive_cancel,
	                                        drive_tick};
	for (unsigned i = 0; i < COUNT(asks); i++) {
		drive_hold(&d, &rules);
		drive_at(&d, 29698);
		asks[i](&d);
		assert_true(d.fx.observed & RL_OBSERVE_LOST);
		drive_at(&d, 30000);
		drive_cancel(&d);
		assert_false(d.fx.observed & RL_OBSERVE_LOST);
	}
	drive_hold(&d, &rules);
	drive_at(&d, 29698);
	drive_extend(&d, 30000);
	assert_true(d.fx.observed & RL_OBSERVE_LOST);
	assert_int_equal(d.error, REDLOCK_E_LOST);
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	assert_false(d.fx.observed & RL_OBSERVE_LOST);
}

/* The loss ends an extend that somebody waits for, and leaves a query alone. */
static void loss_ends_an_open_extend(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_at(&d, 29690);
	drive_extend(&d, 30000);
	drive_ticks_until(&d, 30000);
	drive_expect(&d, "[29690.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[29698.000] held: tick -> lost ... | lost | done extend LOST\n");
	drive_hold(&d, &rules);
	drive_at(&d, 29690);
	drive_query(&d);
	drive_votes(&d, "YNY");
	drive_query(&d);
	drive_ticks_until(&d, 29700);
	drive_votes(&d, "YNY");
	drive_expect(&d, "[29690.000] held: query -> held ... until 29698.000 | send query #2\n"
	                 "[29690.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[29690.000] held: reply #2 node 1 NO -> held YN. until 29698.000\n"
	                 "[29690.000] held: reply #2 node 2 YES -> held YNY until 29698.000 | done query OK\n"
	                 "[29690.000] held: query -> held ... until 29698.000 | send query #3\n"
	                 "[29698.000] held: tick -> lost ... | lost\n"
	                 "[29700.000] lost: reply #3 node 0 YES -> lost Y..\n"
	                 "[29700.000] lost: reply #3 node 1 NO -> lost YN.\n"
	                 "[29700.000] lost: reply #3 node 2 YES -> lost YNY | done query OK\n");
}

static void never_shortens(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_ms(5000);
	drive_hold(&d, &rules);
	drive_at(&d, 100);
	drive_extend(&d, 1000);
	drive_votes(&d, "YY");
	drive_ticks_until(&d, 24698); /* danger */
	drive_extend(&d, 1000);       /* until 25686: nothing new, and no second notice */
	drive_votes(&d, "YY");
	drive_ticks_until(&d, 29000);
	drive_expect(&d, "[  100.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 1000.000\n"
	                 "[  100.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[  100.000] held: reply #2 node 1 YES -> held YY. until 29698.000 | done extend OK\n"
	                 "[24698.000] held: tick -> held YY. until 29698.000 | danger\n"
	                 "[24698.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 1000.000\n"
	                 "[24698.000] held: reply #3 node 0 YES -> held Y.. until 29698.000\n"
	                 "[24698.000] held: reply #3 node 1 YES -> held YY. until 29698.000 | done extend OK\n");
}

static void danger_once_per_deadline(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_ms(5000);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 24800);
	drive_tick(&d);
	drive_extend(&d, 10000);
	drive_votes(&d, "YY");
	drive_ticks_until(&d, 40000);
	drive_expect(&d, "[24698.000] held: tick -> held YY. until 29698.000 | danger\n"
	                 "[24800.000] held: tick -> held YY. until 29698.000\n"
	                 "[24800.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 10000.000\n"
	                 "[24800.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[24800.000] held: reply #2 node 1 YES -> held YY. until 34698.000 | done extend OK\n"
	                 "[29698.000] held: tick -> held YY. until 34698.000 | danger\n"
	                 "[34698.000] held: tick -> lost YY. | lost\n");
}

/* Danger and loss hang on their own timers: an extend that nobody answers does not hold them up. */
static void danger_while_an_extend_hangs(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.danger_ns = rl_ms(100);
	drive_hold(&d, &rules);
	drive_at(&d, 29500);
	drive_extend(&d, 30000);
	drive_ticks_until(&d, 30000);
	drive_expect(&d, "[29500.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[29598.000] held: tick -> held ... until 29698.000 | danger\n"
	                 "[29698.000] held: tick -> lost ... | lost | done extend LOST\n");
}

/* More danger than validity: the notice comes at once, and once. */
static void danger_at_the_grant(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.danger_ns = rl_ms(29990);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10);
	drive_expect(&d, "[    0.000] held: tick -> held Y until 29698.000 | danger\n");
}

static void cap_on_extends(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.max_extends = 2;
	drive_hold(&d, &rules);
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
	assert_true(rl_lock_valid_until(&d.lock, d.now_ns) == rl_ms(31698)); /* the old validity stands */
}

/* An extend that fails does not count. */
static void failed_extends_do_not_count(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.max_extends = 1;
	drive_hold(&d, &rules);
	drive_extend(&d, 30000);
	drive_votes(&d, "D");
	drive_extend(&d, 30000);
	drive_votes(&d, "Y");
	drive_extend(&d, 30000);
	assert_int_equal(d.error, REDLOCK_E_LIMIT);
}

/* No extend reaches beyond max_hold after the acquire: what is asked for is cut, then refused. */
static void cap_on_holding(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.max_hold_ns = rl_ms(40000);
	drive_hold(&d, &rules);
	drive_at(&d, 9000);
	drive_extend(&d, 30000); /* 39000: fits */
	drive_votes(&d, "Y");
	d.now_ns = rl_ms(15000) + 1;
	drive_extend(&d, 30000); /* cut to whole milliseconds */
	drive_votes(&d, "Y");
	drive_extend(&d, 30000); /* nothing more to be gained */
	drive_expect(&d, "[ 9000.000] held: extend -> held . until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[ 9000.000] held: reply #2 node 0 YES -> held Y until 38698.000 | done extend OK\n"
	                 "[15000.000] held: extend -> held . until 38698.000 | send extend #3 ttl 24999.000\n"
	                 "[15000.000] held: reply #3 node 0 YES -> held Y until 39747.010 | done extend OK\n"
	                 "[15000.000] held: extend -> held Y until 39747.010 | error LIMIT\n");
	assert_true(d.lock.valid_until_ns <= rl_ms(40000));
}

/* At the cap, a further extend of the same moment gains nothing, to the nanosecond. */
static void cap_on_holding_twice_at_once(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.max_hold_ns = rl_ms(40000);
	drive_hold(&d, &rules);
	drive_at(&d, 15000);
	drive_extend(&d, 30000);
	drive_votes(&d, "Y");
	drive_extend(&d, 30000);
	drive_expect(&d, "[15000.000] held: extend -> held . until 29698.000 | send extend #2 ttl 25000.000\n"
	                 "[15000.000] held: reply #2 node 0 YES -> held Y until 39748.000 | done extend OK\n"
	                 "[15000.000] held: extend -> held Y until 39748.000 | error LIMIT\n");
}

/* The caps begin anew with the next acquire. */
static void caps_begin_anew(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.max_extends = 1;
	rules.max_hold_ns = rl_ms(60000);
	drive_hold(&d, &rules);
	drive_extend(&d, 30000);
	drive_votes(&d, "Y");
	drive_release(&d);
	drive_votes(&d, "Y");
	drive_at(&d, 100000);
	drive_acquire(&d);
	drive_votes(&d, "Y");
	drive_extend(&d, 30000);
	assert_int_equal(d.error, 0);
	assert_true(d.fx.ttl_ns == rl_ms(30000));
}

static void cancel_an_extend(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_extend(&d, 30000);
	drive_cancel(&d);
	drive_votes(&d, "YY"); /* recorded, but not counted: the old validity stands */
	drive_cancel(&d);      /* held, nothing runs */
	drive_expect(&d, "[    0.000] held: extend -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[    0.000] held: cancel -> held ... until 29698.000 | done extend CANCELLED\n"
	                 "[    0.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[    0.000] held: reply #2 node 1 YES -> held YY. until 29698.000\n"
	                 "[    0.000] held: cancel -> held YY. until 29698.000\n");
}

/* A caller's own value can be extended without an acquire: there is no old validity. */
static void attached_extend(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.kind = RL_KIND_OWN_VALUE;
	rules.max_hold_ns = rl_ms(1000); /* of an acquire that was not made here: no cap is known */
	drive_init(&d, &rules);
	drive_extend(&d, 30000);
	drive_votes(&d, "NN");
	drive_extend(&d, 30000);
	drive_votes(&d, "DD");
	drive_at(&d, 100);
	drive_extend(&d, 30000);
	drive_votes(&d, "YY");
	drive_expect(&d, "[    0.000] idle: extend -> idle ... | send extend #1 ttl 30000.000\n"
	                 "[    0.000] idle: reply #1 node 0 NO -> idle N..\n"
	                 "[    0.000] idle: reply #1 node 1 NO -> idle NN. | done extend GONE\n"
	                 "[    0.000] idle: extend -> idle ... | send extend #2 ttl 30000.000\n"
	                 "[    0.000] idle: reply #2 node 0 DOWN -> idle -..\n"
	                 "[    0.000] idle: reply #2 node 1 DOWN -> idle --. | done extend NOQUORUM\n"
	                 "[  100.000] idle: extend -> idle ... | send extend #3 ttl 30000.000\n"
	                 "[  100.000] idle: reply #3 node 0 YES -> idle Y..\n"
	                 "[  100.000] idle: reply #3 node 1 YES -> held YY. until 29798.000 | done extend OK\n");
	assert_int_equal(d.lock.owed, 7);
	drive_at(&d, 200);
	drive_extend(&d, 40000);
	drive_votes(&d, "YY");
	assert_true(d.lock.valid_until_ns == rl_ms(200 + 40000 - 402));
}

/* A TTL that the drift eats confirms nothing. */
static void attached_extend_without_validity(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	rules.kind = RL_KIND_OWN_VALUE;
	rules.drift_base_ns = rl_ms(50);
	drive_init(&d, &rules);
	drive_extend(&d, 40);
	drive_votes(&d, "Y");
	drive_expect(&d, "[    0.000] idle: extend -> idle . | send extend #1 ttl 40.000\n"
	                 "[    0.000] idle: reply #1 node 0 YES -> idle Y | done extend NOQUORUM\n");
}

/* A node that refused the token and has it all the same is another one of the nodes, by another name. Not if
 * all say who they are, and not with an older answer. */
static void has_what_it_refused(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	for (unsigned i = 0; i < 2; i++) {
		drive_init(&d, &rules);
		d.anonymous = i == 0;
		drive_acquire(&d);
		drive_votes(&d, "YYYN");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(extend_is_granted),
	    cmocka_unit_test(extend_is_granted_late),
	    cmocka_unit_test(reply_after_expiry_does_not_revive),
	    cmocka_unit_test(extend_fails),
	    cmocka_unit_test(lost_by_a_majority),
	    cmocka_unit_test(lost_by_the_clock),
	    cmocka_unit_test(lost_is_told_with_any_event),
	    cmocka_unit_test(loss_ends_an_open_extend),
	    cmocka_unit_test(never_shortens),
	    cmocka_unit_test(danger_once_per_deadline),
	    cmocka_unit_test(danger_while_an_extend_hangs),
	    cmocka_unit_test(danger_at_the_grant),
	    cmocka_unit_test(cap_on_extends),
	    cmocka_unit_test(failed_extends_do_not_count),
	    cmocka_unit_test(cap_on_holding),
	    cmocka_unit_test(cap_on_holding_twice_at_once),
	    cmocka_unit_test(caps_begin_anew),
	    cmocka_unit_test(cancel_an_extend),
	    cmocka_unit_test(has_what_it_refused),
	    cmocka_unit_test(attached_extend),
	    cmocka_unit_test(attached_extend_without_validity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
