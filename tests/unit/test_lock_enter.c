/* SPDX-License-Identifier: MIT */
/* A lock that others want: the gate, its queue, turns, and places that are given up. */
#include "core/enter.h"
#include "drive.h"

/* Refused everywhere; the next attempt is at the gate, node 0, at 1 ms. */
static struct drive refused(unsigned nodes, uint32_t hears)
{
	struct drive d = drive_idle(drive_waiting_rules(nodes, 60000));
	d.hears = hears;
	drive_play(&d, nodes == 1 ? "acquire; votes N; at 1; tick; forget"
	                          : "acquire; votes NNN; at 1; tick; forget");
	return d;
}

/* Has the second place there, as it was told at 1 ms; the key has 8 s. */
static struct drive placed(unsigned nodes)
{
	struct drive d = refused(nodes, 1);
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 8000, 2);
	drive_forget(&d);
	return d;
}

/* A node has said who it is, and the order begins with another one now. */
static struct drive placed_elsewhere(void)
{
	static const uint8_t order[] = {1, 2, 0};
	struct drive d = placed(3);
	d.hears = 3;
	d.order = order;
	return d;
}

/* The lock is won while others wait after it. */
static struct drive held_before_others(void)
{
	struct drive d = placed(3);
	drive_wake(&d, 0);
	drive_gate(&d, REDLOCK_VOTE_YES, 1, 0, 0);
	drive_play(&d, "votes .Y; forget");
	return d;
}

/* ---- at the gate ---- */

SCENARIO(
    a_gates_refusal_leaves_no_key, drive_idle(drive_waiting_rules(3, 60000)),
    "acquire; votes NNN; at 1; tick; at 2; votes N",
    "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
    "[    0.000] acquiring: reply #1 node 0 NO, 1 NO -> paused NN. until 0.000 | send release #0 owed 4\n"
    "[    0.000] paused: reply #1 node 2 NO -> paused NNN until 0.000\n"
    "[    1.000] paused: tick -> acquiring ... | send acquire #2 to 1 ttl 30000.000\n"
    "[    2.000] acquiring: reply #2 node 0 NO -> paused N.. until 4.000\n")

SCENARIO(
    the_rest_is_asked_when_the_gate_is_won, refused(3, 0), "at 2; votes Y; at 3; votes .YN",
    "[    2.000] acquiring: reply #2 node 0 YES -> acquiring Y.. | send acquire #2 again to 6 ttl 30000.000\n"
    "[    3.000] acquiring: reply #2 node 1 YES -> held YY. until 29699.000 | done acquire OK\n"
    "[    3.000] held: reply #2 node 2 NO -> held YYN until 29699.000\n")

/* The holder before has released at the gate, and its releases are on their way to the others. */
SCENARIO(keys_on_their_way_out_are_asked_for_again, refused(5, 0),
         "at 2; votes Y; at 3; votes .NNNY; until 4; at 5; votes .Y",
         "[    2.000] acquiring: reply #2 node 0 YES -> acquiring Y.... | send acquire #2 again to 1e ttl "
         "30000.000\n"
         "[    3.000] acquiring: reply #2 node 1 NO, 2 NO, 3 NO, 4 YES -> acquiring YNNNY\n"
         "[    3.000] acquiring: tick -> acquiring Y...Y | send acquire #2 again to e ttl 30000.000\n"
         "[    5.000] acquiring: reply #2 node 1 YES -> held YY..Y until 29699.000 | done acquire OK\n")

/* Somebody has a quorum without the gate. */
SCENARIO(a_gate_that_is_won_alone_is_given_back, refused(3, 0),
         "votes Y; votes .NN; until 3; votes .NN; forget; until 201",
         "[    4.000] acquiring: tick -> acquiring Y.. | send acquire #2 again to 6 ttl 30000.000\n"
         "[    8.000] acquiring: tick -> acquiring Y..\n"
         "[   16.000] acquiring: tick -> acquiring Y..\n"
         "[   32.000] acquiring: tick -> acquiring Y..\n"
         "[   57.000] acquiring: tick -> acquiring Y..\n"
         "[   82.000] acquiring: tick -> acquiring Y..\n"
         "[  107.000] acquiring: tick -> acquiring Y..\n"
         "[  132.000] acquiring: tick -> acquiring Y..\n"
         "[  157.000] acquiring: tick -> acquiring Y..\n"
         "[  182.000] acquiring: tick -> acquiring Y..\n")

/* The gate's key is ours, and the others are the holder's. Returns for how long they are asked, in ms. */
static uint64_t win_in_vain(struct drive *d)
{
	uint64_t began_ns = d->now_ns;
	drive_play(d, "votes Y; votes .NN");
	while (d->lock.phase == RL_ACQUIRING) {
		drive_ticks_until(d, drive_deadline_ms(d) + 1);
		if (d->lock.phase == RL_ACQUIRING)
			drive_votes(d, ".NN");
	}
	return (d->now_ns - began_ns) / RL_NS_PER_MS;
}

/* Returns when the first gate is asked again, in ms from now. */
static uint64_t wait_at_the_next_gate(struct drive *d)
{
	uint64_t began_ns = d->now_ns;
	for (unsigned polls = 0; d->lock.phase != RL_ACQUIRING || d->lock.queue.gate != 0; polls++) {
		assert_true(polls < 1000);
		drive_forget(d);
		drive_ticks_until(d, drive_deadline_ms(d) + 1);
		if (d->lock.phase == RL_ACQUIRING && d->lock.queue.gate == 1)
			drive_gate(d, REDLOCK_VOTE_NO, 2, 90000, 2);
	}
	return (d->now_ns - began_ns) / RL_NS_PER_MS;
}

/* The holder lacks the key of the gate: the waiter has a place at the next one, and returns to the first one
 * when others may wait there, later each time. Then the key is there again. */
TEST(a_gate_that_is_won_in_vain_again_and_again)
{
	static const uint64_t rows[][2] = {{207, 2003}, {107, 4001}, {57, 8006}, {32, 8006}};
	struct drive d = refused(3, 7);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		assert_int_equal(win_in_vain(&d), rows[i][0]);
		assert_int_equal(wait_at_the_next_gate(&d), rows[i][1]);
	}
	assert_true(d.lock.queue.vain > 0);
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 90000, 2);
	assert_true(d.lock.queue.vain == 0 && d.lock.queue.placed && d.lock.queue.gate == 0);
}

SCENARIO(one_node_is_its_own_gate, refused(1, 0), "at 2; votes Y",
         "[    2.000] acquiring: reply #2 node 0 YES -> held Y until 29699.000 | done acquire OK\n")

TEST(a_gate_that_is_won_too_late)
{
	struct drive d = refused(3, 0);
	d.rules.min_validity_ns = rl_time_ms(29690);
	drive_tells(
	    &d, "at 30; votes Y",
	    "[   30.000] acquiring: reply #2 node 0 YES -> paused Y.. until 32.000 | send release #0 owed 1\n");
}

SCENARIO(a_silent_gate_is_passed_over, refused(3, 7), "until 110",
         "[  101.000] acquiring: tick -> paused TTT until 101.000 | send leave #0 quits bars owed 7\n"
         "[  101.000] paused: tick -> acquiring ... | send enter #3 to 2 ttl 30000.000\n")

SCENARIO(gates_that_fail_are_passed_over, refused(3, 7),
         "votes D; at 2; tick; votes .D; at 3; tick; votes ..D",
         "[    1.000] acquiring: reply #2 node 0 DOWN -> paused -.. until 1.000 | send leave #0 quits bars "
         "owed 7\n"
         "[    2.000] paused: tick -> acquiring ... | send enter #3 to 2 ttl 30000.000\n"
         "[    2.000] acquiring: reply #3 node 1 DOWN -> paused .-. until 2.000 | send leave #0 quits bars "
         "owed 7\n"
         "[    3.000] paused: tick -> acquiring ... | send enter #4 to 4 ttl 30000.000\n"
         "[    3.000] acquiring: reply #4 node 2 DOWN -> paused ..- until 53.000 | send leave #0 quits bars "
         "owed 7\n")

/* The gate was slow for a moment, and waiters with more patience are still there. Asks it once a second. */
TEST(a_gate_that_answers_late_is_the_gate_again)
{
	struct drive d = refused(3, 7);
	uint32_t asked = d.lock.round.seq;
	drive_ticks_until(&d, 102);
	assert_true(d.lock.queue.gate == 1 && d.lock.queue.passed == 1);
	drive_at(&d, 120);
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 90000, 1);
	drive_reply_to(&d, asked, 2, REDLOCK_VOTE_NO); /* another node */
	drive_reply_to(&d, asked, 0, REDLOCK_VOTE_CLOSED);
	assert_int_equal(d.lock.queue.passed, 1);
	drive_reply_to(&d, asked, 0, REDLOCK_VOTE_NO);
	drive_ticks_until(&d, 200);
	assert_true(d.lock.queue.gate == 0 && d.lock.phase == RL_ACQUIRING);
	asked = d.lock.round.seq;
	drive_ticks_until(&d, 400);
	assert_int_equal(d.lock.queue.gate, 1);
	drive_reply_to(&d, asked, 0, REDLOCK_VOTE_NO);
	assert_int_equal(d.lock.queue.passed, 1);
}

/* Others may wait there. */
TEST(a_gate_that_was_passed_over_is_tried_again)
{
	struct drive d = refused(3, 7);
	drive_play(&d, "votes D; at 2; tick");
	assert_int_equal(d.fx.send.nodes, 2);
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 90000, 2);
	for (unsigned polls = 0; d.lock.queue.gate != 0; polls++) {
		assert_true(polls < 100 && d.now_ns < rl_time_ms(2000));
		drive_ticks_until(&d, drive_deadline_ms(&d) + 1);
		if (d.lock.queue.gate == 1)
			drive_gate(&d, REDLOCK_VOTE_NO, 2, 90000 - (int)(d.now_ns / RL_NS_PER_MS), 2);
		drive_forget(&d);
	}
	assert_true(d.now_ns >= rl_time_ms(1001) && d.fx.send.nodes == 1);
}

/* The gate may have an orphaned key. Once a second is enough; the second in line leaves it to the first. */
TEST(the_first_in_line_looks_past_the_gate)
{
	static const struct {
		uint64_t at_ms;
		bool looks;
	} polls[] = {{900, false}, {1010, true}, {1050, false}, {2100, true}};
	for (int place = 0; place <= 2; place++) {
		struct drive d = refused(3, 1);
		drive_gate(&d, REDLOCK_VOTE_NO, 2, 90000, place);
		for (unsigned i = 0; i < COUNT(polls); i++) {
			bool looks = polls[i].looks && place < 2;
			d.lock.wait.retry_at_ns = rl_time_ms(polls[i].at_ms);
			drive_ticks_until(&d, polls[i].at_ms);
			assert_int_equal(d.fx.send.nodes, looks ? 7 : 1);
			drive_votes(&d, looks ? "NYN" : "N");
			drive_ticks_until(&d, polls[i].at_ms + looks);
			drive_votes(&d, looks ? "N" : "");
		}
	}
}

/* ---- turns ---- */

SCENARIO(
    a_woken_waiter_asks_all_at_once, placed(5), "at 9; wake 0; at 10; votes YYY",
    "[    9.000] paused: wake node 0 -> acquiring ..... | send acquire #3 by the queue ttl 30000.000\n"
    "[   10.000] acquiring: reply #3 node 0 YES -> acquiring Y....\n"
    "[   10.000] acquiring: reply #3 node 1 YES, 2 YES -> held YYY.. until 29707.000 | done acquire OK\n")

SCENARIO(somebody_was_faster, placed(5), "at 9; wake 0; votes N; votes .NNN",
         "[    9.000] paused: wake node 0 -> acquiring ..... | send acquire #3 by the queue ttl 30000.000\n"
         "[    9.000] acquiring: reply #3 node 0 NO, 1 NO, 2 NO -> paused NNN.. until 13.000 | send release "
         "#0 owed 18\n"
         "[    9.000] paused: reply #3 node 3 NO -> paused NNNN. until 13.000\n")

/* The message came on the other link, and before the answer that was on its way. */
SCENARIO(woken_while_the_gate_is_asked, placed(3), "until 9; wake 0; votes N; at 10; tick",
         "[    9.000] paused: tick -> acquiring ... | send enter #3 to 1 ttl 30000.000\n"
         "[    9.000] acquiring: wake node 0 -> acquiring ...\n"
         "[    9.000] acquiring: reply #3 node 0 NO -> paused N.. until 9.000\n"
         "[   10.000] paused: tick -> acquiring ... | send acquire #4 by the queue ttl 30000.000\n")

TEST(a_turn_that_takes_too_long)
{
	struct drive d = placed(3);
	d.rules.min_validity_ns = rl_time_ms(29690);
	drive_play(&d, "at 9; wake 0; at 39; votes YY");
	assert_true(d.lock.phase == RL_PAUSED && d.fx.send.operation == RL_OP_RELEASE && d.fx.send.owed == 7);
}

SCENARIO(a_turn_without_the_gate, placed(5), "at 9; wake 0; votes .YYY; at 20; release; wake 0",
         "[    9.000] paused: wake node 0 -> acquiring ..... | send acquire #3 by the queue ttl 30000.000\n"
         "[    9.000] acquiring: reply #3 node 1 YES, 2 YES, 3 YES -> held .YYY. until 29707.000 | done "
         "acquire OK\n"
         "[   20.000] held: release -> releasing ..... | send leave #4 quits owed 1f\n"
         "[   20.000] releasing: wake node 0 -> releasing ..... | send leave #0 to 1 quits\n")

SCENARIO(a_release_wakes_the_next, held_before_others(), "at 20; release",
         "[   20.000] held: release -> releasing ... | send leave #4 owed 7\n")

/* The gate's answer to the release that was just asked for: somebody waits. */
static struct rl_event told_of_waiters(const struct drive *d)
{
	return (struct rl_event){.kind = RL_EV_REPLY,
	                         .reply.seq = d->lock.round.seq,
	                         .reply.operation = RL_OP_RELEASE,
	                         .reply.vote = {.code = REDLOCK_VOTE_YES, .verdict = 2}};
}

/* A report of waiters that comes late, when the next acquire has begun, is remembered after its grant: a
 * client that asks again at once overtakes once more, not for ever. */
TEST(a_late_report_of_waiters_is_remembered)
{
	struct drive d = drive_held(drive_waiting_rules(3, 60000));
	drive_release(&d);
	struct rl_event told = told_of_waiters(&d);
	drive_play(&d, "votes .YY; acquire");
	drive_step(&d, told);
	drive_play(&d, "votes YY; forget");
	drive_tells(&d, "release", "[    0.000] held: release -> releasing ... | send leave #4 owed 7\n");
}

TEST(a_report_of_waiters_leads_to_the_gate)
{
	struct drive d = drive_held(drive_waiting_rules(3, 60000));
	d.hears = 1;
	drive_release(&d);
	drive_step(&d, told_of_waiters(&d));
	drive_play(&d, "votes .Y; forget");
	drive_tells(&d, "acquire",
	            "[    0.000] idle: acquire -> acquiring ... | send enter #3 to 1 ttl 30000.000\n");
}

/* Without a queue such clients pause as polling clients do. */
TEST(a_refused_client_does_not_overtake)
{
	struct drive d = refused(3, 0);
	drive_play(&d, "votes Y; votes .Y; release; votes YY; at 100; forget");
	drive_tells(&d, "acquire; until 104",
	            "[  100.000] idle: acquire -> paused YY. until 102.000\n"
	            "[  102.000] paused: tick -> acquiring ... | send acquire #4 to 1 ttl 30000.000\n");
}

/* Another handle of this client was first. */
TEST(a_queued_handle_asks_nobody)
{
	struct drive d = placed(3);
	struct rl_event tick = {.kind = RL_EV_TICK, .around.behind_ns = UINT64_MAX};
	struct rl_event front = {.kind = RL_EV_WAKE, .message.front = true};
	d.now_ns = rl_time_ms(drive_deadline_ms(&d) + 1);
	drive_step(&d, tick);
	assert_true(d.lock.phase == RL_PAUSED && d.fx.send.operation == RL_OP_NONE);
	assert_int_equal(drive_deadline_ms(&d), d.now_ns / RL_NS_PER_MS + 1000);
	drive_step(&d, front);
	assert_int_equal(drive_deadline_ms(&d), d.now_ns / RL_NS_PER_MS);
	d.now_ns = rl_time_ms(2); /* a holder that passes it on until then */
	drive_step(
	    &d, (struct rl_event){.kind = RL_EV_WAKE, .message.front = true, .around.behind_ns = rl_time_ms(5)});
	assert_int_equal(drive_deadline_ms(&d), 5);
	d = drive_idle(drive_waiting_rules(3, 500));
	struct rl_event acquire = {.kind = RL_EV_ACQUIRE, .around.behind_ns = UINT64_MAX};
	drive_step(&d, acquire);
	assert_true(d.lock.phase == RL_PAUSED && d.fx.send.operation == RL_OP_NONE &&
	            drive_deadline_ms(&d) == 500);
	drive_play(&d, "at 500; tick");
	assert_true(d.fx.done.operation == REDLOCK_OP_ACQUIRE && d.fx.done.result == REDLOCK_E_BUSY);
}

/* ---- a key that is gone ---- */

/* The first one's attempt began at 1 ms, and the next one is due at 2 s. */
static struct drive first_in_line(void)
{
	struct drive d = refused(3, 1);
	drive_gate(&d, REDLOCK_VOTE_NO, 1, 60000, 1);
	d.lock.wait.retry_at_ns = rl_time_ms(2000);
	drive_forget(&d);
	return d;
}

static void lose_key(struct drive *d, unsigned node)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_WAKE, .node = node, .message.gone = true});
}

/* After a random part of the longest pause of a retry, but not sooner than the waiter would ask if nothing
 * changed; and after all messages of this moment. */
TEST(a_key_that_is_gone_is_asked_for)
{
	static const uint64_t rows[][3] = {{3, 0, 9}, {500, 0, 500}, {500, 1, 501}}; /* told, by chance, asks */
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct drive d = first_in_line();
		drive_at(&d, rows[i][0]);
		d.entropy = rl_time_ms(rows[i][1]);
		lose_key(&d, 1);
		assert_int_equal(drive_deadline_ms(&d), 2000); /* not its gate */
		lose_key(&d, 0);
		assert_true(d.fx.send.operation == RL_OP_NONE && drive_deadline_ms(&d) == rows[i][2]);
		drive_forget(&d);
		drive_ticks_until(&d, rows[i][2]);
		assert_true(d.lock.queue.stage == RL_STAGE_CLAIM && d.fx.send.nodes == 7 && d.fx.queue.stands);
		drive_votes(&d, "NNN");
		assert_true(d.lock.phase == RL_PAUSED && drive_deadline_ms(&d) > rows[i][2]);
	}
}

/* A release said more; it is not the first; it has asked; or the key was its own. */
TEST(when_a_key_that_is_gone_does_not_matter)
{
	struct drive d = first_in_line();
	drive_at(&d, 500);
	lose_key(&d, 0);
	drive_wake(&d, 0);
	assert_true(d.lock.phase == RL_ACQUIRING && d.fx.send.nodes == 7);
	uint64_t deadline = drive_deadline_ns(&d);
	lose_key(&d, 0);
	assert_true(d.fx.send.operation == RL_OP_NONE && drive_deadline_ns(&d) == deadline);
	d = placed(3);
	deadline = drive_deadline_ns(&d);
	lose_key(&d, 0);
	assert_true(drive_deadline_ns(&d) == deadline && !d.lock.queue.woken);
	d = first_in_line();
	drive_play(&d, "at 500; wake 0; votes YNN; at 801; tick");
	assert_true(d.lock.phase == RL_PAUSED && d.lock.queue.place == 1);
	deadline = drive_deadline_ns(&d);
	lose_key(&d, 0);
	assert_true(drive_deadline_ns(&d) == deadline);
}

/* Only the first, when that is not about to change. */
TEST(the_first_in_line_hears_of_the_key)
{
	struct drive d = first_in_line();
	assert_false(rl_enter_follows(&d.lock, rl_time_ms(100)));
	assert_true(rl_enter_follows(&d.lock, rl_time_ms(101)));
	d.lock.queue.place = 2;
	assert_false(rl_enter_follows(&d.lock, rl_time_ms(5000)));
	d.lock.queue.place = 1;
	d.lock.queue.placed = false;
	assert_false(rl_enter_follows(&d.lock, rl_time_ms(5000)));
}

/* ---- places that are given up ---- */

SCENARIO(a_cancelled_wait_gives_its_place_up, placed(3), "at 3; cancel",
         "[    3.000] paused: cancel -> idle N.. | send leave #0 to 1 quits | done acquire CANCELLED\n")

SCENARIO(a_wait_that_ends_gives_its_place_up, placed(3), "at 60000; tick",
         "[60000.000] paused: tick -> idle N.. | send leave #0 to 1 quits | done acquire BUSY\n")

/* The last thing that an acquire did was to ask a gate that fails. */
TEST(a_wait_that_ends_at_a_gate_that_fails)
{
	struct drive d = placed(3);
	drive_play(&d, "at 50000; tick");
	assert_true(d.fx.send.operation == RL_OP_ACQUIRE && d.lock.queue.stage == RL_STAGE_GATE);
	drive_play(&d, "at 59999; votes D");
	assert_true(d.lock.phase == RL_IDLE && d.fx.done.operation == REDLOCK_OP_ACQUIRE);
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.quits && d.fx.send.nodes == 1 &&
	            !d.lock.queue.placed);
}

/* The place is given up also if the gate tells of no one who waits: a queue may have been deleted. */
TEST(a_wait_that_ends_at_an_empty_queue)
{
	struct drive d = placed(3);
	drive_play(&d, "at 50000; tick; at 60000");
	drive_gate(&d, REDLOCK_VOTE_NO, 0, 8000, 0);
	assert_true(d.lock.phase == RL_IDLE && d.fx.done.operation == REDLOCK_OP_ACQUIRE);
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.quits && d.fx.send.nodes == 1 &&
	            !d.lock.queue.placed);
}

SCENARIO(a_turn_for_nobody_goes_on, drive_idle(drive_rules(3)), "wake 2",
         "[    0.000] idle: wake node 2 -> idle | send leave #0 to 4 quits\n")

/* The token stays: it is that of a lock that is held. */
SCENARIO(a_turn_for_a_holder_goes_on, held_before_others(), "wake 0",
         "[    1.000] held: wake node 0 -> held YY. until 29699.000 | send leave #0 to 1 quits\n")

SCENARIO(a_place_at_an_old_gate_is_given_up, placed_elsewhere(), "until 10",
         "[    9.000] paused: tick -> paused N.. until 9.000 | send leave #0 to 1 quits\n"
         "[    9.000] paused: tick -> acquiring ... | send enter #3 to 2 ttl 30000.000\n")

SCENARIO(a_turn_at_an_old_gate_goes_on, placed_elsewhere(), "at 3; wake 0; at 4; tick",
         "[    3.000] paused: wake node 0 -> paused N.. until 3.000 | send leave #0 to 1 quits\n"
         "[    4.000] paused: tick -> acquiring ... | send enter #3 to 2 ttl 30000.000\n")

/* The message may have been lost: it asks at once, and where nothing is heard by a plain SET. Its place is
 * still there. */
TEST(a_waiter_without_messages_asks)
{
	struct drive d = placed(3);
	struct rl_event deaf = {.kind = RL_EV_WAKE, .message.deaf = true, .node = 1};
	drive_at(&d, 2);
	drive_step(&d, deaf);
	assert_true(drive_deadline_ms(&d) > 2); /* not its gate */
	deaf.node = 0;
	drive_step(&d, deaf);
	assert_true(d.lock.phase == RL_PAUSED && drive_deadline_ms(&d) == 2 && d.fx.send.operation == RL_OP_NONE);
	d.hears = 0;
	drive_play(&d, "at 3; tick");
	assert_true(d.fx.send.operation == RL_OP_ACQUIRE && d.fx.send.nodes == 1 && d.fx.send.enter == 0);
	drive_cancel(&d);
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.quits && d.fx.send.nodes == 1);
}

/* The turn of an acquire that is over by now. */
TEST(an_old_turn_goes_on)
{
	struct drive d = placed(3);
	struct rl_event old = {.kind = RL_EV_WAKE, .message.call = (uint16_t)(d.lock.queue.call - 1)};
	drive_step(&d, old);
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.tidies &&
	            d.fx.queue.call == old.message.call);
}

/* A place is left behind at a gate that was passed over. */
TEST(a_turn_at_another_gate_goes_on)
{
	struct drive d = refused(3, 7);
	drive_play(&d, "votes D; at 2; tick");
	drive_gate(&d, REDLOCK_VOTE_NO, 2, 90000, 1);
	drive_wake(&d, 0);
	assert_int_equal(d.lock.phase, RL_PAUSED);
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.tidies && d.fx.send.nodes == 1);
}

/* ---- time ---- */

static uint64_t pause_ms(struct drive *d)
{
	assert_int_equal(d->lock.phase, RL_PAUSED);
	return drive_deadline_ms(d) - d->now_ns / RL_NS_PER_MS;
}

/* The next answer of the gate comes then. */
static void poll_at(struct drive *d, uint64_t ms)
{
	if (d->lock.phase == RL_PAUSED) {
		d->lock.wait.retry_at_ns = rl_time_ms(ms - 1);
		drive_ticks_until(d, ms - 1);
		if (d->lock.queue.stage == RL_STAGE_ALL)
			drive_votes(d, "NNN");
		drive_ticks_until(d, ms);
	}
	drive_at(d, ms);
}

/* The interval grows while nothing changes, and with the waiters before it; by chance half of it more or
 * less, entropy 0 being the least. */
TEST(polls_are_seldom_where_there_is_a_queue)
{
	static const struct {
		uint64_t at_ms;
		int pttl_ms, place;
		uint64_t want_ms;
	} polls[] = {{2, 81000, 2, 8},
	             {802, 80200, 2, 200},
	             {802, 80200, 1, 4},
	             {20802, 60200, 1, 500},
	             {20902, 60100, 3, 12},
	             {20903, 60099, 2, 8},
	             {30000, 50, 2, 25},
	             /* another key: somebody has gone first */
	             {30900, 60000, 2, 8},
	             {31700, 59200, 2, 200}};
	struct drive d = refused(3, 1);
	for (unsigned i = 0; i < COUNT(polls); i++) {
		poll_at(&d, polls[i].at_ms);
		drive_gate(&d, REDLOCK_VOTE_NO, 3, polls[i].pttl_ms, polls[i].place);
		if (pause_ms(&d) != polls[i].want_ms)
			fail_msg("poll %u: a pause of %d ms", i, (int)pause_ms(&d));
	}
}

/* The waiters after it come by chance, a little later. */
TEST(the_first_asks_when_the_key_expires)
{
	for (int place = 1; place <= 2; place++) {
		struct drive d = refused(3, 1);
		drive_gate(&d, REDLOCK_VOTE_NO, 3, 30000, place);
		poll_at(&d, 20002);
		d.entropy = rl_time_ms(300) - 1;
		drive_gate(&d, REDLOCK_VOTE_NO, 3, 300, place);
		assert_int_equal(pause_ms(&d), place == 1 ? 300 : 449);
	}
}

/* A waiter without a place sees no changes. */
TEST(polls_without_a_queue_are_more_frequent)
{
	static const uint64_t polls[][2] = {{2, 2}, {200, 2}, {1024, 8}, {10240, 80}, {58000, 453}};
	struct drive d = refused(3, 0);
	for (unsigned i = 0; i < COUNT(polls); i++) {
		poll_at(&d, polls[i][0]);
		drive_votes(&d, "N");
		if (pause_ms(&d) != polls[i][1])
			fail_msg("poll %u: a pause of %d ms", i, (int)pause_ms(&d));
	}
}

/* The result of the acquire is the result of a quorum. */
TEST(the_last_try_asks_all)
{
	struct drive d = drive_idle(drive_waiting_rules(3, 500));
	unsigned all = 0;
	drive_acquire(&d);
	while (rl_state_is_busy(&d.lock)) {
		all = d.fx.send.operation == RL_OP_ACQUIRE ? d.lock.queue.stage == RL_STAGE_ALL : all;
		drive_votes(&d, d.lock.queue.stage == RL_STAGE_ALL ? "NN" : "N");
		drive_forget(&d);
		if (!rl_state_is_busy(&d.lock))
			break;
		d.now_ns = drive_deadline_ns(&d);
		drive_tick(&d);
	}
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_true(all == 1 && d.now_ns <= rl_time_ms(500));
}

/* Each name has its own first node, in the order that all share. */
TEST(the_name_says_where_the_order_begins)
{
	static const uint8_t order[] = {2, 0, 1};
	for (uint8_t turn = 0; turn < 3; turn++) {
		struct drive d = drive_idle(drive_waiting_rules(3, 60000));
		d.order = order;
		d.lock.queue.turn = turn;
		drive_play(&d, "acquire; votes NNN; at 1; tick");
		assert_int_equal(d.fx.send.nodes, 1u << order[turn]);
	}
}

TESTS()
