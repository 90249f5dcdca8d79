/* SPDX-License-Identifier: MIT */
/* A lock that the client keeps after its release: when it may, and what ends it. */
#include "core/hold.h"
#include "core/keep.h"
#include "drive.h"

static const struct rl_event keeps = {.kind = RL_EV_RELEASE, .asked.keeps = true};
static const struct rl_event recall = {.kind = RL_EV_RECALL};

/* TTL 30 s: kept for 200 ms, and entered while five eighths of the TTL are left. */
static struct rl_rules sticky(void)
{
	struct rl_rules rules = drive_waiting_rules(3, 60000);
	rules.sticky_ns = rl_time_ms(10000);
	return rules;
}

/* Acquired and released at once. */
static struct drive kept(struct rl_rules rules)
{
	struct drive d = drive_held(rules);
	drive_step(&d, keeps);
	assert_true(d.lock.phase == RL_KEPT && d.fx.send.operation == RL_OP_NONE);
	drive_forget(&d);
	return d;
}

static void release_at(struct drive *d, uint64_t ms, enum rl_phase phase)
{
	drive_at(d, ms);
	drive_step(d, keeps);
	assert_int_equal(d->lock.phase, phase);
	drive_forget(d);
}

/* ---- keeping ---- */

TEST(a_release_sends_nothing_and_the_next_acquire_neither)
{
	struct drive d = drive_held(sticky());
	drive_at(&d, 10);
	drive_step(&d, keeps);
	drive_at(&d, 20);
	drive_acquire(&d);
	drive_expect(&d, "[   10.000] held: release -> kept YY. until 210.000 | done release OK\n"
	                 "[   20.000] kept: acquire -> held YY. until 29698.000 | done acquire OK\n");
	assert_int_equal(d.lock.hold.held_ns, rl_time_ms(20));
}

/* Servers and waiters have counted the time in which the machine slept. */
TEST(a_leap_is_a_part_of_its_stay)
{
	struct drive d = drive_held(sticky());
	drive_step(&d, (struct rl_event){.kind = RL_EV_LEAP, .leap_ns = rl_time_ms(9950)});
	drive_forget(&d);
	release_at(&d, 60, RL_RELEASING);
}

/* Nothing but an acquire is possible, as for any lock that is not held. */
TEST(its_caller_holds_nothing)
{
	struct drive d = kept(sticky());
	assert_int_equal(rl_lock_valid_until(&d.lock, d.now_ns), 0);
	drive_extend(&d, 0);
	assert_int_equal(d.error, REDLOCK_E_STATE);
	drive_release(&d);
	assert_int_equal(d.error, REDLOCK_E_STATE);
	drive_query(&d);
	assert_int_equal(d.error, REDLOCK_E_STATE);
	assert_true(d.lock.phase == RL_KEPT);
}

TEST(a_late_vote_changes_nothing)
{
	struct drive d = kept(sticky());
	drive_reply(&d, 2, REDLOCK_VOTE_NO);
	assert_true(d.lock.phase == RL_KEPT && d.lock.claim.owed == 3);
}

/* As a lock that is handed over: a part of it may come after the others were a quorum. */
TEST(a_late_message_of_its_hand_over_is_a_vote)
{
	struct drive d = kept(sticky());
	d.lock.claim.owed = 3;
	d.lock.queue.offered_ns = 1;
	struct rl_event hand = {.kind = RL_EV_HAND, .node = 2, .message.offered_ns = 1};
	hand.around.token = hand.reply.vote.token = rl_slice_of("ours");
	drive_step(&d, hand);
	assert_true(d.lock.phase == RL_KEPT && d.lock.claim.owed == 7);
}

TEST(the_next_caller_may_pass_it_on)
{
	struct drive d = kept(sticky());
	drive_step(&d, (struct rl_event){.kind = RL_EV_PASS});
	drive_expect(&d, "[    0.000] kept: pass -> held YY. until 29698.000 | done acquire OK\n");
	assert_int_equal(rl_hold_pass_until(&d.lock), rl_time_ms(5));
}

/* ---- what is not kept ---- */

TEST(a_lock_that_is_wanted_or_stays_too_long_is_released)
{
	struct rl_rules rules = sticky();
	struct drive d = drive_held(rules);
	d.lock.queue.contended = true;
	release_at(&d, 1, RL_RELEASING);
	d = drive_held(rules);
	release_at(&d, 10000, RL_RELEASING);
	rules.sticky_ns = RL_TIME_NEVER;
	d = drive_held(rules);
	release_at(&d, 10900, RL_KEPT);
	d = drive_held(rules);
	release_at(&d, 10949, RL_RELEASING); /* five eighths are 18 750 ms */
	d = drive_held(rules);
	d.lock.round.background = true;
	d.lock.round.ttl_ns = rules.ttl_ns - 1; /* cut short by a cap */
	release_at(&d, 1, RL_RELEASING);
	rules.renew_ns = rl_time_ms(1000);
	d = drive_held(rules);
	drive_at(&d, 1000);
	drive_tick(&d);
	assert_true(d.lock.round.open);
	release_at(&d, 1000, RL_RELEASING);
}

TEST(the_stay_ends_with_the_option)
{
	struct drive d = drive_held(sticky());
	release_at(&d, 9900, RL_KEPT);
	assert_int_equal(drive_deadline_ms(&d), 10000);
}

TEST(a_handle_that_wants_more_does_not_enter)
{
	struct drive d = kept(sticky());
	struct rl_rules other = d.rules;
	d.lock.rules = &d.rules;
	assert_true(rl_keep_may_enter(&d.lock, &other, d.now_ns));
	assert_false(rl_keep_may_enter(&d.lock, &other, rl_time_ms(200)));
	d.lock.hold.keep_until_ns = RL_TIME_NEVER;
	assert_false(rl_keep_may_enter(&d.lock, &other, rl_time_ms(11000)));
	other.min_validity_ns = rl_time_ms(29698);
	assert_false(rl_keep_may_enter(&d.lock, &other, d.now_ns));
	other = d.rules;
	other.sticky_ns = 0;
	assert_false(rl_keep_may_enter(&d.lock, &other, d.now_ns));
	other = d.rules;
	other.ttl_ns++;
	assert_false(rl_keep_may_enter(&d.lock, &other, d.now_ns));
}

/* The handle that keeps it does not enter either: the client gives the lock back first. */
TEST(a_kept_lock_that_is_over_is_not_entered)
{
	struct drive d = kept(sticky());
	drive_at(&d, 200);
	drive_acquire(&d);
	assert_true(d.error == REDLOCK_E_STATE && d.lock.phase == RL_KEPT);
}

/* ---- what gives it back ---- */

static void expect_back(struct rl_event event, const char *text)
{
	struct drive d = kept(sticky());
	drive_at(&d, 1);
	drive_step(&d, event);
	drive_expect(&d, text);
	assert_true(!d.lock.round.open && d.lock.claim.owed == 0);
	drive_votes(&d, "YYY");
	assert_true(d.lock.phase == RL_IDLE);
}

TEST(a_waiter_asks_for_it)
{
	expect_back(recall, "[    1.000] kept: recall -> idle ... | send leave #2 owed 7\n");
	struct rl_event heir = recall;
	heir.around.heir_ns = rl_time_ms(1);
	expect_back(heir, "[    1.000] kept: recall -> idle ... | send hand over #2 owed 7\n");
}

TEST(nobody_could_ask_for_it)
{
	expect_back((struct rl_event){.kind = RL_EV_RECALL, .message.deaf = true},
	            "[    1.000] kept: recall -> idle ... | send release #2 owed 7\n");
	expect_back((struct rl_event){.kind = RL_EV_CANCEL},
	            "[    1.000] kept: cancel -> idle ... | send release #2 owed 7\n");
	expect_back((struct rl_event){.kind = RL_EV_LEAP, .leap_ns = 1000},
	            "[    1.000] kept: clock leapt 0.001 -> idle ... | send release #2 owed 7\n");
	expect_back((struct rl_event){.kind = RL_EV_GUARDED, .permitted_ns = rl_time_ms(30000)},
	            "[    1.000] kept: guarded -> idle ... | send release #2 owed 7\n");
}

TEST(nobody_uses_it)
{
	struct drive d = kept(sticky());
	drive_at(&d, 199);
	drive_tick(&d);
	assert_true(d.lock.phase == RL_KEPT && drive_deadline_ms(&d) == 200);
	drive_forget(&d);
	drive_at(&d, 200);
	drive_tick(&d);
	drive_expect(&d, "[  200.000] kept: tick -> idle ... | send release #2 owed 7\n");
}

/* The handle keeps the lock no more, and passes it on to nobody. */
TEST(a_lock_in_use_goes_back_with_its_release)
{
	struct drive d = drive_held(sticky());
	drive_step(&d, (struct rl_event){.kind = RL_EV_RECALL, .message.deaf = true});
	assert_true(!d.lock.queue.contended);
	drive_step(&d, recall);
	assert_true(d.lock.phase == RL_HELD && d.lock.queue.contended && rl_hold_pass_until(&d.lock) == 0);
	drive_step(&d, keeps);
	assert_true(d.lock.phase == RL_RELEASING && d.fx.send.operation == RL_OP_LEAVE);
}

TEST(only_what_is_held_is_asked_for)
{
	struct drive d = drive_idle(sticky());
	drive_step(&d, recall);
	assert_true(d.error == REDLOCK_E_STATE && d.lock.phase == RL_IDLE);
}

TESTS()
