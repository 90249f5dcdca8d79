/* SPDX-License-Identifier: MIT */
/* Holding: renewal in the background, and what happens when it fails or the caller's operations cross it. */
#include "drive.h"

static struct rl_rules renewing_rules(unsigned node_count)
{
	struct rl_rules rules = drive_rules(node_count);
	rules.renew_ns = rl_ms(10000);
	return rules;
}

/* Each renewal is due renew_ms after the start of the last one. Nobody is told of a result. */
static void schedule(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	assert_int_equal(drive_deadline_ms(&d), 10000);
	drive_ticks_until(&d, 10003);
	assert_false(rl_lock_busy(&d.lock)); /* the caller may do something else meanwhile */
	drive_votes(&d, "YY");
	drive_ticks_until(&d, 20000);
	drive_votes(&d, "YNY");
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10003.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[10003.000] held: reply #2 node 1 YES -> held YY. until 39698.000\n"
	                 "[20000.000] held: tick -> held ... until 39698.000 | send extend #3 ttl 30000.000\n"
	                 "[20000.000] held: reply #3 node 0 YES -> held Y.. until 39698.000\n"
	                 "[20000.000] held: reply #3 node 1 NO -> held YN. until 39698.000\n"
	                 "[20000.000] held: reply #3 node 2 YES -> held YNY until 49698.000\n");
}

/* Locks that were acquired together part: each renewal comes up to a quarter of its time sooner, by chance.
 * But at common times, 256 of them in renew_ms, so that what is due about now goes out together. */
static void not_all_at_once(void **state)
{
	(void)state;
	const struct {
		uint64_t entropy, due_ns;
	} cases[] = {{0, rl_ms(10000)},
	             {1, 255 * 39062500ull},
	             {39062500, 255 * 39062500ull},
	             {39062501, 254 * 39062500ull},
	             {rl_ms(2500), rl_ms(7500)},
	             {rl_ms(2500) + 1, rl_ms(10000)}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct drive d;
		struct rl_rules rules = renewing_rules(3);
		drive_init(&d, &rules);
		d.entropy = cases[i].entropy;
		drive_acquire(&d);
		drive_votes(&d, "YY");
		assert_true(rl_lock_deadline(&d.lock) == cases[i].due_ns);
	}
}

/* Servers that are slow for a while are not asked again meanwhile: an answer counts that comes after the node
 * timeout. So it goes up to an eighth of the validity that is left. */
static void patient(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 12000);
	drive_votes(&d, "YY");
	drive_ticks_until(&d, 22465);
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[12000.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[12000.000] held: reply #2 node 1 YES -> held YY. until 39698.000\n"
	                 "[20000.000] held: tick -> held ... until 39698.000 | send extend #3 ttl 30000.000\n"
	                 "[22462.250] held: tick -> held TTT until 39698.000\n");
}

/* As soon as somebody waits for it, it has a node timeout. */
static void hurried_by_a_query(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10500);
	drive_forget(&d);
	drive_query(&d);
	drive_ticks_until(&d, 10700);
	drive_expect(&d, "[10500.000] held: query -> held ... until 29698.000\n"
	                 "[10700.000] held: tick -> held ... until 29698.000 | send query #3\n");
}

/* A renewal that fails is tried again until the end; then the loss is told, once. */
static void retried_until_the_end(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	rules.danger_ns = rl_ms(1000);
	drive_hold(&d, &rules);
	unsigned renewals = 0;
	unsigned losses = 0;
	unsigned dangers = 0;
	uint64_t last_ns = 0;
	while (rl_lock_deadline(&d.lock) != UINT64_MAX && renewals < 100000) {
		d.now_ns = rl_lock_deadline(&d.lock);
		drive_tick(&d);
		losses += (d.fx.observed & RL_OBSERVE_LOST) != 0;
		dangers += (d.fx.observed & RL_OBSERVE_DANGER) != 0;
		assert_int_equal(d.fx.done, REDLOCK_OP_NONE);
		if (d.fx.send == REDLOCK_OP_EXTEND) {
			renewals++;
			assert_true(last_ns == 0 || d.now_ns - last_ns >= rl_ms(1));
			last_ns = d.now_ns;
			drive_votes(&d, "DD");
		}
		drive_forget(&d);
	}
	assert_int_equal(losses, 1);
	assert_int_equal(dangers, 1);
	assert_int_equal(d.lock.phase, RL_LOST);
	assert_true(d.now_ns == rl_ms(29698));
	assert_in_range(renewals, 300, 420); /* 19.7 s by 50 ms */
	assert_true(last_ns > rl_ms(29690)); /* to the end */
}

/* The same with nodes that are silent: each renewal takes a node timeout. */
static void silent_nodes(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	rules.ttl_ns = rl_ms(1000);
	rules.renew_ns = rl_ms(320);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 5000);
	drive_expect(&d, "[  320.000] held: tick -> held ... until 988.000 | send extend #2 ttl 1000.000\n"
	                 "[  520.000] held: tick -> held TTT until 988.000\n"
	                 "[  570.000] held: tick -> held ... until 988.000 | send extend #3 ttl 1000.000\n"
	                 "[  770.000] held: tick -> held TTT until 988.000\n"
	                 "[  820.000] held: tick -> held ... until 988.000 | send extend #4 ttl 1000.000\n"
	                 "[  988.000] held: tick -> lost ... | lost\n");
}

/* Nodes that come back in time save the lock. */
static void saved_at_the_last_moment(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	while (!(d.lock.round.open && d.lock.round.t0_ns > rl_ms(29600))) {
		if (d.lock.round.open)
			drive_votes(&d, "DD");
		d.now_ns = rl_lock_deadline(&d.lock);
		drive_tick(&d);
		assert_int_equal(d.lock.phase, RL_HELD);
		drive_forget(&d);
	}
	uint64_t t0 = d.lock.round.t0_ns;
	drive_votes(&d, "YY");
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_true(d.lock.valid_until_ns == t0 + rl_ms(29698));
}

static void lost_by_a_majority(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_votes(&d, "NYN");
	drive_ticks_until(&d, 50000);
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: reply #2 node 0 NO -> held N.. until 29698.000\n"
	                 "[10000.000] held: reply #2 node 1 YES -> held NY. until 29698.000\n"
	                 "[10000.000] held: reply #2 node 2 NO -> lost NYN | lost\n");
}

/* Without any delay between tries, time still goes on between them. */
static void a_retry_lies_in_the_future(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	rules.retry_min_ns = rules.retry_max_ns = 0;
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_votes(&d, "DDD");
	assert_true(rl_lock_deadline(&d.lock) > d.now_ns);
}

/* ---- crossed by the caller ---- */

/* An extend by hand takes the renewal's place; renewal goes on behind it. */
static void extend_in_place_of_a_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_votes(&d, "Y");
	drive_at(&d, 10001);
	drive_extend(&d, 50000);
	drive_reply_to(&d, 2, 1, REDLOCK_VOTE_YES); /* of the renewal: too late */
	drive_votes(&d, "YY");
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[10001.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 50000.000\n"
	                 "[10001.000] held: reply #2 node 1 YES -> held ... until 29698.000\n"
	                 "[10001.000] held: reply #3 node 0 YES -> held Y.. until 29698.000\n"
	                 "[10001.000] held: reply #3 node 1 YES -> held YY. until 59499.000 | done extend OK\n");
	assert_true(rl_lock_deadline(&d.lock) == 1018 * 39062500ull); /* the common time before 59499 - 19698 */
}

/* If it fails, the renewal follows at once. */
static void failed_extend_in_place_of_a_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_extend(&d, 50000);
	drive_votes(&d, "DD");
	drive_ticks_until(&d, 10000);
	drive_expect(&d,
	             "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	             "[10000.000] held: extend -> held ... until 29698.000 | send extend #3 ttl 50000.000\n"
	             "[10000.000] held: reply #3 node 0 DOWN -> held -.. until 29698.000\n"
	             "[10000.000] held: reply #3 node 1 DOWN -> held --. until 29698.000 | done extend NOQUORUM\n"
	             "[10000.000] held: tick -> held ... until 29698.000 | send extend #4 ttl 30000.000\n");
	assert_true(d.lock.round.background);
}

/* An extend to a short TTL confirms the lock, but must not put off its renewal beyond the end. */
static void short_extends_do_not_put_off_the_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	for (uint64_t ms = 100; ms < 100000; ms += 100) {
		while (rl_lock_deadline(&d.lock) <= rl_ms(ms)) {
			d.now_ns = rl_lock_deadline(&d.lock);
			drive_tick(&d);
			drive_votes(&d, "YYY"); /* of healthy nodes */
			assert_int_equal(d.lock.phase, RL_HELD);
		}
		drive_at(&d, ms);
		drive_extend(&d, 250);
		assert_int_equal(d.error, 0);
		drive_votes(&d, "YYY");
		drive_forget(&d);
	}
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A short extend after failed renewals: the lock has validity left, and nodes that answer; it goes on. */
static void short_extend_after_failed_renewals(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	while (d.now_ns < rl_ms(25000)) {
		d.now_ns = rl_lock_deadline(&d.lock);
		drive_tick(&d);
		drive_votes(&d, "DD");
		drive_forget(&d);
	}
	drive_extend(&d, 250);
	drive_votes(&d, "YY");
	while (d.lock.phase == RL_HELD && d.now_ns < rl_ms(60000)) {
		d.now_ns = rl_lock_deadline(&d.lock);
		drive_tick(&d);
		drive_votes(&d, "YY");
		drive_forget(&d);
	}
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A query waits for the renewal that is out or due. */
static void query_behind_a_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_query(&d);
	assert_true(rl_lock_busy(&d.lock));
	drive_query(&d); /* one at a time */
	drive_extend(&d, 30000);
	drive_release(&d);
	drive_votes(&d, "YY");
	drive_votes(&d, "YYY");
	drive_at(&d, 20000);
	drive_query(&d); /* due, not begun: it goes first */
	drive_votes(&d, "DD");
	drive_votes(&d, "YYY");
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: query -> held ... until 29698.000\n"
	                 "[10000.000] held: query -> held ... until 29698.000 | error STATE\n"
	                 "[10000.000] held: extend -> held ... until 29698.000 | error STATE\n"
	                 "[10000.000] held: release -> held ... until 29698.000 | error STATE\n"
	                 "[10000.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[10000.000] held: reply #2 node 1 YES -> held ... until 39698.000 | send query #3\n"
	                 "[10000.000] held: reply #3 node 0 YES -> held Y.. until 39698.000\n"
	                 "[10000.000] held: reply #3 node 1 YES -> held YY. until 39698.000\n"
	                 "[10000.000] held: reply #3 node 2 YES -> held YYY until 39698.000 | done query OK\n"
	                 "[20000.000] held: query -> held ... until 39698.000 | send extend #4 ttl 30000.000\n"
	                 "[20000.000] held: reply #4 node 0 DOWN -> held -.. until 39698.000\n"
	                 "[20000.000] held: reply #4 node 1 DOWN -> held ... until 39698.000 | send query #5\n"
	                 "[20000.000] held: reply #5 node 0 YES -> held Y.. until 39698.000\n"
	                 "[20000.000] held: reply #5 node 1 YES -> held YY. until 39698.000\n"
	                 "[20000.000] held: reply #5 node 2 YES -> held YYY until 39698.000 | done query OK\n");
}

static void cancel_a_query_behind_a_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_query(&d);
	drive_cancel(&d);
	drive_votes(&d, "YY");
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: query -> held ... until 29698.000\n"
	                 "[10000.000] held: cancel -> held ... until 29698.000 | done query CANCELLED\n"
	                 "[10000.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[10000.000] held: reply #2 node 1 YES -> held YY. until 39698.000\n");
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A renewal that is silent until the loss lets the query begin. */
static void query_behind_a_renewal_that_is_lost(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_query(&d);
	drive_votes(&d, "NN");
	drive_votes(&d, "NNN");
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: query -> held ... until 29698.000\n"
	                 "[10000.000] held: reply #2 node 0 NO -> held N.. until 29698.000\n"
	                 "[10000.000] held: reply #2 node 1 NO -> lost ... | lost | send query #3\n"
	                 "[10000.000] lost: reply #3 node 0 NO -> lost N..\n"
	                 "[10000.000] lost: reply #3 node 1 NO -> lost NN.\n"
	                 "[10000.000] lost: reply #3 node 2 NO -> lost NNN | done query GONE\n");
}

static void queries_do_not_starve_the_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	/* Round trips of 10 ms, a query whenever none runs. */
	while (d.now_ns < rl_ms(100000)) {
		if (!rl_lock_busy(&d.lock))
			drive_query(&d);
		assert_true(d.lock.round.open);
		d.now_ns += rl_ms(10);
		drive_votes(&d, "YYY");
		assert_int_equal(d.lock.phase, RL_HELD);
		drive_forget(&d);
	}
}

/* A release takes the renewal's place, and nothing is renewed behind it. */
static void release_in_place_of_a_renewal(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_release(&d);
	drive_votes(&d, "YY");
	assert_true(drive_deadline_ms(&d) == UINT64_MAX);
	drive_expect(&d, "[10000.000] held: tick -> held ... until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: release -> releasing ... | send release #3 owed 7\n"
	                 "[10000.000] releasing: reply #3 node 0 YES -> releasing Y..\n"
	                 "[10000.000] releasing: reply #3 node 1 YES -> idle YY. | done release OK\n");
}

/* ---- caps ---- */

static void cap_on_extends(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(1);
	rules.max_extends = 1;
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_votes(&d, "Y");
	drive_ticks_until(&d, 60000);
	drive_expect(&d, "[10000.000] held: tick -> held . until 29698.000 | send extend #2 ttl 30000.000\n"
	                 "[10000.000] held: reply #2 node 0 YES -> held Y until 39698.000\n"
	                 "[20000.000] held: tick -> held Y until 39698.000\n"
	                 "[39698.000] held: tick -> lost Y | lost\n");
}

/* The last renewal is cut to what may be held, and none follows. */
static void cap_on_holding(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(1);
	rules.max_hold_ns = rl_ms(35000);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 10000);
	drive_votes(&d, "Y");
	drive_ticks_until(&d, 60000);
	drive_expect(&d, "[10000.000] held: tick -> held . until 29698.000 | send extend #2 ttl 25000.000\n"
	                 "[10000.000] held: reply #2 node 0 YES -> held Y until 34748.000\n"
	                 "[34748.000] held: tick -> lost Y | lost\n");
}

/* An extend by hand in place of a renewal that is due asks for no less than the renewal would. */
static void extend_when_a_renewal_is_due(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = renewing_rules(1);
	drive_hold(&d, &rules);
	drive_at(&d, 10000);
	drive_extend(&d, 250);
	assert_true(d.fx.ttl_ns == rl_ms(30000));
	drive_votes(&d, "Y");
	assert_true(d.lock.valid_until_ns == rl_ms(39698));
	drive_at(&d, 12000);
	drive_extend(&d, 250);
	assert_true(d.fx.ttl_ns == rl_ms(250));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(schedule),
	    cmocka_unit_test(not_all_at_once),
	    cmocka_unit_test(patient),
	    cmocka_unit_test(hurried_by_a_query),
	    cmocka_unit_test(retried_until_the_end),
	    cmocka_unit_test(silent_nodes),
	    cmocka_unit_test(saved_at_the_last_moment),
	    cmocka_unit_test(lost_by_a_majority),
	    cmocka_unit_test(a_retry_lies_in_the_future),
	    cmocka_unit_test(extend_in_place_of_a_renewal),
	    cmocka_unit_test(failed_extend_in_place_of_a_renewal),
	    cmocka_unit_test(short_extends_do_not_put_off_the_renewal),
	    cmocka_unit_test(short_extend_after_failed_renewals),
	    cmocka_unit_test(query_behind_a_renewal),
	    cmocka_unit_test(cancel_a_query_behind_a_renewal),
	    cmocka_unit_test(query_behind_a_renewal_that_is_lost),
	    cmocka_unit_test(queries_do_not_starve_the_renewal),
	    cmocka_unit_test(release_in_place_of_a_renewal),
	    cmocka_unit_test(cap_on_extends),
	    cmocka_unit_test(cap_on_holding),
	    cmocka_unit_test(extend_when_a_renewal_is_due),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
