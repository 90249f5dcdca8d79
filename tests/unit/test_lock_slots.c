/* SPDX-License-Identifier: MIT */
/* Slots: the votes that count together, the steps when they do not, and the questions of waiters. */
#include "core/hold.h"
#include "core/slots.h"
#include "drive.h"

static struct rl_rules slots(unsigned count, uint64_t wait_ms)
{
	struct rl_rules rules = drive_waiting_rules(3, wait_ms);
	rules.policy = &rl_kinds[RL_KIND_SLOTS];
	rules.slots = count;
	return rules;
}

static struct drive begin(struct rl_rules rules)
{
	struct drive d = drive_idle(rules);
	drive_acquire(&d);
	drive_forget(&d);
	return d;
}

/* A node gives a slot; or with -1 says no, with -2 that there is another number of them. */
static void give_as(struct drive *d, uint32_t seq, unsigned node, int slot, unsigned operation)
{
	bool yes = slot >= 0;
	struct rl_event event = {
	    .kind = RL_EV_REPLY, .reply.seq = seq, .node = node, .reply.operation = operation};
	event.reply.vote = (struct rl_vote){.code = yes          ? REDLOCK_VOTE_YES
	                                            : slot == -1 ? REDLOCK_VOTE_NO
	                                                         : REDLOCK_VOTE_SLOTS,
	                                    .told = yes ? RL_TOLD(SLOT) | RL_TOLD(WAITING) : 0,
	                                    .slot = yes ? slot : 0};
	drive_step(d, event);
}

static void give(struct drive *d, unsigned node, int slot)
{
	give_as(d, d->lock.round.seq, node, slot, RL_OP_SLOT);
}

TEST(a_quorum_for_one_slot_grants)
{
	struct drive d = begin(slots(3, 0));
	give(&d, 0, 2);
	give(&d, 1, 0);
	give(&d, 2, 2);
	drive_expect(
	    &d, "[    0.000] acquiring: reply #1 node 0 YES, 1 YES, 2 YES -> held YYY until 29698.000 slot 2 | "
	        "send release a slot #0 but 2 to 2 owed 2 | done acquire OK\n");
	assert_int_equal(d.lock.claim.slot, 2);
	assert_true(d.fx.send.operation == RL_OP_SLOT_RELEASE && d.fx.send.keeps && d.fx.send.owed == 2 &&
	            d.fx.send.seq == 0);
	drive_release(&d);
	assert_int_equal(d.fx.send.operation, RL_OP_SLOT_RELEASE);
	assert_int_equal(d.fx.send.owed, 7);
	assert_false(d.fx.queue.quiet);
}

/* The node tries the slot that is held first; another slot is given back. */
TEST(a_node_heard_of_after_the_grant_is_asked_for_the_slot)
{
	struct drive d = begin(slots(3, 0));
	give(&d, 0, 2);
	give(&d, 1, 2);
	drive_forget(&d);
	drive_play(&d, "shorter 2");
	drive_expect(
	    &d, "[    0.000] held: shorter -> held YY. until 29698.000 slot 2 | send acquire a slot #1 again "
	        "to 4 from 2 on ttl 10000.000\n");
	assert_int_equal(d.lock.claim.first, 2);
	give(&d, 2, 1);
	assert_true(d.fx.send.operation == RL_OP_SLOT_RELEASE && d.fx.send.keeps && d.fx.send.nodes == 4);
}

/* Yes to the extend of another slot, where servers do not say who they are: it is one server under two names.
 */

TEST(a_node_that_gave_another_slot_has_nothing_of_this_one)
{
	for (int late = 0; late < 2; late++) {
		struct drive d = begin(slots(2, 0));
		d.anonymous = true;
		if (!late)
			give(&d, 1, 1);
		give(&d, 0, 0);
		give(&d, 2, 0);
		if (late)
			give(&d, 1, 1);
		assert_int_equal(d.lock.phase, RL_HELD);
		assert_true(d.fx.send.operation == RL_OP_SLOT_RELEASE && d.fx.send.keeps &&
		            d.fx.send.nodes == 2); /* it has another one */
		drive_extend(&d, 30000);
		drive_reply(&d, 1, REDLOCK_VOTE_YES);
		assert_int_equal(d.lock.votes[1].code, REDLOCK_VOTE_DUPLICATE);
		drive_reply(&d, 0, REDLOCK_VOTE_YES);
		assert_int_equal(d.fx.done.operation, REDLOCK_OP_NONE);
		drive_reply(&d, 2, REDLOCK_VOTE_YES);
		assert_int_equal(d.fx.done.result, 0);
		drive_release(&d); /* whichever slot it deletes */
		give_as(&d, d.lock.round.seq, 1, 0, RL_OP_SLOT_RELEASE);
		assert_int_equal(d.lock.votes[1].code, REDLOCK_VOTE_YES);
		assert_false(d.fx.twin);
	}
}

TEST(a_yes_without_one_of_our_slots_does_not_count)
{
	struct drive d = begin(slots(2, 0));
	give(&d, 0, 2);
	drive_reply(&d, 1, REDLOCK_VOTE_YES); /* and no number at all */
	assert_int_equal(d.lock.votes[0].code, REDLOCK_VOTE_GARBAGE);
	assert_int_equal(d.lock.votes[1].code, REDLOCK_VOTE_GARBAGE);
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_ACQUIRE);
	assert_int_equal(d.fx.done.result, REDLOCK_E_NOQUORUM);
}

/* A slot that was not told is not the first one. */
TEST(a_yes_without_a_slot)
{
	struct drive d = begin(slots(2, 0));
	struct rl_event few = {.kind = RL_EV_REPLY, .reply.seq = 1, .reply.operation = RL_OP_SLOT};
	few.reply.vote = (struct rl_vote){.code = REDLOCK_VOTE_YES, .slot = 1};
	drive_step(&d, few);
	assert_int_equal(d.lock.votes[0].code, REDLOCK_VOTE_GARBAGE);
	give(&d, 1, 0);
	give(&d, 2, 0);
	assert_int_equal(d.lock.phase, RL_HELD);
	d = begin(slots(2, 0));
	give(&d, 1, 0);
	give(&d, 2, 0);
	drive_step(&d, few);
	assert_true(d.lock.phase == RL_HELD && d.fx.send.operation == RL_OP_NONE);
}

TEST(no_slot_anywhere_is_busy_at_once)
{
	struct drive d = begin(slots(2, 0));
	give(&d, 0, -1);
	give(&d, 1, -1);
	drive_expect(
	    &d, "[    0.000] acquiring: reply #1 node 0 NO, 1 NO -> idle NN. | send release a slot #0 owed 4 | "
	        "done acquire BUSY\n");
}

TEST(another_number_ends_the_wait)
{
	struct drive d = begin(slots(2, 10000));
	give(&d, 0, -2);
	give(&d, 1, -2);
	assert_int_equal(d.fx.done.result, REDLOCK_E_NOQUORUM);
	assert_int_equal(d.lock.phase, RL_IDLE);
}

/* Split among slots: given back, and tried again from another one on, for five node timeouts at most. */
TEST(split_votes_are_tried_again)
{
	struct drive d = begin(slots(3, 0));
	d.entropy = 500000 * 3 + 2;
	for (unsigned node = 0; node < 3; node++)
		give(&d, node, (int)node);
	drive_expect(
	    &d, "[    0.000] acquiring: reply #1 node 0 YES, 1 YES, 2 YES -> watching YYY until 0.249 | send "
	        "release a slot #0 owed 7\n");
	assert_true(d.fx.queue.quiet);
	drive_ticks_until(&d, 1);
	assert_int_equal(d.fx.send.operation, RL_OP_SLOT);
	assert_int_equal(d.lock.claim.first, 2);
	give_as(&d, 1, 0, 0, RL_OP_SLOT); /* of the attempt before: it decides nothing */
	for (unsigned node = 0; node < 2; node++)
		give(&d, node, 2);
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_int_equal(d.lock.claim.slot, 2);
	d = begin(slots(3, 0));
	for (int tries = 0; d.lock.phase != RL_IDLE && tries < 1000; tries++) {
		for (unsigned node = 0; d.lock.phase == RL_ACQUIRING && node < 3; node++)
			give(&d, node, (int)node);
		if (d.lock.phase == RL_WATCHING)
			drive_ticks_until(&d, drive_deadline_ms(&d) + 1);
		drive_forget(&d);
	}
	assert_int_equal(d.lock.phase, RL_IDLE);
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_in_range(d.now_ns / RL_NS_PER_MS, 1000, 1030);
}

/* A quorum has none to give: the one that has is tried for again for one node timeout. */
TEST(one_that_has_a_slot_is_no_reason_to_try_for_long)
{
	struct drive d = begin(slots(3, 0));
	while (d.lock.phase != RL_IDLE) {
		for (unsigned node = 0; d.lock.phase == RL_ACQUIRING && node < 3; node++)
			give(&d, node, node == 0 ? 0 : -1);
		if (d.lock.phase == RL_WATCHING)
			drive_ticks_until(&d, drive_deadline_ms(&d) + 1);
		drive_forget(&d);
	}
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_in_range(d.now_ns / RL_NS_PER_MS, 200, 230);
}

/* A waiter meets the others at the gate, and asks the rest from the slot on that the gate has given. */
TEST(a_waiter_asks_the_gate)
{
	struct drive d = begin(slots(3, 10000));
	d.hears = 7;
	give(&d, 0, -1);
	give(&d, 1, -1);
	drive_ticks_until(&d, 1);
	drive_expect(
	    &d,
	    "[    0.000] acquiring: reply #1 node 0 NO, 1 NO -> paused NN. until 0.000 | send release a slot #0 "
	    "owed 4\n"
	    "[    0.000] paused: tick -> acquiring ... | send enter for a slot #2 to 1 ttl 30000.000\n");
	give_as(&d, d.lock.round.seq, 0, 1, RL_OP_SLOT_ENTER);
	assert_int_equal(d.fx.send.operation, RL_OP_SLOT);
	assert_int_equal(d.fx.send.nodes, 6);
	assert_int_equal(d.lock.claim.first, 1);
	give(&d, 1, -1); /* not yet */
	give(&d, 2, 1);
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_int_equal(d.lock.claim.slot, 1);
}

/* The others have given other slots: there is nothing to wait for, and the next attempt comes soon. */
TEST(the_gate_alone_is_no_reason_to_insist)
{
	struct drive d = begin(slots(3, 10000));
	d.entropy = 1;
	give(&d, 0, -1);
	give(&d, 1, -1);
	drive_ticks_until(&d, 1);
	give_as(&d, d.lock.round.seq, 0, 1, RL_OP_SLOT_ENTER);
	give(&d, 1, 2);
	drive_forget(&d);
	give(&d, 2, 0);
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_int_equal(d.fx.send.operation, RL_OP_SLOT_RELEASE);
	assert_in_range(d.lock.wait.retry_at_ns - d.now_ns, RL_NS_PER_MS, 6 * RL_NS_PER_MS);
	assert_int_equal(d.lock.claim.first, 1);
}

/* A place that is given up wakes the next one by the release of slots, and so does a turn that comes late. */
TEST(a_place_is_given_up)
{
	struct drive d = begin(slots(3, 10000));
	d.hears = 7;
	give(&d, 0, -1);
	give(&d, 1, -1);
	drive_ticks_until(&d, 1);
	give_as(&d, d.lock.round.seq, 0, -1, RL_OP_SLOT_ENTER);
	assert_true(d.lock.queue.placed);
	drive_cancel(&d);
	assert_int_equal(d.fx.send.operation, RL_OP_SLOT_RELEASE);
	assert_true(d.fx.queue.tidies);
	drive_wake(&d, 0);
	assert_int_equal(d.fx.send.operation, RL_OP_SLOT_RELEASE);
}

/* A slot is not passed on within a client, and no handle after it waits for that. */
TEST(a_slot_is_not_passed_on)
{
	struct drive d = begin(slots(3, 0));
	give(&d, 0, 0);
	give(&d, 1, 0);
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_int_equal(rl_hold_pass_until(&d.lock), 0);
}

TEST(a_slot_is_not_acquired_by_a_token)
{
	struct rl_rules rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_SLOTS_OWN];
	struct drive d = drive_begin(rules, "acquire");
	assert_int_equal(d.error, REDLOCK_E_STATE);
}

TESTS()
