/* SPDX-License-Identifier: MIT */
/* Release and query, numbers of nodes, and sequence numbers. */
#include "drive.h"

TEST(released)
{
	struct drive d = drive_begin_held(drive_rules(5), "at 50; release");
	assert_int_equal(d.fx.send.nodes, 0x1f);
	assert_true(rl_lock_valid_until(&d.lock, d.now_ns) == 0); /* from now on */
	drive_votes(&d, "NYYY");
	drive_reply(&d, 4, REDLOCK_VOTE_NO);
	drive_expect(
	    &d, "[   50.000] held: release -> releasing ..... | send release #2 owed 1f\n"
	        "[   50.000] releasing: reply #2 node 0 NO, 1 YES, 2 YES, 3 YES -> idle NYYY. | done release OK\n"
	        "[   50.000] idle: reply #2 node 4 NO -> idle NYYYN\n");
}

SCENARIO(already_gone, drive_held(drive_rules(3)), "release; votes NN",
         "[    0.000] held: release -> releasing ... | send release #2 owed 7\n"
         "[    0.000] releasing: reply #2 node 0 NO, 1 NO -> idle NN. | done release GONE\n")

TEST(release_without_a_quorum)
{
	struct drive d = drive_begin_held(drive_rules(3), "release; votes YD");
	drive_ticks_until(&d, 1000); /* one node timeout at most */
	drive_expect(&d, "[    0.000] held: release -> releasing ... | send release #2 owed 7\n"
	                 "[    0.000] releasing: reply #2 node 0 YES, 1 DOWN -> releasing Y-.\n"
	                 "[  200.000] releasing: tick -> idle Y-T | done release NOQUORUM\n");
}

/* Neither a quorum that had it nor one that had not: those that are silent would decide. */
SCENARIO(not_known_to_be_released, drive_held(drive_rules(5)), "release; votes YYND; until 1000",
         "[    0.000] held: release -> releasing ..... | send release #2 owed 1f\n"
         "[    0.000] releasing: reply #2 node 0 YES, 1 YES, 2 NO, 3 DOWN -> releasing YYN-.\n"
         "[  200.000] releasing: tick -> idle YYN-T | done release NOQUORUM\n")

/* A release cannot be cancelled: it ends within one node timeout by itself. */
SCENARIO(release_is_not_cancelled, drive_held(drive_rules(3)),
         "release; cancel; acquire; extend 30000; query; release; votes YY; release",
         "[    0.000] held: release -> releasing ... | send release #2 owed 7\n"
         "[    0.000] releasing: cancel -> releasing ...\n"
         "[    0.000] releasing: acquire -> releasing ... | error STATE\n"
         "[    0.000] releasing: extend -> releasing ... | error STATE\n"
         "[    0.000] releasing: query -> releasing ... | error STATE\n"
         "[    0.000] releasing: release -> releasing ... | error STATE\n"
         "[    0.000] releasing: reply #2 node 0 YES, 1 YES -> idle YY. | done release OK\n"
         "[    0.000] idle: release -> idle YY. | error STATE\n")

SCENARIO(release_while_lost, drive_held(drive_rules(3)), "until 29698; acquire; release; votes NN; acquire",
         "[29698.000] held: tick -> lost YY. | lost\n"
         "[29698.000] lost: acquire -> lost YY. | error STATE\n"
         "[29698.000] lost: release -> releasing ... | send release #2 owed 7\n"
         "[29698.000] releasing: reply #2 node 0 NO, 1 NO -> idle NN. | done release GONE\n"
         "[29698.000] idle: acquire -> acquiring ... | send acquire #3 ttl 30000.000\n")

/* A release names the nodes where the key may be. */
TEST(release_owed)
{
	struct drive d = drive_begin(drive_rules(5), "acquire; votes YNYY.; release");
	assert_int_equal(d.fx.send.owed, 0x1d);
	assert_int_equal(d.fx.send.nodes, 0x1f);
}

TEST(attached_release)
{
	struct rl_rules rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	struct drive d = drive_begin(rules, "release; votes YY");
	drive_release(&d); /* again: nobody knows better than the nodes */
	drive_votes(&d, "NN");
	drive_expect(&d, "[    0.000] idle: release -> releasing ... | send leave #1 owed 7\n"
	                 "[    0.000] releasing: reply #1 node 0 YES, 1 YES -> idle YY. | done release OK\n"
	                 "[    0.000] idle: release -> releasing ... | send leave #2 owed 7\n"
	                 "[    0.000] releasing: reply #2 node 0 NO, 1 NO -> idle NN. | done release GONE\n");
}

/* ---- query ---- */

/* With a token of its own it is decided as soon as it is known. */
TEST(query_by_token)
{
	struct rl_rules rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	struct drive d = drive_idle(rules);
	drive_tells(&d, "query; votes YY; query; votes NN; query; votes YND",
	            "[    0.000] idle: query -> idle ... | send query #1\n"
	            "[    0.000] idle: reply #1 node 0 YES, 1 YES -> idle YY. | done query OK\n"
	            "[    0.000] idle: query -> idle ... | send query #2\n"
	            "[    0.000] idle: reply #2 node 0 NO, 1 NO -> idle NN. | done query GONE\n"
	            "[    0.000] idle: query -> idle ... | send query #3\n"
	            "[    0.000] idle: reply #3 node 0 YES, 1 NO, 2 DOWN -> idle YN- | done query NOQUORUM\n");
}

/* Without, every node is waited for: the caller wants to see them all. */
TEST(query_all)
{
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_init(&d, &rules);
	drive_play(&d, "query; votes NN; until 1000");
	drive_hold(&d, &rules);
	drive_tells(
	    &d, "query; votes YYN; query; at 3; cancel",
	    "[    0.000] held: query -> held ... until 29698.000 | send query #2\n"
	    "[    0.000] held: reply #2 node 0 YES, 1 YES, 2 NO -> held YYN until 29698.000 | done query OK\n"
	    "[    0.000] held: query -> held ... until 29698.000 | send query #3\n"
	    "[    3.000] held: cancel -> held ... until 29698.000 | done query CANCELLED\n");
}

/* Two of five have it, one has not, two are silent: they may be the missing ones. */
TEST(query_says_gone_only_when_it_is)
{
	struct drive d = drive_begin_held(drive_rules(5), "query; votes YYN; until 200");
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_QUERY);
	assert_int_equal(d.fx.done.result, REDLOCK_E_NOQUORUM);
}

/* Every node is asked, with a token of its own; so nothing may be held, and no value is the caller's. */
TEST(probe)
{
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_init(&d, &rules);
	d.lock.claim.refused = 1;
	drive_probe(&d);
	assert_true(d.fx.send.sign && d.fx.send.ttl_ns == rules.ttl_ns && d.lock.claim.refused == 0);
	drive_votes(&d, "YYD");
	drive_expect(&d, "[    0.000] idle: query -> idle ... | send probe #1\n"
	                 "[    0.000] idle: reply #1 node 0 YES, 1 YES, 2 DOWN -> idle YY- | done probe OK\n");
	drive_play(&d, "acquire; votes YY");
	drive_probe(&d);
	assert_int_equal(d.error, REDLOCK_E_STATE);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	drive_init(&d, &rules);
	drive_probe(&d);
	assert_int_equal(d.error, REDLOCK_E_STATE);
}

/* A late refusal of an earlier attempt is none of the probe's token: no node is a duplicate. */
TEST(probe_after_a_late_refusal)
{
	struct drive d = drive_idle(drive_rules(3));
	d.anonymous = true;
	drive_play(&d, "acquire; cancel");
	uint32_t attempt = d.lock.round.seq;
	drive_probe(&d);
	drive_reply_to(&d, attempt, 0, REDLOCK_VOTE_NO);
	drive_reply(&d, 0, REDLOCK_VOTE_YES);
	assert_false(d.fx.twin);
}

/* ---- numbers of nodes ---- */

SCENARIO(one_node, drive_idle(drive_rules(1)),
         "acquire; votes Y; release; votes Y; acquire; votes N; keys 0; acquire; votes D",
         "[    0.000] idle: acquire -> acquiring . | send acquire #1 ttl 30000.000\n"
         "[    0.000] acquiring: reply #1 node 0 YES -> held Y until 29698.000 | done acquire OK\n"
         "[    0.000] held: release -> releasing . | send release #2 owed 1\n"
         "[    0.000] releasing: reply #2 node 0 YES -> idle Y | done release OK\n"
         "[    0.000] idle: acquire -> acquiring . | send acquire #3 ttl 30000.000\n"
         "[    0.000] acquiring: reply #3 node 0 NO -> looking N | send query #4\n"
         "[    0.000] looking: reply #4 node 0 NO -> idle N keys 0 | send release #0 owed 0 | done "
         "acquire BUSY\n"
         "[    0.000] idle: acquire -> acquiring . | send acquire #5 ttl 30000.000\n"
         "[    0.000] acquiring: reply #5 node 0 DOWN -> idle - | send release #0 owed 0 | done acquire "
         "NOQUORUM\n")

/* Four nodes need three: two each are a split, on both sides. */
SCENARIO(even_number, drive_idle(drive_rules(4)),
         "acquire; votes YYNN; cancel; acquire; votes NNYY; cancel; acquire; votes YYNY",
         "[    0.000] idle: acquire -> acquiring .... | send acquire #1 ttl 30000.000\n"
         "[    0.000] acquiring: reply #1 node 0 YES, 1 YES, 2 NO, 3 NO -> looking YYNN | send query #2\n"
         "[    0.000] looking: cancel -> idle YYNN | send release #0 owed 3 | done acquire CANCELLED\n"
         "[    0.000] idle: acquire -> acquiring .... | send acquire #3 ttl 30000.000\n"
         "[    0.000] acquiring: reply #3 node 0 NO, 1 NO, 2 YES -> looking NNY. | send query #4\n"
         "[    0.000] looking: reply #3 node 3 YES -> looking NNYY\n"
         "[    0.000] looking: cancel -> idle NNYY | send release #0 owed c | done acquire CANCELLED\n"
         "[    0.000] idle: acquire -> acquiring .... | send acquire #5 ttl 30000.000\n"
         "[    0.000] acquiring: reply #5 node 0 YES, 1 YES, 2 NO, 3 YES -> held YYNY until 29698.000 | "
         "done acquire OK\n")

TEST(most_nodes)
{
	struct drive d = drive_idle(drive_rules(31));
	drive_acquire(&d);
	assert_int_equal(d.fx.send.nodes, 0x7fffffff);
	drive_play(&d, "votes NNNNNNNNNNNNNNN................; forget");
	for (unsigned node = 15; node < 30; node++)
		drive_reply(&d, node, REDLOCK_VOTE_YES);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_forget(&d);
	drive_reply(&d, 30, REDLOCK_VOTE_YES);
	drive_release(&d);
	drive_expect(&d, "[    0.000] acquiring: reply #1 node 30 YES -> held NNNNNNNNNNNNNNNYYYYYYYYYYYYYYYY "
	                 "until 29698.000 | done acquire OK\n"
	                 "[    0.000] held: release -> releasing ............................... | send release "
	                 "#2 owed 7fff8000\n");
}

/* A quorum may be raised up to all nodes. */
TEST(raised_quorum)
{
	struct rl_rules rules = drive_rules(3);
	rules.quorum = 3;
	struct drive d = drive_begin(rules, "acquire; votes YY");
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_votes(&d, "..Y");
	assert_int_equal(d.lock.phase, RL_HELD);
	drive_play(&d, "release; votes YYD");
	assert_int_equal(d.fx.done.result, REDLOCK_E_NOQUORUM);
	drive_play(&d, "acquire; votes YYN; keys 000");
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
}

/* ---- sequence numbers ---- */

/* An answer to an older operation is not a vote of this one. */
TEST(old_answers_are_ignored)
{
	struct drive d = drive_idle(drive_rules(3));
	drive_reply_to(&d, 0, 1, REDLOCK_VOTE_YES); /* nothing was asked yet */
	drive_play(&d, "acquire; cancel; acquire");
	drive_reply_to(&d, 1, 2, REDLOCK_VOTE_YES);
	drive_reply_to(&d, 1, 1, REDLOCK_VOTE_YES);
	drive_votes(&d, "Y");
	drive_reply_to(&d, 1, 1, REDLOCK_VOTE_YES);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_reply_to(&d, 3, 1, REDLOCK_VOTE_YES); /* nor to one that was never begun */
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
}

/* 0 means "nobody waits": it is left out when the number wraps. */
TEST(sequence_wraps)
{
	struct drive d = drive_idle(drive_rules(1));
	d.lock.last_seq = UINT32_MAX - 1;
	drive_tells(
	    &d, "acquire; votes Y; release; votes Y",
	    "[    0.000] idle: acquire -> acquiring . | send acquire #4294967295 ttl 30000.000\n"
	    "[    0.000] acquiring: reply #4294967295 node 0 YES -> held Y until 29698.000 | done acquire OK\n"
	    "[    0.000] held: release -> releasing . | send release #1 owed 1\n"
	    "[    0.000] releasing: reply #1 node 0 YES -> idle Y | done release OK\n");
}

/* The caller learns of the grant too late: the acquire fails, and each node is asked to release. */
TEST(late_for_a_grant)
{
	static const struct rl_event late = {.kind = RL_EV_LATE};
	struct drive d = drive_held(drive_rules(1));
	drive_step(&d, late); /* still valid */
	assert_int_equal(d.error, REDLOCK_E_STATE);
	d = drive_begin_held(drive_rules(3), "at 29698; forget");
	drive_step(&d, late);
	drive_expect(&d, "[29698.000] held: late -> idle ... | send release #2 owed 7 | done acquire LOST\n");
}

/* An unknown event changes nothing. */
TEST(unknown_events)
{
	struct drive d = drive_held(drive_rules(1));
	struct rl_lock before = d.lock;
	before.rules = d.lock.rules = &d.rules;
	before.votes = d.lock.votes = d.votes;
	before.findings = d.lock.findings = d.findings;
	struct rl_event event = {.kind = (enum rl_event_kind)(RL_EV_SHORTER + 1)};
	assert_int_equal(rl_lock_step(&d.lock, &event, &d.fx), 0);
	assert_memory_equal(&before, &d.lock, sizeof before);
}

TESTS()
