/* SPDX-License-Identifier: MIT */
/* Holding: renewal in the background, and what happens when it fails or the caller's operations cross it. */
#include "drive.h"

static struct rl_rules renewing_rules(unsigned node_count)
{
	struct rl_rules rules = drive_rules(node_count);
	rules.renew_ns = rl_time_ms(10000);
	return rules;
}

/* Each renewal is due renew_ms after the start of the last one. Nobody is told of a result. */
TEST(schedule)
{
	struct drive d = drive_held(renewing_rules(3));
	assert_int_equal(drive_deadline_ms(&d), 10000);
	drive_ticks_until(&d, 10003);
	assert_false(rl_state_is_busy(&d.lock)); /* the caller may do something else meanwhile */
	drive_tells(&d, "votes YY; until 20000; votes YNY",
	            "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[10003.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 39698.000\n"
	            "[20000.000] held: tick -> held ... until 39698.000 | send extend #3 ttl 30000.000\n"
	            "[20000.000] held: reply #3 node 0 YES, 1 NO, 2 YES -> held YNY until 49698.000\n");
}

/* Locks that were acquired together part: each renewal comes up to a quarter of its time sooner, by chance.
 * But at common times, 256 of them in renew_ms, so that what is due about now goes out together. */
TEST(not_all_at_once)
{
	const struct {
		uint64_t entropy, due_ns;
	} cases[] = {{0, rl_time_ms(10000)},
	             {1, 255 * 39062500ull},
	             {39062500, 255 * 39062500ull},
	             {39062501, 254 * 39062500ull},
	             {rl_time_ms(2500), rl_time_ms(7500)},
	             {rl_time_ms(2500) + 1, rl_time_ms(10000)}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct drive d = drive_idle(renewing_rules(3));
		d.entropy = cases[i].entropy;
		drive_play(&d, "acquire; votes YY");
		assert_true(drive_deadline_ns(&d) == cases[i].due_ns);
	}
}

/* Servers that are slow for a while are not asked again meanwhile: an answer counts that comes after the node
 * timeout. So it goes up to an eighth of the validity that is left. */
SCENARIO(patient, drive_held(renewing_rules(3)), "until 12000; votes YY; until 22465",
         "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
         "[12000.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 39698.000\n"
         "[20000.000] held: tick -> held ... until 39698.000 | send extend #3 ttl 30000.000\n"
         "[22462.250] held: tick -> held TTT until 39698.000\n")

/* As soon as somebody waits for it, it has a node timeout. */
SCENARIO(hurried_by_a_query, drive_held(renewing_rules(3)), "until 10500; forget; query; until 10700",
         "[10500.000] held: query -> held ... until 29698.000\n"
         "[10700.000] held: tick -> held ... until 29698.000 | send query #3\n")

/* A renewal that fails is tried again until the end; then the loss is told, once. */
TEST(retried_until_the_end)
{
	struct rl_rules rules = renewing_rules(3);
	rules.danger_ns = rl_time_ms(1000);
	struct drive d = drive_held(rules);
	unsigned renewals = 0;
	unsigned losses = 0;
	unsigned dangers = 0;
	uint64_t last_ns = 0;
	while (drive_deadline_ns(&d) != UINT64_MAX && renewals < 100000) {
		d.now_ns = drive_deadline_ns(&d);
		drive_tick(&d);
		losses += (d.fx.observed & RL_OBSERVE_LOST) != 0;
		dangers += (d.fx.observed & RL_OBSERVE_DANGER) != 0;
		assert_int_equal(d.fx.done.operation, REDLOCK_OP_NONE);
		if (d.fx.send.operation == REDLOCK_OP_EXTEND) {
			renewals++;
			assert_true(last_ns == 0 || d.now_ns - last_ns >= rl_time_ms(1));
			last_ns = d.now_ns;
			drive_votes(&d, "DD");
		}
		drive_forget(&d);
	}
	assert_int_equal(losses, 1);
	assert_int_equal(dangers, 1);
	assert_int_equal(d.lock.phase, RL_LOST);
	assert_true(d.now_ns == rl_time_ms(29698));
	assert_in_range(renewals, 300, 420);      /* 19.7 s by 50 ms */
	assert_true(last_ns > rl_time_ms(29690)); /* to the end */
}

/* With silent nodes each of these renewals takes a node timeout. */
TEST(silent_nodes)
{
	struct rl_rules rules = renewing_rules(3);
	rules.ttl_ns = rl_time_ms(1000);
	rules.renew_ns = rl_time_ms(320);
	struct drive d = drive_held(rules);
	drive_ticks_until(&d, 5000);
	drive_expect(&d, "[  320.000] held: tick -> held ... until 988.000 | send extend #2 ttl 1000.000\n"
	                 "[  520.000] held: tick -> held TTT until 988.000\n"
	                 "[  570.000] held: tick -> held ... until 988.000 | send extend #3 ttl 1000.000\n"
	                 "[  770.000] held: tick -> held TTT until 988.000\n"
	                 "[  820.000] held: tick -> held ... until 988.000 | send extend #4 ttl 1000.000\n"
	                 "[  988.000] held: tick -> lost ... | lost\n");
}

/* Nodes that come back in time save the lock. */
TEST(saved_at_the_last_moment)
{
	struct drive d = drive_held(renewing_rules(3));
	while (!(d.lock.round.open && d.lock.round.t0_ns > rl_time_ms(29600))) {
		if (d.lock.round.open)
			drive_votes(&d, "DD");
		d.now_ns = drive_deadline_ns(&d);
		drive_tick(&d);
		assert_int_equal(d.lock.phase, RL_HELD);
		drive_forget(&d);
	}
	uint64_t t0 = d.lock.round.t0_ns;
	drive_votes(&d, "YY");
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_true(d.lock.valid_until_ns == t0 + rl_time_ms(29698));
}

SCENARIO(lost_by_a_majority, drive_held(renewing_rules(3)), "until 10000; votes NYN; until 50000",
         "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
         "[10000.000] held: reply #2 node 0 NO, 1 YES, 2 NO -> lost NYN | lost\n")

TEST(a_retry_lies_in_the_future)
{
	struct rl_rules rules = renewing_rules(3);
	rules.retry_min_ns = rules.retry_max_ns = 0;
	struct drive d = drive_begin_held(rules, "until 10000; votes DDD");
	assert_true(drive_deadline_ns(&d) > d.now_ns);
}

/* ---- crossed by the caller ---- */

TEST(extend_in_place_of_a_renewal)
{
	struct drive d = drive_begin_held(renewing_rules(3), "until 10000; votes Y; at 10001; extend 50000");
	drive_reply_to(&d, 2, 1, REDLOCK_VOTE_YES); /* of the renewal: too late */
	drive_votes(&d, "YY");
	drive_expect(
	    &d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	        "[10000.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	        "[10001.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 50000.000\n"
	        "[10001.000] held: reply #2 node 1 YES -> held ... until 29698.000\n"
	        "[10001.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 59499.000 | done extend OK\n");
	assert_true(drive_deadline_ns(&d) == 1018 * 39062500ull); /* the common time before 59499 - 19698 */
}

/* If it fails, the renewal follows at once. */
TEST(failed_extend_in_place_of_a_renewal)
{
	struct drive d = drive_held(renewing_rules(3));
	drive_tells(
	    &d, "until 10000; extend 50000; votes DD; until 10000",
	    "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	    "[10000.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 50000.000\n"
	    "[10000.000] held: reply #3 node 0 DOWN, 1 DOWN -> held --. until 29698.000 | done extend NOQUORUM\n"
	    "[10000.000] held: tick -> held ... until 29698.000 | send extend #4 ttl 30000.000\n");
	assert_true(d.lock.round.background);
}

/* An extend to a short TTL confirms the lock, but must not put off its renewal beyond the end. */
TEST(short_extends_do_not_put_off_the_renewal)
{
	struct drive d = drive_held(renewing_rules(3));
	for (uint64_t ms = 100; ms < 100000; ms += 100) {
		while (drive_deadline_ns(&d) <= rl_time_ms(ms)) {
			d.now_ns = drive_deadline_ns(&d);
			drive_tick(&d);
			drive_votes(&d, "YYY"); /* of healthy nodes */
			assert_int_equal(d.lock.phase, RL_HELD);
		}
		drive_at(&d, ms);
		drive_extend(&d, 250);
		assert_int_equal(d.error, 0);
		drive_play(&d, "votes YYY; forget");
	}
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A short extend after failed renewals: the lock has validity left, and nodes that answer; it goes on. */
TEST(short_extend_after_failed_renewals)
{
	struct drive d = drive_held(renewing_rules(3));
	while (d.now_ns < rl_time_ms(25000)) {
		d.now_ns = drive_deadline_ns(&d);
		drive_play(&d, "tick; votes DD; forget");
	}
	drive_play(&d, "extend 250; votes YY");
	while (d.lock.phase == RL_HELD && d.now_ns < rl_time_ms(60000)) {
		d.now_ns = drive_deadline_ns(&d);
		drive_play(&d, "tick; votes YY; forget");
	}
	assert_int_equal(d.lock.phase, RL_HELD);
}

TEST(query_after_a_renewal)
{
	struct drive d = drive_begin_held(renewing_rules(3), "until 10000; query");
	assert_true(rl_state_is_busy(&d.lock));
	drive_query(&d); /* one at a time */
	drive_play(&d, "extend 30000; release; votes YY; votes YYY; at 20000");
	drive_query(&d); /* due, not begun: it goes first */
	drive_tells(
	    &d, "votes DD; votes YYY",
	    "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	    "[10000.000] held: query -> held ... until 29698.000\n"
	    "[10000.000] held: query -> held ... until 29698.000 | error STATE\n"
	    "[10000.000] held: extend -> held ... until 29698.000 | error STATE\n"
	    "[10000.000] held: release -> held ... until 29698.000 | error STATE\n"
	    "[10000.000] held: reply #2 node 0 YES, 1 YES -> held ... until 39698.000 | send query #3\n"
	    "[10000.000] held: reply #3 node 0 YES, 1 YES, 2 YES -> held YYY until 39698.000 | done query OK\n"
	    "[20000.000] held: query -> held ... until 39698.000 | send extend #4 ttl 30000.000\n"
	    "[20000.000] held: reply #4 node 0 DOWN, 1 DOWN -> held ... until 39698.000 | send query #5\n"
	    "[20000.000] held: reply #5 node 0 YES, 1 YES, 2 YES -> held YYY until 39698.000 | done query OK\n");
}

TEST(cancel_a_query_after_a_renewal)
{
	struct drive d = drive_held(renewing_rules(3));
	drive_tells(&d, "until 10000; query; cancel; votes YY",
	            "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[10000.000] held: query -> held ... until 29698.000\n"
	            "[10000.000] held: cancel -> held ... until 29698.000 | done query CANCELLED\n"
	            "[10000.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 39698.000\n");
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A renewal that is silent until the loss lets the query begin. */
SCENARIO(query_after_a_renewal_that_is_lost, drive_held(renewing_rules(3)),
         "until 10000; query; votes NN; votes NNN",
         "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
         "[10000.000] held: query -> held ... until 29698.000\n"
         "[10000.000] held: reply #2 node 0 NO, 1 NO -> lost ... | lost | send query #3\n"
         "[10000.000] lost: reply #3 node 0 NO, 1 NO, 2 NO -> lost NNN | done query GONE\n")

TEST(queries_do_not_starve_the_renewal)
{
	struct drive d = drive_held(renewing_rules(3));
	/* Round trips of 10 ms, a query whenever none runs. */
	while (d.now_ns < rl_time_ms(100000)) {
		if (!rl_state_is_busy(&d.lock))
			drive_query(&d);
		assert_true(d.lock.round.open);
		d.now_ns += rl_time_ms(10);
		drive_votes(&d, "YYY");
		assert_int_equal(d.lock.phase, RL_HELD);
		drive_forget(&d);
	}
}

TEST(release_in_place_of_a_renewal)
{
	struct drive d = drive_begin_held(renewing_rules(3), "until 10000; release; votes YY");
	assert_true(drive_deadline_ms(&d) == UINT64_MAX);
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: release -> releasing ... | send release #3 owed 7\n"
	                 "[10000.000] releasing: reply #3 node 0 YES, 1 YES -> idle YY. | done release OK\n");
}

/* ---- caps ---- */

TEST(cap_on_extends)
{
	struct rl_rules rules = renewing_rules(1);
	rules.max_extends = 1;
	struct drive d = drive_held(rules);
	drive_tells(&d, "until 10000; votes Y; until 60000",
	            "[10000.000] held: tick -> held . until 29698.000 | send extend #2 ttl 30000.000\n"
	            "[10000.000] held: reply #2 node 0 YES -> held Y until 39698.000\n"
	            "[20000.000] held: tick -> held Y until 39698.000\n"
	            "[39698.000] held: tick -> lost Y | lost\n");
}

/* The last renewal is cut to what may be held, and none follows. */
TEST(cap_on_holding)
{
	struct rl_rules rules = renewing_rules(1);
	rules.max_hold_ns = rl_time_ms(35000);
	struct drive d = drive_held(rules);
	drive_tells(&d, "until 10000; votes Y; until 60000",
	            "[10000.000] held: tick -> held . until 29698.000 | send extend #2 ttl 25000.000\n"
	            "[10000.000] held: reply #2 node 0 YES -> held Y until 34748.000\n"
	            "[34748.000] held: tick -> lost Y | lost\n");
}

/* An extend by hand in place of a renewal that is due asks for no less than the renewal would. */
TEST(extend_when_a_renewal_is_due)
{
	struct drive d = drive_begin_held(renewing_rules(1), "at 10000; extend 250");
	assert_true(d.fx.send.ttl_ns == rl_time_ms(30000));
	drive_votes(&d, "Y");
	assert_true(d.lock.valid_until_ns == rl_time_ms(39698));
	drive_play(&d, "at 12000; extend 250");
	assert_true(d.fx.send.ttl_ns == rl_time_ms(250));
}

TESTS()
