/* SPDX-License-Identifier: MIT */
/* Release and query, numbers of nodes, and sequence numbers. */
#include "drive.h"

static void released(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	drive_hold(&d, &rules);
	drive_at(&d, 50);
	drive_release(&d);
	assert_int_equal(d.fx.nodes, 0x1f);
	assert_true(rl_lock_valid_until(&d.lock, d.now_ns) == 0); /* from now on */
	drive_votes(&d, "NYYY");
	drive_reply(&d, 4, REDLOCK_VOTE_NO);
	drive_expect(&d, "[   50.000] held: release -> releasing ..... | send release #2 owed 1f\n"
	                 "[   50.000] releasing: reply #2 node 0 NO -> releasing N....\n"
	                 "[   50.000] releasing: reply #2 node 1 YES -> releasing NY...\n"
	                 "[   50.000] releasing: reply #2 node 2 YES -> releasing NYY..\n"
	                 "[   50.000] releasing: reply #2 node 3 YES -> idle NYYY. | done release OK\n"
	                 "[   50.000] idle: reply #2 node 4 NO -> idle NYYYN\n");
}

static void already_gone(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_release(&d);
	drive_votes(&d, "NN");
	drive_expect(&d, "[    0.000] held: release -> releasing ... | send release #2 owed 7\n"
	                 "[    0.000] releasing: reply #2 node 0 NO -> releasing N..\n"
	                 "[    0.000] releasing: reply #2 node 1 NO -> idle NN. | done release GONE\n");
}

static void release_without_a_quorum(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_release(&d);
	drive_votes(&d, "YD");
	drive_ticks_until(&d, 1000); /* one node timeout at most */
	drive_expect(&d, "[    0.000] held: release -> releasing ... | send release #2 owed 7\n"
	                 "[    0.000] releasing: reply #2 node 0 YES -> releasing Y..\n"
	                 "[    0.000] releasing: reply #2 node 1 DOWN -> releasing Y-.\n"
	                 "[  200.000] releasing: tick -> idle Y-T | done release NOQUORUM\n");
}

/* Neither a quorum that had it nor one that had not: those that are silent would decide. */
static void not_known_to_be_released(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	drive_hold(&d, &rules);
	drive_release(&d);
	drive_votes(&d, "YYND");
	drive_ticks_until(&d, 1000);
	drive_expect(&d, "[    0.000] held: release -> releasing ..... | send release #2 owed 1f\n"
	                 "[    0.000] releasing: reply #2 node 0 YES -> releasing Y....\n"
	                 "[    0.000] releasing: reply #2 node 1 YES -> releasing YY...\n"
	                 "[    0.000] releasing: reply #2 node 2 NO -> releasing YYN..\n"
	                 "[    0.000] releasing: reply #2 node 3 DOWN -> releasing YYN-.\n"
	                 "[  200.000] releasing: tick -> idle YYN-T | done release NOQUORUM\n");
}

/* A release cannot be cancelled: it ends within one node timeout by itself. */
static void release_is_not_cancelled(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_release(&d);
	drive_cancel(&d);
	drive_acquire(&d);
	drive_extend(&d, 30000);
	drive_query(&d);
	drive_release(&d);
	drive_votes(&d, "YY");
	drive_release(&d);
	drive_expect(&d, "[    0.000] held: release -> releasing ... | send release #2 owed 7\n"
	                 "[    0.000] releasing: cancel -> releasing ...\n"
	                 "[    0.000] releasing: acquire -> releasing ... | error STATE\n"
	                 "[    0.000] releasing: extend -> releasing ... | error STATE\n"
	                 "[    0.000] releasing: query -> releasing ... | error STATE\n"
	                 "[    0.000] releasing: release -> releasing ... | error STATE\n"
	                 "[    0.000] releasing: reply #2 node 0 YES -> releasing Y..\n"
	                 "[    0.000] releasing: reply #2 node 1 YES -> idle YY. | done release OK\n"
	                 "[    0.000] idle: release -> idle YY. | error STATE\n");
}

static void release_while_lost(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_hold(&d, &rules);
	drive_ticks_until(&d, 29698);
	drive_acquire(&d);
	drive_release(&d);
	drive_votes(&d, "NN");
	drive_acquire(&d);
	drive_expect(&d, "[29698.000] held: tick -> lost YY. | lost\n"
	                 "[29698.000] lost: acquire -> lost YY. | error STATE\n"
	                 "[29698.000] lost: release -> releasing ... | send release #2 owed 7\n"
	                 "[29698.000] releasing: reply #2 node 0 NO -> releasing N..\n"
	                 "[29698.000] releasing: reply #2 node 1 NO -> idle NN. | done release GONE\n"
	                 "[29698.000] idle: acquire -> acquiring ... | send acquire #3 ttl 30000.000\n");
}

/* A release names the nodes where the key may be. */
static void release_owed(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	drive_init(&d, &rules);
	drive_acquire(&d);
	drive_votes(&d, "YNYY.");
	drive_release(&d);
	assert_int_equal(d.fx.owed, 0x1d);
	assert_int_equal(d.fx.nodes, 0x1f);
}

static void attached_release(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.kind = RL_KIND_OWN_VALUE;
	drive_init(&d, &rules);
	drive_release(&d);
	drive_votes(&d, "YY");
	drive_release(&d); /* again: nobody knows better than the nodes */
	drive_votes(&d, "NN");
	drive_expect(&d, "[    0.000] idle: release -> releasing ... | send release #1 owed 7\n"
	                 "[    0.000] releasing: reply #1 node 0 YES -> releasing Y..\n"
	                 "[    0.000] releasing: reply #1 node 1 YES -> idle YY. | done release OK\n"
	                 "[    0.000] idle: release -> releasing ... | send release #2 owed 7\n"
	                 "[    0.000] releasing: reply #2 node 0 NO -> releasing N..\n"
	                 "[    0.000] releasing: reply #2 node 1 NO -> idle NN. | done release GONE\n");
}

/* ---- query ---- */

/* With a token of its own it is decided as soon as it is known. */
static void query_by_token(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.kind = RL_KIND_OWN_VALUE;
	drive_init(&d, &rules);
	drive_query(&d);
	drive_votes(&d, "YY");
	drive_query(&d);
	drive_votes(&d, "NN");
	drive_query(&d);
	drive_votes(&d, "YND");
	drive_expect(&d, "[    0.000] idle: query -> idle ... | send query #1\n"
	                 "[    0.000] idle: reply #1 node 0 YES -> idle Y..\n"
	                 "[    0.000] idle: reply #1 node 1 YES -> idle YY. | done query OK\n"
	                 "[    0.000] idle: query -> idle ... | send query #2\n"
	                 "[    0.000] idle: reply #2 node 0 NO -> idle N..\n"
	                 "[    0.000] idle: reply #2 node 1 NO -> idle NN. | done query GONE\n"
	                 "[    0.000] idle: query -> idle ... | send query #3\n"
	                 "[    0.000] idle: reply #3 node 0 YES -> idle Y..\n"
	                 "[    0.000] idle: reply #3 node 1 NO -> idle YN.\n"
	                 "[    0.000] idle: reply #3 node 2 DOWN -> idle YN- | done query NOQUORUM\n");
}

/* Without, every node is waited for: the caller wants to see them all. */
static void query_all(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_init(&d, &rules);
	drive_query(&d);
	drive_votes(&d, "NN");
	drive_ticks_until(&d, 1000);
	drive_hold(&d, &rules);
	drive_query(&d);
	drive_votes(&d, "YYN");
	drive_query(&d);
	drive_at(&d, 3);
	drive_cancel(&d);
	drive_expect(&d, "[    0.000] held: query -> held ... until 29698.000 | send query #2\n"
	                 "[    0.000] held: reply #2 node 0 YES -> held Y.. until 29698.000\n"
	                 "[    0.000] held: reply #2 node 1 YES -> held YY. until 29698.000\n"
	                 "[    0.000] held: reply #2 node 2 NO -> held YYN until 29698.000 | done query OK\n"
	                 "[    0.000] held: query -> held ... until 29698.000 | send query #3\n"
	                 "[    3.000] held: cancel -> held ... until 29698.000 | done query CANCELLED\n");
}

/* Two of five have it, one has not, two are silent: they may be the missing ones. */
static void query_says_gone_only_when_it_is(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(5);
	drive_hold(&d, &rules);
	drive_query(&d);
	drive_votes(&d, "YYN");
	drive_ticks_until(&d, 200);
	assert_int_equal(d.fx.done, REDLOCK_OP_QUERY);
	assert_int_equal(d.fx.result, REDLOCK_E_NOQUORUM);
}

/* Every node is asked, with a token of its own; so nothing may be held, and no value is the caller's. */
static void probe(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_init(&d, &rules);
	d.lock.refused = 1;
	drive_probe(&d);
	assert_true(d.fx.sign && d.fx.ttl_ns == rules.ttl_ns && d.lock.refused == 0);
	drive_votes(&d, "YYD");
	drive_expect(&d, "[    0.000] idle: query -> idle ... | send probe #1\n"
	                 "[    0.000] idle: reply #1 node 0 YES -> idle Y..\n"
	                 "[    0.000] idle: reply #1 node 1 YES -> idle YY.\n"
	                 "[    0.000] idle: reply #1 node 2 DOWN -> idle YY- | done probe OK\n");
	drive_acquire(&d);
	drive_votes(&d, "YY");
	drive_probe(&d);
	assert_int_equal(d.error, REDLOCK_E_STATE);
	rules.kind = RL_KIND_OWN_VALUE;
	drive_init(&d, &rules);
	drive_probe(&d);
	assert_int_equal(d.error, REDLOCK_E_STATE);
}

/* ---- numbers of nodes ---- */

static void one_node(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	drive_init(&d, &rules);
	drive_acquire(&d);
	drive_votes(&d, "Y");
	drive_release(&d);
	drive_votes(&d, "Y");
	drive_acquire(&d);
	drive_votes(&d, "N");
	drive_keys(&d, "0");
	drive_acquire(&d);
	drive_votes(&d, "D");
	drive_expect(
	    &d, "[    0.000] idle: acquire -> acquiring . | send acquire #1 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #1 node 0 YES -> held Y until 29698.000 | done acquire OK\n"
	        "[    0.000] held: release -> releasing . | send release #2 owed 1\n"
	        "[    0.000] releasing: reply #2 node 0 YES -> idle Y | done release OK\n"
	        "[    0.000] idle: acquire -> acquiring . | send acquire #3 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #3 node 0 NO -> looking N | send query #4\n"
	        "[    0.000] looking: reply #4 node 0 NO -> idle N keys 0 | send release #0 owed 0 | done "
	        "acquire BUSY\n"
	        "[    0.000] idle: acquire -> acquiring . | send acquire #5 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #5 node 0 DOWN -> idle - | send release #0 owed 0 | done acquire "
	        "NOQUORUM\n");
}

/* Four nodes need three: two each are a split, on both sides. */
static void even_number(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(4);
	drive_init(&d, &rules);
	drive_acquire(&d);
	drive_votes(&d, "YYNN");
	drive_cancel(&d);
	drive_acquire(&d);
	drive_votes(&d, "NNYY");
	drive_cancel(&d);
	drive_acquire(&d);
	drive_votes(&d, "YYNY");
	drive_expect(
	    &d, "[    0.000] idle: acquire -> acquiring .... | send acquire #1 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #1 node 0 YES -> acquiring Y...\n"
	        "[    0.000] acquiring: reply #1 node 1 YES -> acquiring YY..\n"
	        "[    0.000] acquiring: reply #1 node 2 NO -> acquiring YYN.\n"
	        "[    0.000] acquiring: reply #1 node 3 NO -> looking YYNN | send query #2\n"
	        "[    0.000] looking: cancel -> idle YYNN | send release #0 owed 3 | done acquire CANCELLED\n"
	        "[    0.000] idle: acquire -> acquiring .... | send acquire #3 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #3 node 0 NO -> acquiring N...\n"
	        "[    0.000] acquiring: reply #3 node 1 NO -> acquiring NN..\n"
	        "[    0.000] acquiring: reply #3 node 2 YES -> looking NNY. | send query #4\n"
	        "[    0.000] looking: reply #3 node 3 YES -> looking NNYY\n"
	        "[    0.000] looking: cancel -> idle NNYY | send release #0 owed c | done acquire CANCELLED\n"
	        "[    0.000] idle: acquire -> acquiring .... | send acquire #5 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #5 node 0 YES -> acquiring Y...\n"
	        "[    0.000] acquiring: reply #5 node 1 YES -> acquiring YY..\n"
	        "[    0.000] acquiring: reply #5 node 2 NO -> acquiring YYN.\n"
	        "[    0.000] acquiring: reply #5 node 3 YES -> held YYNY until 29698.000 | done acquire OK\n");
}

static void most_nodes(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(31);
	drive_init(&d, &rules);
	drive_acquire(&d);
	assert_int_equal(d.fx.nodes, 0x7fffffff);
	drive_votes(&d, "NNNNNNNNNNNNNNN................");
	drive_forget(&d);
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
static void raised_quorum(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	rules.quorum = 3;
	drive_init(&d, &rules);
	drive_acquire(&d);
	drive_votes(&d, "YY");
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_votes(&d, "..Y");
	assert_int_equal(d.lock.phase, RL_HELD);
	drive_release(&d);
	drive_votes(&d, "YYD");
	assert_int_equal(d.fx.result, REDLOCK_E_NOQUORUM);
	drive_acquire(&d);
	drive_votes(&d, "YYN");
	drive_keys(&d, "000");
	assert_int_equal(d.fx.result, REDLOCK_E_BUSY);
}

/* ---- sequence numbers ---- */

/* An answer to an older operation is not a vote of this one. */
static void old_answers_are_ignored(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(3);
	drive_init(&d, &rules);
	drive_reply_to(&d, 0, 1, REDLOCK_VOTE_YES); /* nothing was asked yet */
	drive_acquire(&d);
	drive_cancel(&d);
	drive_acquire(&d);
	drive_reply_to(&d, 1, 2, REDLOCK_VOTE_YES);
	drive_reply_to(&d, 1, 1, REDLOCK_VOTE_YES);
	drive_votes(&d, "Y");
	drive_reply_to(&d, 1, 1, REDLOCK_VOTE_YES);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	drive_reply_to(&d, 3, 1, REDLOCK_VOTE_YES); /* nor to one that was never begun */
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
}

/* 0 means "nobody waits": it is left out when the number wraps. */
static void sequence_wraps(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	drive_init(&d, &rules);
	d.lock.last_seq = UINT32_MAX - 1;
	drive_acquire(&d);
	drive_votes(&d, "Y");
	drive_release(&d);
	drive_votes(&d, "Y");
	drive_expect(
	    &d,
	    "[    0.000] idle: acquire -> acquiring . | send acquire #4294967295 ttl 30000.000\n"
	    "[    0.000] acquiring: reply #4294967295 node 0 YES -> held Y until 29698.000 | done acquire OK\n"
	    "[    0.000] held: release -> releasing . | send release #1 owed 1\n"
	    "[    0.000] releasing: reply #1 node 0 YES -> idle Y | done release OK\n");
}

/* What is no event changes nothing. */
static void unknown_events(void **state)
{
	(void)state;
	struct drive d;
	struct rl_rules rules = drive_rules(1);
	drive_hold(&d, &rules);
	struct rl_lock before = d.lock;
	struct rl_event event = {.kind = (enum rl_event_kind)(RL_EV_TICK + 1)};
	assert_int_equal(rl_lock_step(&d.lock, &event, &d.fx), 0);
	assert_memory_equal(&before, &d.lock, sizeof before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(released),
	    cmocka_unit_test(already_gone),
	    cmocka_unit_test(release_without_a_quorum),
	    cmocka_unit_test(not_known_to_be_released),
	    cmocka_unit_test(release_is_not_cancelled),
	    cmocka_unit_test(release_while_lost),
	    cmocka_unit_test(release_owed),
	    cmocka_unit_test(attached_release),
	    cmocka_unit_test(query_by_token),
	    cmocka_unit_test(query_all),
	    cmocka_unit_test(query_says_gone_only_when_it_is),
	    cmocka_unit_test(probe),
	    cmocka_unit_test(one_node),
	    cmocka_unit_test(even_number),
	    cmocka_unit_test(most_nodes),
	    cmocka_unit_test(raised_quorum),
	    cmocka_unit_test(old_answers_are_ignored),
	    cmocka_unit_test(sequence_wraps),
	    cmocka_unit_test(unknown_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
