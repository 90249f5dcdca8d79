/* SPDX-License-Identifier: MIT */
/* Shared locks: whose vote is waited for, who is let past, upgrades and what they leave. */
#include "core/queue.h"
#include "core/share.h"
#include "drive.h"

static struct rl_rules shared(uint64_t wait_ms)
{
	struct rl_rules rules = drive_waiting_rules(3, wait_ms);
	rules.policy = &rl_kinds[RL_KIND_SHARED];
	return rules;
}

static struct rl_rules renewed(void)
{
	struct rl_rules rules = shared(0);
	rules.renew_ns = rl_time_ms(10000);
	return rules;
}

static struct rl_rules capped(void)
{
	struct rl_rules rules = shared(0);
	rules.max_extends = 1;
	return rules;
}

static struct rl_rules own(void)
{
	struct rl_rules rules = shared(0);
	rules.policy = &rl_kinds[RL_KIND_SHARED_OWN];
	return rules;
}

/* A node's answer to a claim: its verdict, and how many wait there (-1: it has no queue of ours). */
static void answer(struct drive *d, unsigned node, int verdict, int waiting)
{
	struct rl_vote vote = {.code = verdict > 0 ? REDLOCK_VOTE_YES : REDLOCK_VOTE_NO,
	                       .told = RL_TOLD(VERDICT) | RL_TOLD(WAITING),
	                       .verdict = verdict,
	                       .waiting = waiting};
	drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
	                                .reply.seq = d->lock.round.seq,
	                                .node = node,
	                                .reply.operation = RL_OP_SHARE,
	                                .reply.vote = vote});
}

/* ---- claims ---- */

SCENARIO(a_quorum_with_the_gate_suffices, drive_idle(shared(0)), "acquire; at 1; votes Y.Y",
         "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 0 YES, 2 YES -> held Y.Y until 29698.000 | done acquire OK\n")

SCENARIO(the_gate_is_waited_for, drive_idle(shared(0)), "acquire; at 40; votes .YY; at 41; votes Y",
         "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
         "[   40.000] acquiring: reply #1 node 1 YES, 2 YES -> acquiring .YY\n"
         "[   41.000] acquiring: reply #1 node 0 YES -> held YYY until 29698.000 | done acquire OK\n")

SCENARIO(but_not_for_ever, drive_idle(shared(0)), "acquire; at 1; votes .YY; until 300",
         "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 1 YES, 2 YES -> acquiring .YY\n"
         "[   26.000] acquiring: tick -> held TYY until 29698.000 | done acquire OK\n")

SCENARIO(a_gate_that_fails_is_not, drive_idle(shared(0)), "acquire; at 1; votes D; votes .YY",
         "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 0 DOWN, 1 YES, 2 YES -> held -YY until 29698.000 | done "
         "acquire OK\n")

/* There a key may be on its way, or somebody who waits for it. */
SCENARIO(the_gate_says_no, drive_idle(shared(0)), "acquire; at 1; votes NYY",
         "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 0 NO, 1 YES, 2 YES -> idle NYY | send release share #0 owed 6 "
         "| done acquire BUSY\n")

SCENARIO(one_try_is_busy_at_once, drive_idle(shared(0)), "acquire; at 1; votes YNN",
         "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 0 YES, 1 NO, 2 NO -> idle YNN | send release share #0 owed 1 "
         "| done acquire BUSY\n")

TEST(any_node_may_be_the_gate)
{
	struct drive d = drive_idle(shared(0));
	d.anonymous = true;
	drive_play(&d, "acquire; at 1");
	answer(&d, 0, 1, 0);
	answer(&d, 1, 1, 0);
	answer(&d, 2, -1, 1);
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
	                 "[    1.000] acquiring: reply #1 node 0 YES, 1 YES -> acquiring YY.\n"
	                 "[    1.000] acquiring: reply #1 node 2 NO -> idle YYN | send release share #0 owed 3 | "
	                 "done acquire BUSY\n");
	drive_play(&d, "acquire; at 2; votes YY; until 300");
	drive_expect(&d, "[    1.000] idle: acquire -> acquiring ... | send share #2 ttl 30000.000\n"
	                 "[    2.000] acquiring: reply #2 node 0 YES, 1 YES -> acquiring YY.\n"
	                 "[   27.000] acquiring: tick -> held YYT until 29699.000 | done acquire OK\n");
}

/* A node that has not told yet who it is may be the gate: a waiter that was refused looks for its gate when
 * all nodes have told, or after a node timeout. */
TEST(a_waiter_looks_for_its_gate_when_it_knows_all_nodes)
{
	for (int i = 0; i < 4; i++) {
		bool known = i < 2, shares = i % 2 == 0;
		struct drive d = drive_idle(shares ? shared(10000) : drive_waiting_rules(3, 10000));
		d.anonymous = true;
		drive_play(&d, "acquire; at 1");
		answer(&d, 0, shares ? -1 : 0, 1);
		answer(&d, 1, 0, 0);
		answer(&d, 2, 0, 0);
		drive_play(&d, "until 100; forget");
		assert_int_equal(d.lock.phase, RL_PAUSED);
		d.anonymous = !known;
		drive_play(&d, "until 120");
		assert_int_equal(d.lock.phase, known ? RL_ACQUIRING : RL_PAUSED);
		drive_play(&d, "until 230");
		assert_true(d.lock.phase == RL_ACQUIRING && d.lock.queue.stage == RL_STAGE_GATE);
	}
}

/* A waiter goes to the gate, with a place; late answers to the first attempt teach nothing. */
TEST(a_waiter_asks_the_gate)
{
	struct drive d = drive_idle(shared(10000));
	d.hears = 7;
	drive_play(&d, "acquire; at 1");
	answer(&d, 0, -1, 1);
	answer(&d, 1, 1, 0);
	answer(&d, 2, 1, 0);
	drive_play(&d, "until 2");
	answer(&d, 0, -1, 2);
	drive_play(&d, "until 3; wake 0");
	answer(&d, 0, 1, -1);
	drive_play(&d, "votes .Y; release");
	drive_expect(
	    &d, "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
	        "[    1.000] acquiring: reply #1 node 0 NO, 1 YES, 2 YES -> paused NYY until 1.000 | send "
	        "release share #0 owed 6\n"
	        "[    1.000] paused: tick -> acquiring ... | send enter #2 to 1 ttl 30000.000\n"
	        "[    2.000] acquiring: reply #2 node 0 NO -> paused N.. until 4.000\n"
	        "[    3.000] paused: wake node 0 -> acquiring ... | send share #3 by the queue ttl 30000.000\n"
	        "[    3.000] acquiring: reply #3 node 0 YES -> acquiring Y..\n"
	        "[    3.000] acquiring: reply #3 node 1 YES -> held YY. until 29701.000 | done acquire OK\n"
	        "[    3.000] held: release -> releasing ... | send release share #4 quits owed 7\n");
}

/* At its turn the gate alone keeps it out: elsewhere somebody may wait who has another gate. Nor does a no
 * without numbers, whatever an earlier answer had. */
TEST(readers_do_not_keep_out_readers)
{
	struct drive d = drive_idle(shared(10000));
	d.hears = 7;
	drive_play(&d, "acquire; at 1; votes NNN; until 2");
	answer(&d, 0, -1, 2);
	drive_play(&d, "until 3; wake 0");
	answer(&d, 2, -1, 1);
	answer(&d, 0, 1, -1);
	answer(&d, 1, 1, 0);
	assert_int_equal(d.lock.phase, RL_HELD);
	d = drive_begin(shared(0), "acquire");
	drive_step(&d, (struct rl_event){.kind = RL_EV_REPLY,
	                                 .reply.seq = d.lock.round.seq,
	                                 .node = 2,
	                                 .reply.operation = RL_OP_SHARE,
	                                 .reply.vote = {.code = REDLOCK_VOTE_NO}});
	drive_play(&d, "votes YY");
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* The gate is heard when the attempt is over already, and what it has given is given back: others wait even
 * so. */
TEST(a_late_yes_says_nothing_of_who_waits)
{
	struct drive d = drive_idle(shared(10000));
	d.hears = 7;
	drive_play(&d, "acquire; at 1");
	answer(&d, 1, 0, 0);
	answer(&d, 2, 0, 0);
	answer(&d, 0, 1, 0);
	drive_play(&d, "until 2");
	drive_expect(&d,
	             "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
	             "[    1.000] acquiring: reply #1 node 1 NO, 2 NO -> paused .NN until 1.000 | send release "
	             "share #0 owed 1\n"
	             "[    1.000] paused: reply #1 node 0 YES -> paused YNN until 1.000\n"
	             "[    1.000] paused: tick -> acquiring ... | send enter #2 to 1 ttl 30000.000\n");
}

/* A key that nobody holds by does not stop who asks all nodes even so, as at the end of its wait. */
TEST(a_key_that_is_left_over)
{
	struct drive d = drive_idle(shared(6));
	drive_play(&d, "acquire; at 1; votes NYY; until 2; votes N; until 4; votes NYY");
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
	                 "[    1.000] acquiring: reply #1 node 0 NO, 1 YES, 2 YES -> paused NYY until 1.000 | "
	                 "send release share #0 owed 6\n"
	                 "[    1.000] paused: tick -> acquiring ... | send share #2 to 1 ttl 30000.000\n"
	                 "[    2.000] acquiring: reply #2 node 0 NO -> paused N.. until 4.000\n"
	                 "[    4.000] paused: tick -> acquiring ... | send share #3 ttl 30000.000\n"
	                 "[    4.000] acquiring: reply #3 node 0 NO, 1 YES, 2 YES -> held NYY until 29702.000 | "
	                 "done acquire OK\n");
}

/* A new client does not know the order of the nodes; it learns it from their answers. */
TEST(the_gate_is_known_when_all_have_said_who_they_are)
{
	static const uint8_t order[] = {1, 0, 2};
	struct drive d = drive_begin(shared(0), "acquire; at 1");
	d.order = order;
	drive_play(&d, "votes Y.Y; votes .N");
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
	                 "[    1.000] acquiring: reply #1 node 0 YES, 2 YES -> acquiring Y.Y\n"
	                 "[    1.000] acquiring: reply #1 node 1 NO -> idle YNY | send release share #0 owed 5 | "
	                 "done acquire BUSY\n");
}

/* A node that fails is nobody's gate: the next one is. */
TEST(the_gate_of_all_is_the_first_that_works)
{
	struct drive d = drive_begin(shared(0), "acquire; at 1; votes DNY");
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ... | send share #1 ttl 30000.000\n"
	                 "[    1.000] acquiring: reply #1 node 0 DOWN, 1 NO, 2 YES -> idle -NY | send release "
	                 "share #0 owed 4 | done acquire BUSY\n");
	struct rl_rules alone = shared(0);
	alone.node_count = alone.quorum = 1;
	d = drive_begin(alone, "acquire; at 1; votes D");
	assert_true(d.lock.queue.gate == 0 && d.lock.phase == RL_IDLE);
}

/* ---- a writer after them ---- */

/* The answer of a node's gate to a writer, where this is the value of the key; "": it is shared. */
static void say_no(struct drive *d, unsigned node, const char *value, int pttl_ms)
{
	struct rl_vote vote = {.code = REDLOCK_VOTE_NO,
	                       .told = RL_TOLD(WAITING) | RL_TOLD(PTTL) | RL_TOLD(PLACE) | RL_TOLD(VALUE),
	                       .waiting = 1,
	                       .pttl_ms = pttl_ms,
	                       .place = 1,
	                       .value = {value, strlen(value)}};
	drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
	                                .reply.seq = d->lock.round.seq,
	                                .node = node,
	                                .reply.operation = RL_OP_ENTER,
	                                .reply.vote = vote});
}

/* The client has waited at the gate for the holder of this value, and has the gate now. The text is
 * forgotten. */
static struct drive at_its_turn(struct rl_rules rules, const char *value)
{
	struct drive d = drive_idle(rules);
	d.hears = 7;
	drive_play(&d, rules.node_count > 2 ? "acquire; at 1; votes NNN; until 2"
	                                    : "acquire; at 1; votes NN; until 2");
	say_no(&d, 0, value, 1000);
	drive_play(&d, "wake 0; forget");
	drive_gate(&d, REDLOCK_VOTE_YES, 0, 0, 0);
	drive_play(&d, rules.node_count > 2 ? "votes .NN" : "votes .N");
	return d;
}

static struct drive behind_readers(unsigned nodes)
{
	struct drive d = at_its_turn(drive_waiting_rules(nodes, 10000), "");
	drive_play(&d, "until 3; forget");
	return d;
}

TEST(a_writer_with_the_gate_queues_where_readers_are)
{
	struct drive d = at_its_turn(drive_waiting_rules(3, 10000), "");
	drive_play(&d, "until 3; votes .Y; votes ..N; release");
	drive_expect(
	    &d, "[    2.000] acquiring: reply #3 node 0 YES -> acquiring Y..\n"
	        "[    2.000] acquiring: reply #3 node 1 NO, 2 NO -> acquiring YNN\n"
	        "[    3.000] acquiring: tick -> acquiring Y.. | send enter #3 again to 6 in line everywhere "
	        "ttl 30000.000\n"
	        "[    3.000] acquiring: reply #3 node 1 YES -> held YY. until 29700.000 | send leave #0 to 4 "
	        "quits | done acquire OK\n"
	        "[    3.000] held: reply #3 node 2 NO -> held YYN until 29700.000\n"
	        "[    3.000] held: release -> releasing ... | send leave #4 bars owed 7\n");
	assert_false(d.lock.queue.beside);
}

TEST(where_all_say_yes_nothing_is_left)
{
	struct drive d = behind_readers(2);
	drive_tells(&d, "votes .Y",
	            "[    3.000] acquiring: reply #3 node 1 YES -> held YY until 29700.000 | done acquire OK\n");
	assert_false(d.lock.queue.beside);
}

/* The places are given up with the gate: readers who wait there before it would have no turn. */
TEST(a_writer_that_fails_leaves_all_queues)
{
	struct drive d = behind_readers(3);
	drive_tells(&d, "at 202; votes .N; forget; votes ..N",
	            "[  202.000] acquiring: reply #3 node 2 NO -> paused YNN until 252.000 | send leave #0 quits "
	            "bars quietly owed 7\n");
	d = behind_readers(3);
	drive_tells(&d, "cancel",
	            "[    3.000] acquiring: cancel -> idle Y.. | send leave #0 quits bars owed 7 | done acquire "
	            "CANCELLED\n");
}

/* The writer asks again where the last of those readers is gone. */
TEST(a_message_from_beside_the_gate)
{
	struct drive d = behind_readers(3);
	drive_play(&d, "votes .NN; wake 1; votes .N; wake 2; wake 0");
	drive_expect(&d, "[    3.000] acquiring: reply #3 node 1 NO, 2 NO -> acquiring YNN\n"
	                 "[    3.000] acquiring: wake node 1 -> acquiring Y.. | send enter #3 again to 6 in line "
	                 "everywhere ttl 30000.000\n"
	                 "[    3.000] acquiring: reply #3 node 1 NO -> acquiring YN.\n"
	                 "[    3.000] acquiring: wake node 2 -> acquiring Y.. | send enter #3 again to 2 in line "
	                 "everywhere ttl 30000.000\n"
	                 "[    3.000] acquiring: wake node 0 -> acquiring Y.. | send leave #0 to 1 quits\n");
	drive_step(&d, (struct rl_event){
	                   .kind = RL_EV_WAKE, .node = 1, .message.call = (uint16_t)(d.lock.queue.call - 1)});
	assert_true(d.fx.send.operation == RL_OP_LEAVE && d.fx.queue.tidies);
}

/* Behind one who has it alone, or whose kind is not known, and where it would not be heard. */
TEST(others_are_asked_again_without_a_place)
{
	struct drive d = at_its_turn(drive_waiting_rules(3, 10000), "somebody");
	drive_play(&d, "until 3");
	assert_true(d.fx.send.again && !d.fx.queue.stands && !d.lock.queue.beside);
	d = at_its_turn(drive_waiting_rules(3, 10000), "");
	d.hears = 1;
	drive_play(&d, "until 3");
	assert_true(d.fx.send.again && !d.fx.queue.stands && !d.lock.queue.beside);
	d = drive_begin(drive_waiting_rules(3, 10000), "acquire; at 1; votes NNN; until 2");
	say_no(&d, 0, "", -1);
	assert_false(d.lock.queue.behind_readers);
}

/* ---- upgrade and downgrade ---- */

SCENARIO(up_and_down, drive_begin(renewed(), "acquire; votes YYY; forget"),
         "at 1000; upgrade; at 1001; votes YY; extend 30000; votes YY; downgrade; votes YY; release",
         "[ 1000.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[ 1001.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 30698.000 | done upgrade OK\n"
         "[ 1001.000] held: extend -> held ... until 30698.000 | send upgrade #3 ttl 30000.000\n"
         "[ 1001.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 30699.000 | done extend OK\n"
         "[ 1001.000] held: turn -> held ... until 30699.000 | send extend share #4 ttl 30000.000\n"
         "[ 1001.000] held: reply #4 node 0 YES, 1 YES -> held YY. until 30699.000 | done downgrade OK\n"
         "[ 1001.000] held: release -> releasing ... | send release share #5 owed 7\n")

SCENARIO(somebody_else_has_it_too, drive_begin(shared(0), "acquire; votes YYY; forget"),
         "at 1000; upgrade; at 1001; votes YNN; at 1002; votes YY",
         "[ 1000.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[ 1001.000] held: reply #2 node 0 YES, 1 NO, 2 NO -> held ... until 29698.000 | send extend share "
         "#3 ttl 30000.000 | done upgrade BUSY\n"
         "[ 1002.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 30699.000\n")

/* The node's answer to an upgrade is that our token is not in the key (-1), or that another one is, too (0).
 */
static void refuse(struct drive *d, unsigned node, int verdict)
{
	struct rl_vote vote = {.code = REDLOCK_VOTE_NO, .told = RL_TOLD(VERDICT), .verdict = verdict};
	drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
	                                .reply.seq = d->lock.round.seq,
	                                .node = node,
	                                .reply.operation = RL_OP_UPGRADE,
	                                .reply.vote = vote});
}

/* Fewer are no proof, and as many as may still say so are waited for. */
TEST(an_upgrade_of_what_a_quorum_has_lost)
{
	static const struct {
		int verdicts[3];
		const char *ends;
	} rows[] = {
	    {{-1, 1, -1},
	     "[    0.000] held: reply #2 node 0 NO, 1 YES, 2 NO -> lost NYN | lost | done upgrade LOST\n"},
	    {{-1, -1}, "[    0.000] held: reply #2 node 0 NO, 1 NO -> lost NN. | lost | done upgrade LOST\n"},
	    {{0, 0},
	     "[    0.000] held: reply #2 node 0 NO, 1 NO -> held ... until 29698.000 | send extend share #3 ttl "
	     "30000.000 | done upgrade BUSY\n"},
	    {{0, -1, -1},
	     "[    0.000] held: reply #2 node 0 NO, 1 NO, 2 NO -> lost NNN | lost | done upgrade LOST\n"},
	};
	for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
		struct drive d = drive_begin(shared(0), "acquire; votes YYY; forget; upgrade; forget");
		for (unsigned i = 0; i < 3 && d.lock.round.turn == RL_TURN_UP && d.lock.round.open; i++)
			if (rows[row].verdicts[i] == 1)
				drive_reply(&d, i, REDLOCK_VOTE_YES);
			else
				refuse(&d, i, rows[row].verdicts[i]);
		drive_expect(&d, rows[row].ends);
	}
}

/* The votes of the upgrade are kept from the renewal that undoes it, and from those after it. */
TEST(the_votes_of_a_failed_upgrade_are_kept)
{
	struct rl_ballot kept[REDLOCK_MAX_NODES];
	struct drive d = drive_begin(shared(0), "acquire; votes YYY; forget");
	d.lock.caller_votes = kept;
	drive_play(&d, "upgrade; votes YNN; votes DDD; until 300; votes YY");
	assert_true(d.lock.round.background && d.lock.round.seq > 3);
	assert_int_equal(kept[0].code, REDLOCK_VOTE_YES);
	assert_int_equal(kept[1].code, REDLOCK_VOTE_NO);
	assert_int_equal(kept[2].code, REDLOCK_VOTE_NO);
}

/* Nobody else may be there at all. */
SCENARIO(a_second_upgrade_of_what_a_quorum_has_lost, drive_begin(shared(0), "acquire; votes YYY; forget"),
         "upgrade; votes YY; upgrade; votes N.N",
         "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[    0.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 29698.000 | done upgrade OK\n"
         "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #3 ttl 30000.000\n"
         "[    0.000] held: reply #3 node 0 NO, 2 NO -> lost N.N | lost | done upgrade LOST\n")

/* The longer validity is of one who shares, and other nodes have promised it. */
SCENARIO(an_upgrade_asks_for_what_is_left, drive_begin(shared(0), "acquire; votes YYY; forget"),
         "extend 60000; votes YY; at 1000; upgrade; at 1001; votes .YY",
         "[    0.000] held: extend -> held ... until 29698.000 | send extend share #2 ttl 60000.000\n"
         "[    0.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 59398.000 | done extend OK\n"
         "[ 1000.000] held: turn -> held ... until 59398.000 | send upgrade #3 ttl 58990.000\n"
         "[ 1001.000] held: reply #3 node 1 YES, 2 YES -> held .YY until 59398.100 | done upgrade OK\n")

SCENARIO(an_upgrade_without_an_answer, drive_begin(shared(0), "acquire; votes YYY; forget"),
         "upgrade; until 300",
         "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[  200.000] held: tick -> held ... until 29698.000 | send extend share #3 ttl 30000.000 | done "
         "upgrade NOQUORUM\n")

SCENARIO(an_upgrade_is_cancelled, drive_begin(shared(0), "acquire; votes YYY; forget"),
         "upgrade; votes Y; cancel; extend 30000; cancel",
         "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[    0.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
         "[    0.000] held: cancel -> held ... until 29698.000 | send extend share #3 ttl 30000.000 | done "
         "upgrade CANCELLED\n"
         "[    0.000] held: extend -> held ... until 29698.000 | send extend share #4 ttl 30000.000\n"
         "[    0.000] held: cancel -> held ... until 29698.000 | done extend CANCELLED\n")

SCENARIO(an_upgrade_ends_with_the_lock, drive_begin(shared(0), "acquire; votes YYY; forget"),
         "at 29690; upgrade; until 29700; upgrade; release; votes NN; upgrade",
         "[29690.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[29698.000] held: tick -> lost ... | lost | done upgrade LOST\n"
         "[29700.000] lost: turn -> lost ... | error LOST\n"
         "[29700.000] lost: release -> releasing ... | send release share #3 owed 7\n"
         "[29700.000] releasing: reply #3 node 0 NO, 1 NO -> idle NN. | done release GONE\n"
         "[29700.000] idle: turn -> idle NN. | error STATE\n")

SCENARIO(caps, drive_begin(capped(), "acquire; votes YYY; forget"),
         "upgrade; votes YY; upgrade; downgrade; votes YY; upgrade; extend 30000",
         "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[    0.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 29698.000 | done upgrade OK\n"
         "[    0.000] held: turn -> held YY. until 29698.000 | error LIMIT\n"
         "[    0.000] held: turn -> held ... until 29698.000 | send extend share #3 ttl 1.000\n"
         "[    0.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 29698.000 | done downgrade OK\n"
         "[    0.000] held: turn -> held YY. until 29698.000 | error LIMIT\n"
         "[    0.000] held: extend -> held YY. until 29698.000 | error LIMIT\n")

/* ---- with numbers ---- */

static struct rl_rules fenced(void)
{
	struct rl_rules rules = shared(0);
	rules.policy = &rl_kinds[RL_KIND_SHARED_FENCED];
	return rules;
}

/* A shared lock has no number; a second upgrade keeps it, and one after a shared time gets another one. */
SCENARIO(
    an_upgrade_has_a_number, drive_begin(fenced(), "acquire; votes YYY; forget"),
    "upgrade; yes 7,7; upgrade; votes YY; extend 30000; votes YY; downgrade; votes YY; upgrade; yes 9,9",
    "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
    "[    0.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 29698.000 number 7 | done upgrade OK\n"
    "[    0.000] held: turn -> held ... until 29698.000 number 7 | send upgrade #3 ttl 30000.000\n"
    "[    0.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 29698.000 number 7 | done upgrade OK\n"
    "[    0.000] held: extend -> held ... until 29698.000 number 7 | send upgrade #4 ttl 30000.000\n"
    "[    0.000] held: reply #4 node 0 YES, 1 YES -> held YY. until 29698.000 number 7 | done extend OK\n"
    "[    0.000] held: turn -> held ... until 29698.000 | send extend share #5 ttl 30000.000\n"
    "[    0.000] held: reply #5 node 0 YES, 1 YES -> held YY. until 29698.000 | done downgrade OK\n"
    "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #6 ttl 30000.000\n"
    "[    0.000] held: reply #6 node 0 YES, 1 YES -> held YY. until 29698.000 number 9 | done upgrade OK\n")
SCENARIO(
    lower_counters_are_raised, drive_begin(fenced(), "acquire; votes YYY; forget"),
    "upgrade; at 10; yes 7,5; yes -,-,3; at 20; yes -,7; yes -,-,7",
    "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
    "[   10.000] held: reply #2 node 0 YES, 1 YES -> held Y.. until 29698.000 | send raise #2 again to 2 "
    "number 7\n"
    "[   10.000] held: reply #2 node 2 YES -> held Y.. until 29698.000 | send raise #2 again to 4 number 7\n"
    "[   20.000] held: reply #2 node 1 YES -> held YY. until 29698.000 number 7 | done upgrade OK\n"
    "[   20.000] held: reply #2 node 2 YES -> held YYY until 29698.000 number 7\n")
SCENARIO(an_upgrade_that_is_not_raised_is_undone, drive_begin(fenced(), "acquire; votes YYY; forget"),
         "upgrade; yes 7,5; until 300; votes YY; upgrade; yes 5,7; votes ..N; votes N; votes YY",
         "[    0.000] held: turn -> held ... until 29698.000 | send upgrade #2 ttl 30000.000\n"
         "[    0.000] held: reply #2 node 0 YES, 1 YES -> held Y.. until 29698.000 | send raise #2 again to "
         "2 number 7\n"
         "[  200.000] held: tick -> held ... until 29698.000 | send extend share #3 ttl 30000.000 | done "
         "upgrade NOQUORUM\n"
         "[  300.000] held: reply #3 node 0 YES, 1 YES -> held YY. until 29898.000\n"
         "[  300.000] held: turn -> held ... until 29898.000 | send upgrade #4 ttl 30000.000\n"
         "[  300.000] held: reply #4 node 0 YES, 1 YES -> held .Y. until 29898.000 | send raise #4 again to "
         "1 number 7\n"
         "[  300.000] held: reply #4 node 2 NO, 0 NO -> held ... until 29898.000 | send extend share #5 ttl "
         "30000.000 | done upgrade BUSY\n"
         "[  300.000] held: reply #5 node 0 YES, 1 YES -> held YY. until 29998.000\n")

SCENARIO(a_token_suffices, drive_idle(own()), "extend 30000; votes YY; upgrade; release; votes YY",
         "[    0.000] idle: extend -> idle ... | send extend share #1 ttl 30000.000\n"
         "[    0.000] idle: reply #1 node 0 YES, 1 YES -> held YY. until 29698.000 | done extend OK\n"
         "[    0.000] held: turn -> held YY. until 29698.000 | error STATE\n"
         "[    0.000] held: release -> releasing ... | send release share #2 owed 7\n"
         "[    0.000] releasing: reply #2 node 0 YES, 1 YES -> idle YY. | done release OK\n")

TESTS()
