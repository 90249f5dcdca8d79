/* SPDX-License-Identifier: MIT */
/* A lock that is passed on from one handle of a client to another: when, and what both are then. */
#include "core/hold.h"
#include "drive.h"

static const struct rl_event pass = {.kind = RL_EV_PASS};

static struct rl_rules waiting(void)
{
	return drive_waiting_rules(3, 60000);
}

/* The handle's place is the second one at node 0; its token is on offer, as it was told at 1 ms. */
static struct drive offering(void)
{
	struct drive d = drive_idle(waiting());
	d.hears = 7;
	drive_play(&d, "acquire; votes NNN; at 1; tick");
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 8000, 2);
	drive_play(&d, "at 3; forget");
	return d;
}

/* ---- what it does ---- */

TEST(a_waiter_gives_its_attempt_back)
{
	struct drive d = offering();
	drive_step(&d, pass);
	drive_expect(
	    &d, "[    3.000] paused: pass -> idle N.. | send leave #0 quits bars owed 7 | done release OK\n");
	d = drive_begin(waiting(), "acquire; votes Y; forget");
	drive_step(&d, pass);
	drive_expect(&d, "[    0.000] acquiring: pass -> idle Y.. | send release #0 owed 7 | done release OK\n");
}

/* Behind another handle it has asked nobody. */
TEST(a_waiter_that_asked_nobody_sends_nothing)
{
	struct drive d = drive_idle(waiting());
	drive_step(&d, (struct rl_event){.kind = RL_EV_ACQUIRE, .around.behind_ns = rl_time_ms(4)});
	drive_step(&d, pass);
	drive_expect(&d, "[    0.000] idle: acquire -> paused ... until 4.000\n"
	                 "[    0.000] paused: pass -> idle ... | done release OK\n");
}

/* The keys stay, and the deadline; notices, renewals and caps are those of the new caller. */
TEST(the_lock_has_a_new_caller)
{
	struct rl_rules rules = waiting();
	rules.danger_ns = rl_time_ms(1000);
	rules.renew_ns = rl_time_ms(10000);
	rules.max_hold_ns = rl_time_ms(60000);
	struct drive d = drive_begin_held(rules, "at 2; forget");
	d.lock.extends = 7;
	d.lock.warned = true;
	d.lock.renew_at_ns = RL_TIME_NEVER;
	drive_step(&d, pass);
	drive_expect(&d, "[    2.000] held: pass -> held YY. until 29698.000 | done acquire OK\n");
	d.lock.round.open = true; /* no renewal is due meanwhile */
	assert_true(rl_hold_deadline(&d.lock) == rl_time_ms(28698));
	d.lock.round.open = false;
	assert_true(d.lock.extends == 0 && d.lock.passes == 1 && d.lock.hold.hold_until_ns == rl_time_ms(60002));
	assert_true(d.lock.renew_at_ns == rl_time_ms(10000) && rl_hold_deadline(&d.lock) == rl_time_ms(10000));
	rules.max_hold_ns = 0;
	d = drive_held(rules);
	drive_step(&d, pass);
	assert_true(d.lock.hold.hold_until_ns == RL_TIME_NEVER);
}

/* A renewal that is out is one of the claim. */
TEST(a_renewal_goes_on)
{
	struct rl_rules rules = waiting();
	rules.renew_ns = rl_time_ms(10000);
	struct drive d = drive_begin_held(rules, "until 10000; forget");
	drive_step(&d, pass);
	drive_tells(&d, "votes YY",
	            "[10000.000] held: pass -> held ... until 29698.000 | done acquire OK\n"
	            "[10000.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 39698.000\n");
}

TEST(others_have_nothing_to_do_with_it)
{
	static const char *const scripts[] = {"forget", "acquire; votes YY; release",
	                                      "acquire; votes YY; until 29698"};
	for (size_t i = 0; i < COUNT(scripts); i++) {
		struct drive d = drive_begin(drive_rules(3), scripts[i]);
		enum rl_phase phase = d.lock.phase;
		drive_step(&d, pass);
		assert_true(d.error == REDLOCK_E_STATE && d.lock.phase == phase &&
		            d.fx.done.operation == REDLOCK_OP_NONE);
	}
}

/* ---- whether ---- */

/* A holder since 0 ms, and one that waits. */
struct pair {
	struct drive from, to;
};

static struct pair pair_of(struct rl_rules rules)
{
	return (struct pair){drive_held(rules), offering()};
}

static bool fits_at(struct pair *p, uint64_t ns)
{
	p->from.lock.rules = &p->from.rules;
	p->to.lock.rules = &p->to.rules;
	p->from.lock.policy = p->from.rules.policy;
	p->to.lock.policy = p->to.rules.policy;
	return rl_hold_may_pass(&p->from.lock, &p->to.lock, ns);
}

TEST(soon_after_the_grant)
{
	struct pair p = pair_of(waiting());
	assert_true(fits_at(&p, rl_time_ms(5) - 1));
	assert_false(fits_at(&p, rl_time_ms(5)));
	p.from.lock.passes = RL_HOLD_PASSES_MOST - 1;
	assert_true(fits_at(&p, 0) && rl_hold_pass_until(&p.from.lock) == rl_time_ms(5));
	p.from.lock.passes = RL_HOLD_PASSES_MOST;
	assert_false(fits_at(&p, 0) || rl_hold_pass_until(&p.from.lock) != 0);
	struct rl_rules brief = waiting();
	brief.ttl_ns = rl_time_ms(24);
	brief.node_timeout_ns = rl_time_ms(8);
	struct drive from = drive_held(brief);
	from.lock.rules = &from.rules;
	assert_true(rl_hold_pass_until(&from.lock) == rl_time_ms(3));
}

#define NOT_IF(change)                                                                                       \
	do {                                                                                                     \
		struct pair p = pair_of(waiting());                                                                  \
		assert_true(fits_at(&p, rl_time_ms(4)));                                                             \
		change;                                                                                              \
		assert_false(fits_at(&p, rl_time_ms(4)));                                                            \
	} while (0)

TEST(each_alone_is_in_its_way)
{
	NOT_IF(p.from.rules.policy = p.to.rules.policy = &rl_kinds[RL_KIND_OWN_VALUE]);
	NOT_IF(p.from.rules.policy = p.to.rules.policy = &rl_kinds[RL_KIND_FENCED]);
	NOT_IF(p.from.rules.policy = &rl_kinds[RL_KIND_OWN_VALUE]);
	NOT_IF(p.to.rules.policy = &rl_kinds[RL_KIND_FENCED]);
	NOT_IF(p.to.rules.ttl_ns++);
	NOT_IF(p.to.rules.drift_ppm++);
	NOT_IF(p.to.rules.drift_base_ns++);
	NOT_IF(p.to.rules.renew_ns++);
	NOT_IF(p.to.rules.min_validity_ns = p.from.lock.valid_until_ns - rl_time_ms(4));
	NOT_IF(p.to.lock.wait_until_ns = rl_time_ms(4));
	NOT_IF(p.to.lock.phase = RL_IDLE);
	NOT_IF(p.from.lock.phase = RL_LOST);
	NOT_IF(p.from.lock.round.open = true);
	NOT_IF((p.from.lock.round.ttl_ns--, p.from.lock.round.background = true));
}

TESTS()
