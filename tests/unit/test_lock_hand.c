/* SPDX-License-Identifier: MIT */
/* A lock that is handed over: offers, what nodes say of them, and offers that are revoked. */
#include "core/pace.h"
#include "core/queue.h"
#include "drive.h"

enum { ALL_OF_3 = 7, ALL_OF_5 = 31 };

static struct rl_slice token(const char *text)
{
	return rl_slice_of(text);
}

/* Stands at node 0, and is heard by these nodes. Its offer was sent at 1 ms. */
static struct drive offering(unsigned nodes, uint32_t hears)
{
	struct drive d = drive_idle(drive_waiting_rules(nodes, 60000));
	d.hears = hears;
	drive_play(&d, "acquire; votes NNN; at 1; tick");
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 8000, 2);
	drive_forget(&d);
	return d;
}

/* A node has given its key to `text`, which was offered at that time. */
static void hand(struct drive *d, unsigned node, const char *text, uint64_t offered_ms)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_HAND,
	                                .node = node,
	                                .message.call = d->lock.queue.call,
	                                .around.token = token("ours"),
	                                .message.offered_ns = rl_time_ms(offered_ms),
	                                .reply.vote = {.waiting = 1, .token = token(text)}});
}

static struct drive handed(uint64_t at_ms)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_at(&d, at_ms);
	hand(&d, 0, "ours", 1);
	hand(&d, 1, "ours", 1);
	return d;
}

static void release_to(struct drive *d, uint64_t heir_ms)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_RELEASE, .around.heir_ns = rl_time_ms(heir_ms)});
}

/* ---- offers ---- */

TEST(a_quorum_must_be_heard)
{
	struct drive d = offering(3, 1);
	assert_true(d.lock.queue.placed && d.lock.queue.offered_ns == 0);
	d = offering(3, 3);
	assert_int_equal(d.lock.queue.offered_ns, rl_time_ms(1));
	d = offering(5, 3);
	assert_int_equal(d.lock.queue.offered_ns, 0);
}

/* Else it would be handed to one who has no use for it any more. */
TEST(a_waiter_for_nearly_the_whole_ttl_offers_nothing)
{
	for (int picky = 0; picky < 2; picky++) {
		struct rl_rules rules = drive_waiting_rules(3, 60000);
		rules.min_validity_ns = rl_time_ms(picky ? 19000 : 18000);
		struct drive d = drive_idle(rules);
		d.hears = ALL_OF_3;
		drive_play(&d, "acquire; votes NNN; at 1; tick");
		assert_true(d.fx.queue.stands && (d.lock.queue.offered_ns == 0) == picky);
	}
}

/* The offer has the same token, with a new number. */
TEST(an_offer_is_renewed)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_play(&d, "at 60; tick");
	assert_true(d.fx.send.operation == RL_OP_ACQUIRE && !d.fx.send.sign && d.fx.queue.stands);
	assert_true(d.fx.queue.offered_ns > rl_time_ms(1) && d.lock.queue.offered_ns == rl_time_ms(1));
}

/* The waiter's messages may be lost: nodes are asked in a way that recognises a key of ours. */
TEST(a_deaf_waiter_keeps_its_offer)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_step(&d, (struct rl_event){.kind = RL_EV_WAKE, .message.deaf = true, .node = 0});
	d.hears = 0;
	drive_at(&d, 2 + drive_deadline_ms(&d));
	drive_tick(&d);
	assert_true(d.fx.send.enter == 1 && d.fx.queue.stands && !d.fx.send.sign && d.fx.queue.offered_ns == 0);
	drive_play(&d, "votes Y");
	assert_true(d.fx.send.operation == RL_OP_ACQUIRE && d.fx.send.enter == 6 && d.fx.send.again);
	drive_play(&d, "votes .Y");
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* The last tries ask all nodes, the gate with the place: else that would keep us out. An answer to a request
 * without a place does not end it. */
TEST(a_waiter_that_asks_all_keeps_its_place)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_at(&d, 59999);
	drive_tick(&d);
	assert_true(d.fx.send.enter == ALL_OF_3 && d.fx.queue.stands && d.lock.queue.stage == RL_STAGE_ALL);
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 8000, 0);
	assert_true(d.lock.queue.placed && d.lock.queue.place == 2);
}

/* ---- what nodes say ---- */

/* Validity counts from the offer. */
TEST(it_is_held_when_a_quorum_has_said_so)
{
	struct drive d = handed(500);
	hand(&d, 2, "ours", 1);
	drive_expect(&d, "[  500.000] paused: hand node 0 -> acquiring Y..\n"
	                 "[  500.000] acquiring: hand node 1 -> held YY. until 29699.000 | done acquire OK\n"
	                 "[  500.000] held: hand node 2 -> held YYY until 29699.000\n");
	assert_true(d.lock.claim.owed == ALL_OF_3 && d.lock.queue.contended && !d.lock.queue.placed);
}

/* The earliest number of them, and of what was asked, counts. */
TEST(answers_and_messages_are_votes_of_one_token)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_ticks_until(&d, 100);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	hand(&d, 2, "ours", 3);
	drive_gate(&d, REDLOCK_VOTE_YES, 1, 0, 0);
	assert_true(d.lock.phase == RL_HELD && d.lock.valid_until_ns == rl_time_ms(29698 + 3));
}

/* The offer may be older than its number says: it is treated as if the message were lost. */
TEST(an_offer_from_before_a_leap_is_void)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_play(&d, "at 10; leap 1; forget");
	hand(&d, 0, "ours", 1);
	hand(&d, 0, "ours", 10); /* the clock stood still since then */
	drive_expect(&d, "[   10.000] paused: hand node 0 -> paused N.. until 9.000\n"
	                 "[   10.000] paused: hand node 0 -> paused N.. until 9.000\n");
	drive_ticks_until(&d, 10); /* one that is made now is good */
	assert_int_equal(d.fx.queue.offered_ns, rl_time_ms(10) + 1);
	drive_at(&d, 11);
	hand(&d, 0, "ours", 11);
	assert_true(d.lock.phase == RL_ACQUIRING && d.lock.round.t0_ns == rl_time_ms(10));
}

/* A renewal is out: its votes are its own. */
TEST(a_late_word_is_no_vote_of_a_renewal)
{
	struct drive d = handed(500);
	drive_extend(&d, 30000);
	hand(&d, 2, "ours", 1);
	assert_true(d.lock.phase == RL_HELD && d.lock.votes[2].code == REDLOCK_VOTE_PENDING);
	assert_int_equal(d.lock.claim.owed, ALL_OF_3);
}

/* At once, where an eighth of the TTL is gone; but not where the caller counts. */
TEST(an_old_hand_over_is_renewed)
{
	struct drive d = handed(500);
	assert_true(d.lock.renew_at_ns == RL_TIME_NEVER);
	d = offering(3, ALL_OF_3);
	d.rules.max_extends = 1;
	drive_at(&d, 4000);
	hand(&d, 0, "ours", 1);
	hand(&d, 1, "ours", 1);
	assert_true(d.lock.phase == RL_HELD && d.lock.renew_at_ns == RL_TIME_NEVER);
	d = handed(4000);
	assert_int_equal(drive_deadline_ms(&d), 4000);
	drive_tick(&d);
	assert_int_equal(d.fx.send.operation, RL_OP_EXTEND);
}

/* Nor is it relied on when its time is over: the clock of who offered it says so. */
TEST(a_number_that_is_too_old_grants_nothing)
{
	struct drive d = handed(29699);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_tick(&d);
	drive_ticks_until(&d, 29710);
	assert_true(d.lock.phase == RL_PAUSED || d.lock.phase == RL_IDLE);
}

/* The silent nodes are asked, in a way that recognises a key of ours; for a node timeout. */
TEST(missing_votes_are_asked_for)
{
	struct drive d = offering(5, ALL_OF_5);
	drive_at(&d, 10);
	hand(&d, 1, "ours", 1);
	drive_play(&d, "forget");
	drive_ticks_until(&d, 15);
	drive_expect(
	    &d, "[   15.000] acquiring: tick -> acquiring .Y... | send enter #3 again to 1d ttl 30000.000\n");
	assert_true(d.fx.send.enter == 0x1d && d.fx.queue.stands && d.lock.claim.owed == ALL_OF_5);
	drive_play(&d, "votes N.YNN");
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	while (d.lock.phase == RL_ACQUIRING) {
		drive_at(&d, drive_deadline_ms(&d));
		drive_tick(&d);
	}
	assert_true(d.now_ns >= rl_time_ms(210) && d.now_ns < rl_time_ms(250));
	assert_true(d.lock.phase == RL_PAUSED && d.lock.queue.offered_ns == 0 &&
	            d.fx.send.operation == RL_OP_LEAVE);
}

/* Not while an answer is on its way: a second question would find the key of the first, and its answer counts
 * or not by chance. */
TEST(a_node_with_an_open_question_is_not_asked_again)
{
	struct drive d = offering(5, ALL_OF_5);
	drive_at(&d, 10);
	hand(&d, 1, "ours", 1);
	drive_ticks_until(&d, 15);
	drive_play(&d, "votes N; forget");
	for (uint64_t ms = 16; ms < 100; ms++) {
		drive_ticks_until(&d, ms);
		if (d.fx.send.operation != RL_OP_NONE)
			assert_int_equal(d.fx.send.nodes, 1);
		drive_votes(&d, d.fx.send.operation != RL_OP_NONE ? "N" : "");
	}
	drive_play(&d, "votes ..YY");
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* Where servers do not say who they are: it is no second name of another one. Also at nodes that were not
 * heard when the token was offered. */
TEST(a_hand_over_after_a_refusal_is_no_twin)
{
	struct drive d = offering(3, 3);
	d.anonymous = true;
	drive_at(&d, 10);
	hand(&d, 0, "ours", 1);
	drive_ticks_until(&d, 15);
	drive_votes(&d, ".YN");
	assert_int_equal(d.lock.phase, RL_HELD);
	hand(&d, 2, "ours", 1);
	drive_release(&d);
	drive_votes(&d, "YYY");
	assert_false(d.fx.twin);
}

/* Not sooner if the gate is the first to say so: messages are on their way. */
TEST(the_others_are_waited_for)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_at(&d, 10);
	hand(&d, 0, "ours", 1);
	assert_true(d.lock.phase == RL_ACQUIRING && drive_deadline_ms(&d) == 15);
}

/* ---- what is not wanted ---- */

TEST(an_unwanted_hand_over_is_declined)
{
	struct drive d = offering(3, ALL_OF_3);
	hand(&d, 0, "another", 1);
	assert_true(d.fx.declines && d.lock.phase == RL_PAUSED);
	for (uint64_t i = 0; i < 2; i++) {
		hand(&d, 0, "ours", 2 * i); /* from before it was offered, and from the future */
		assert_true(!d.fx.declines && d.lock.phase == RL_PAUSED);
	}
	d = drive_idle(drive_rules(3));
	hand(&d, 0, "ours", 0);
	assert_true(d.fx.declines && d.lock.phase == RL_IDLE);
	d = drive_held(drive_rules(3));
	hand(&d, 0, "another", 0);
	assert_true(d.fx.declines && d.lock.phase == RL_HELD);
}

/* A token that is claimed or held is not released because of a node's message, whatever it says. */
TEST(a_hand_over_after_a_loss_is_left_alone)
{
	struct drive d = handed(500);
	drive_play(&d, "at 29699; tick");
	assert_int_equal(d.lock.phase, RL_LOST);
	hand(&d, 2, "ours", 1);
	assert_true(!d.fx.declines && d.lock.phase == RL_LOST);
}

/* ---- handing over, and revoking ---- */

TEST(a_release_hands_over_to_whom_it_knows)
{
	struct drive d = handed(500);
	d.now_ns = rl_time_ms(510);
	release_to(&d, 500);
	assert_true(d.fx.send.operation == RL_OP_HAND && d.fx.send.nodes == ALL_OF_3 && d.fx.queue.bars);
	d = handed(500);
	release_to(&d, 0);
	assert_int_equal(d.fx.send.operation, RL_OP_LEAVE);
	d = drive_held(drive_rules(3));
	drive_forget(&d);
	release_to(&d, 500); /* nobody waits */
	assert_int_equal(d.fx.send.operation, RL_OP_RELEASE);
	d = handed(500);
	drive_play(&d, "at 29699; tick");
	release_to(&d, 29699); /* it is lost */
	assert_int_equal(d.fx.send.operation, RL_OP_LEAVE);
}

/* Not after a second, nor after an eighth of the TTL. */
TEST(a_release_hands_over_to_whom_it_was_told_just_now)
{
	static const struct {
		uint64_t ttl_ms, told_ms;
		unsigned send;
	} cases[] = {{30000, 1000, RL_OP_HAND},
	             {30000, 1001, RL_OP_LEAVE},
	             {4000, 500, RL_OP_HAND},
	             {4000, 501, RL_OP_LEAVE}};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct drive d = handed(500);
		d.rules.ttl_ns = rl_time_ms(cases[i].ttl_ms);
		d.now_ns = rl_time_ms(500 + cases[i].told_ms);
		release_to(&d, 500);
		assert_int_equal(d.fx.send.operation, cases[i].send);
	}
}

/* Everywhere. */
SCENARIO(
    a_waiter_that_leaves_revokes, offering(3, ALL_OF_3), "at 3; cancel",
    "[    3.000] paused: cancel -> idle N.. | send leave #0 quits bars owed 7 | done acquire CANCELLED\n")

TEST(a_failed_attempt_revokes)
{
	struct drive d = offering(3, ALL_OF_3);
	drive_wake(&d, 0);
	drive_play(&d, "votes NN");
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.bars && d.fx.queue.quiet &&
	            !d.fx.queue.quits && d.lock.queue.placed && d.lock.queue.offered_ns == 0);
}

/* Another gate: the place at the old one is given up first. */
TEST(a_gate_that_is_another_one_now)
{
	static const uint8_t other[] = {1, 0, 2};
	struct drive d = offering(3, ALL_OF_3);
	d.order = other;
	drive_play(&d, "at 100; tick");
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.quits && d.fx.send.nodes == ALL_OF_3 &&
	            d.lock.phase == RL_PAUSED);
	drive_ticks_until(&d, 101);
	assert_true(d.lock.phase == RL_ACQUIRING && d.lock.queue.gate == 1 && d.lock.queue.placed);
}

/* ---- a waiter that hears nothing ---- */

/* The waiter makes its next attempt. */
static void ask_next(struct drive *d)
{
	d->now_ns = drive_deadline_ns(d);
	drive_tick(d);
	drive_forget(d);
}

/* The gate, or all nodes, refuse each attempt that is due by then. */
static void refuse_until(struct drive *d, uint64_t ms, int place)
{
	while (drive_deadline_ns(d) <= rl_time_ms(ms)) {
		ask_next(d);
		if (d->lock.queue.stage == RL_STAGE_GATE)
			drive_gate(d, REDLOCK_VOTE_NO, 2, 20000, d->fx.queue.stands ? place : 0);
		else
			drive_votes(d, "NNN");
		drive_forget(d);
	}
}

TEST(a_deaf_waiter_takes_a_place_after_a_second)
{
	static const struct {
		enum rl_kind kind;
		bool polls;
	} rows[] = {
	    {RL_KIND_EXCLUSIVE, true}, {RL_KIND_FENCED, true}, {RL_KIND_NUMBER, true}, {RL_KIND_SHARED, false}};
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct rl_rules rules = drive_waiting_rules(3, 60000);
		rules.policy = &rl_kinds[rows[i].kind];
		struct drive d = drive_begin(rules, "acquire; votes NNN");
		refuse_until(&d, 900, 2);
		assert_false(d.lock.queue.placed);
		refuse_until(&d, 1200, 2);
		assert_true(d.lock.queue.placed == rows[i].polls && d.lock.queue.polls == rows[i].polls);
	}
}

/* The waiter asks after 50 ms for each place, half more or less, and offers nothing. When it hears messages,
 * it makes an offer. When it hears none any more, it does not poll: its client subscribes again. */
TEST(a_place_is_kept_by_asking)
{
	enum { PLACE = 2, TIMES = 40 };
	struct drive d = drive_begin(drive_waiting_rules(3, 60000), "acquire; votes NNN");
	refuse_until(&d, 1200, PLACE);
	unsigned asked = 0;
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t pause_ns = drive_deadline_ns(&d) - d.now_ns;
		assert_in_range(pause_ns, 1, RL_PACE_POLL_NS * PLACE * 3 / 2);
		ask_next(&d);
		asked += d.fx.send.enter == 1 && d.fx.queue.stands && d.fx.queue.offered_ns == RL_QUEUE_POLLS;
		drive_gate(&d, REDLOCK_VOTE_NO, 2, 20000, PLACE);
		drive_forget(&d);
	}
	assert_true(asked >= TIMES / 2); /* the other times it looks past its gate */
	d.hears = ALL_OF_3;
	while (!d.fx.queue.stands)
		ask_next(&d);
	assert_true(d.fx.queue.offered_ns > RL_QUEUE_POLLS && !d.lock.queue.polls);
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 20000, PLACE);
	d.hears = 0;
	refuse_until(&d, d.now_ns / RL_NS_PER_MS + 5000, PLACE);
	assert_false(d.lock.queue.polls);
}

TESTS()
