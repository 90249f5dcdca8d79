/* SPDX-License-Identifier: MIT */
/* Several names: in whose queue who waits stands, what it does at its turn, and what it leaves behind. */
#include "core/fence.h"
#include "drive.h"

static struct rl_rules many(uint64_t wait_ms)
{
	struct rl_rules rules = drive_waiting_rules(3, wait_ms);
	rules.policy = &rl_kinds[RL_KIND_MANY];
	return rules;
}

/* A node says no, because of a name (1: the first); a gate also which place there is (0: none). */
static void refuse_as(struct drive *d, unsigned node, unsigned operation, unsigned name, unsigned place)
{
	struct rl_event event = {
	    .kind = RL_EV_REPLY, .reply.seq = d->lock.round.seq, .node = node, .reply.operation = operation};
	event.reply.vote =
	    (struct rl_vote){.code = REDLOCK_VOTE_NO, .told = RL_TOLD(NAME), .name = (int32_t)name};
	if (operation == RL_OP_ENTER_ALL)
		event.reply.vote = (struct rl_vote){.code = REDLOCK_VOTE_NO,
		                                    .told = RL_TOLD(WAITING) | RL_TOLD(PTTL) | RL_TOLD(PLACE),
		                                    .verdict = -1 - (int32_t)name,
		                                    .waiting = (int32_t)place,
		                                    .pttl_ms = -1,
		                                    .place = (int32_t)place};
	drive_step(d, event);
}

static void refuse(struct drive *d, unsigned node, unsigned name)
{
	refuse_as(d, node, RL_OP_CLAIM_ALL, name, 0);
}

static void grant(struct drive *d, unsigned node, unsigned operation, unsigned waiting)
{
	struct rl_event event = {
	    .kind = RL_EV_REPLY, .reply.seq = d->lock.round.seq, .node = node, .reply.operation = operation};
	event.reply.vote =
	    (struct rl_vote){.code = REDLOCK_VOTE_YES, .told = RL_TOLD(WAITING), .waiting = (int32_t)waiting};
	drive_step(d, event);
}

/* Refused by all because of a name, and at the gate of that one. */
static struct drive waiting(unsigned name)
{
	struct drive d = drive_idle(many(10000));
	drive_acquire(&d);
	d.hears = 7;
	refuse(&d, 0, name);
	refuse(&d, 1, name);
	drive_forget(&d);
	drive_ticks_until(&d, 1);
	return d;
}

/* A waiter that has its place. */
static struct drive standing(unsigned name)
{
	struct drive d = waiting(name);
	refuse_as(&d, 0, RL_OP_ENTER_ALL, name, 2);
	drive_forget(&d);
	return d;
}

/* Which name it was that somebody else has is known from the last refusal of this acquire. */
TEST(the_name_in_the_way)
{
	struct drive d = drive_begin(many(10000), "acquire");
	unsigned index;
	refuse(&d, 1, 3);
	assert_int_equal(d.lock.queue.obstacle, 3);
	drive_reply(&d, 2, REDLOCK_VOTE_NO);
	assert_int_equal(d.lock.queue.obstacle, 3);
	for (index = 1; index <= REDLOCK_MAX_NAMES; index++) {
		d = drive_begin(many(10000), "acquire");
		refuse_as(&d, 0, RL_OP_ENTER_ALL, index, 0);
		assert_int_equal(d.lock.queue.obstacle, index);
	}
	drive_play(&d, "cancel; acquire");
	assert_int_equal(d.lock.queue.obstacle, 0);
}

/* In the queue of that name, which is chosen when there is no place in another one. */
TEST(it_stands_in_line_for_what_was_in_the_way)
{
	struct drive d = waiting(3);
	assert_int_equal(d.lock.queue.line, 2);
	drive_expect(&d,
	             "[    0.000] paused: tick -> acquiring ... | send enter for all #2 to 1 ttl 30000.000\n");
	assert_true(d.fx.queue.stands && d.lock.queue.placed && d.fx.queue.offered_ns == 0);
	refuse_as(&d, 0, RL_OP_ENTER_ALL, 1, 2); /* the place is in the queue of the third one all the same */
	assert_true(d.lock.phase == RL_PAUSED && d.lock.queue.obstacle == 1);
	assert_int_equal(d.lock.queue.line, 2);
	assert_int_equal(d.lock.queue.place, 2);
	assert_true(d.lock.wait.retry_at_ns - d.now_ns >= 8 * RL_NS_PER_MS);
}

/* Without a wait it is busy at once: nobody leads, and nobody looks. */
TEST(without_a_wait_it_is_busy)
{
	struct drive d = drive_idle(many(0));
	drive_acquire(&d);
	refuse(&d, 0, 1);
	refuse(&d, 2, 2);
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_ACQUIRE);
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_int_equal(d.lock.phase, RL_IDLE);
}

/* Woken, it asks all nodes at once: the gate by the queue. */
TEST(a_woken_waiter_claims_all)
{
	struct drive d = standing(2);
	drive_at(&d, 5);
	drive_wake(&d, 0);
	drive_expect(&d, "[    5.000] paused: wake node 0 -> acquiring ... | send claim all #3 by the queue ttl "
	                 "30000.000\n");
	assert_int_equal(d.fx.send.enter, 1);
	grant(&d, 1, RL_OP_CLAIM_ALL, 0);
	grant(&d, 0, RL_OP_ENTER_ALL, 1);
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_true(!d.lock.queue.placed && d.lock.queue.contended); /* somebody else waits there */
	drive_release(&d);
	assert_int_equal(d.fx.send.operation, RL_OP_RELEASE_ALL);
	assert_false(d.fx.queue.quits || d.fx.queue.quiet);
}

/* A gate that has granted late in the wait is waited for no longer than that. */
TEST(a_turn_ends_with_the_wait)
{
	struct drive d = drive_idle(many(100));
	drive_acquire(&d);
	d.hears = 7;
	refuse(&d, 0, 1);
	refuse(&d, 1, 1);
	drive_ticks_until(&d, 1);
	drive_at(&d, 5);
	assert_true(d.lock.phase == RL_ACQUIRING && d.lock.queue.stage == RL_STAGE_GATE);
	grant(&d, 0, RL_OP_ENTER_ALL, 0);
	assert_true(d.lock.phase == RL_ACQUIRING && d.lock.queue.stage == RL_STAGE_CLAIM);
	assert_int_equal(d.lock.round.deadline_ns, d.lock.wait_until_ns);
	drive_ticks_until(&d, 100);
	assert_int_equal(d.lock.phase, RL_IDLE);
}

/* At its turn another name is held: the waiter has no place any more, and goes to the queue of that one, but
 * not as fast as nodes answer. */
TEST(a_turn_that_is_of_no_use)
{
	struct drive d = standing(2);
	drive_wake(&d, 0);
	refuse(&d, 1, 1);
	refuse_as(&d, 0, RL_OP_ENTER_ALL, 1, 0);
	refuse(&d, 2, 1);
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_true(!d.lock.queue.placed && d.lock.queue.place == 0 && d.lock.queue.contended);
	assert_int_equal(d.lock.queue.line, 0);
	assert_in_range(d.lock.wait.retry_at_ns - d.now_ns, RL_NS_PER_MS, 6 * RL_NS_PER_MS);
	drive_ticks_until(&d, 10);
	assert_true(d.fx.send.enter == 1 && d.fx.queue.stands && d.lock.queue.stage == RL_STAGE_GATE);
}

/* Refusals of other nodes say nothing about the place; and a client that the gate refuses, and that gets the
 * lock by the other nodes, has a lock that somebody wants. */
TEST(the_gate_alone_tells_of_its_queue)
{
	struct drive d = standing(2);
	drive_wake(&d, 0);
	refuse(&d, 1, 1);
	assert_true(d.lock.queue.placed && d.lock.queue.place == 1);
	refuse_as(&d, 0, RL_OP_ENTER_ALL, 2, 2);
	assert_true(d.lock.queue.placed && d.lock.queue.place == 2);
	d = standing(2);
	drive_wake(&d, 0);
	refuse_as(&d, 0, RL_OP_ENTER_ALL, 1, 0);
	grant(&d, 1, RL_OP_CLAIM_ALL, 0);
	grant(&d, 2, RL_OP_CLAIM_ALL, 0);
	assert_true(d.lock.phase == RL_HELD && d.lock.queue.contended);
}

/* A waiter that was told no name waits for the first one. */
TEST(a_refusal_that_names_nothing)
{
	struct drive d = drive_begin(many(10000), "acquire; votes NNN");
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_true(d.lock.queue.obstacle == 0 && d.lock.queue.line == 0);
}

/* The other waiters do not wait for the gate: a client that has won it and not the rest gives back, and comes
 * again after a random pause. A failed attempt wakes nobody. */
TEST(a_gate_is_no_reason_to_insist)
{
	for (uint64_t trip_ms = 1; trip_ms <= 40; trip_ms += 39) {
		struct drive d = waiting(1);
		d.entropy = 3;
		drive_at(&d, trip_ms);
		grant(&d, 0, RL_OP_ENTER_ALL, 0);
		assert_true(d.fx.send.operation == RL_OP_CLAIM_ALL && d.fx.send.nodes == 6);
		refuse(&d, 1, 2);
		refuse(&d, 2, 2);
		assert_int_equal(d.lock.phase, RL_PAUSED);
		assert_int_equal(d.fx.send.operation, RL_OP_RELEASE_ALL);
		assert_true(d.fx.queue.quiet && d.fx.send.owed == 1);
		uint64_t least_ms = trip_ms > 2 ? trip_ms : 2;
		assert_in_range(d.lock.wait.retry_at_ns - d.now_ns, least_ms * RL_NS_PER_MS,
		                3 * least_ms * RL_NS_PER_MS);
	}
}

/* Nor for nodes that are silent: others want what the gate has given. Only where all have time to answer. */
TEST(silent_nodes_are_not_waited_for_after_a_refusal)
{
	for (uint64_t trip_ms = 1; trip_ms <= 40; trip_ms += 39) {
		struct drive d = waiting(1);
		drive_at(&d, trip_ms);
		refuse_as(&d, 0, RL_OP_ENTER_ALL, 1, 1); /* that took so long */
		drive_wake(&d, 0);
		uint64_t whole_ns = d.lock.round.deadline_ns;
		grant(&d, 0, RL_OP_ENTER_ALL, 0);
		assert_int_equal(d.lock.round.deadline_ns, whole_ns);
		refuse(&d, 1, 2);
		assert_int_equal(d.lock.phase, RL_ACQUIRING);
		uint64_t patience_ns = d.lock.rules->node_timeout_ns / 8;
		patience_ns = patience_ns > 2 * d.lock.wait.trip_ns ? patience_ns : 2 * d.lock.wait.trip_ns;
		assert_int_equal(d.lock.round.deadline_ns - d.now_ns, patience_ns);
		drive_ticks_until(&d, (d.now_ns + patience_ns) / RL_NS_PER_MS + 1);
		assert_int_equal(d.lock.phase, RL_PAUSED);
		assert_int_equal(d.fx.send.operation, RL_OP_RELEASE_ALL);
		assert_int_equal(d.lock.verdict, REDLOCK_E_BUSY);
	}
}

/* The gates that it passed over are of a line in which it stood: in another one it begins with the first. */
TEST(another_line_begins_with_its_own_gate)
{
	struct drive d = waiting(1);
	d.lock.queue.passed = 2;
	d.lock.queue.back = true;
	refuse_as(&d, d.lock.queue.gate, RL_OP_ENTER_ALL, 2, 0);
	assert_true(d.lock.queue.line == 1 && d.lock.queue.passed == 0 && !d.lock.queue.back);
}

/* The request at the end of its wait, and the answer to a message that comes late, is the release of all: it
 * gives up the place, and the turn goes on. */
TEST(a_place_is_given_up)
{
	struct drive d = standing(2);
	drive_cancel(&d);
	assert_true(d.fx.send.operation == RL_OP_RELEASE_ALL && d.fx.send.nodes == 1);
	assert_true(d.fx.queue.quits && d.fx.queue.tidies && !d.fx.queue.quiet);
	drive_wake(&d, 0);
	assert_true(d.fx.send.operation == RL_OP_RELEASE_ALL && d.fx.queue.tidies);
	/* with what an attempt has half of */
	d = standing(2);
	drive_ticks_until(&d, 40);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_cancel(&d);
	assert_true(d.fx.send.operation == RL_OP_RELEASE_ALL && d.fx.queue.quits && !d.fx.queue.tidies &&
	            !d.fx.queue.quiet);
}

/* A client that has released while others wait comes back after a pause, also where it could queue: it would
 * be the queue of another name. */
TEST(a_client_that_released_does_not_overtake)
{
	struct drive d = standing(2);
	drive_wake(&d, 0);
	grant(&d, 1, RL_OP_CLAIM_ALL, 0);
	grant(&d, 0, RL_OP_ENTER_ALL, 0);
	assert_false(d.lock.queue.contended);
	drive_release(&d);
	struct rl_event event = {
	    .kind = RL_EV_REPLY, .reply.seq = d.lock.round.seq, .node = 1, .reply.operation = RL_OP_RELEASE_ALL};
	event.reply.vote = (struct rl_vote){.code = REDLOCK_VOTE_YES, .verdict = 2};
	drive_step(&d, event);
	event.node = 0;
	drive_step(&d, event);
	assert_true(d.lock.phase == RL_IDLE && d.lock.queue.contended);
	drive_acquire(&d);
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_in_range(d.lock.wait.retry_at_ns - d.now_ns, RL_NS_PER_MS, 6 * RL_NS_PER_MS);
}

/* ---- with numbers ---- */

static void tell(struct drive *d, unsigned node, unsigned operation, int64_t number)
{
	struct rl_event event = {
	    .kind = RL_EV_REPLY, .reply.seq = d->lock.round.seq, .node = node, .reply.operation = operation};
	event.reply.vote = (struct rl_vote){.code = REDLOCK_VOTE_YES, .told = RL_TOLD(WAITING), .number = number};
	drive_step(d, event);
}

/* At its turn the gate tells one, and the others: they are raised to one that all names have. */
TEST(a_waiter_gets_a_number)
{
	struct rl_rules rules = many(10000);
	rules.policy = &rl_kinds[RL_KIND_MANY_FENCED];
	struct drive d = drive_idle(rules);
	drive_acquire(&d);
	assert_int_equal(d.fx.send.operation, RL_OP_CLAIM_ALL);
	d.hears = 7;
	refuse_as(&d, 0, RL_OP_CLAIM_ALL, 2, 0);
	refuse_as(&d, 1, RL_OP_CLAIM_ALL, 2, 0);
	drive_ticks_until(&d, 1);
	refuse_as(&d, 0, RL_OP_ENTER_ALL, 2, 1);
	assert_int_equal(d.lock.queue.obstacle, 2);
	drive_wake(&d, 0);
	assert_true(d.fx.send.operation == RL_OP_CLAIM_ALL && d.fx.send.nodes == 7 && d.fx.send.enter == 1);
	tell(&d, 0, RL_OP_ENTER_ALL, 7);
	tell(&d, 1, RL_OP_CLAIM_ALL, 9);
	assert_true(d.lock.phase == RL_RAISING && d.fx.send.operation == RL_OP_RAISE && d.fx.send.nodes == 1);
	assert_int_equal(rl_lock_fence(&d.lock), 0);
	tell(&d, 0, RL_OP_RAISE, 9);
	assert_int_equal(d.lock.phase, RL_HELD);
	assert_int_equal(rl_lock_fence(&d.lock), 9);
}

TESTS()
