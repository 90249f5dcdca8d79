/* SPDX-License-Identifier: MIT */
/* Acquiring: one attempt, its votes and its validity. Whole traces are quoted. */
#include "drive.h"

TEST(granted_at_a_quorum_with_two_silent_nodes)
{
	struct drive d = drive_begin(drive_rules(5), "acquire; at 1");
	drive_reply(&d, 4, REDLOCK_VOTE_YES);
	drive_reply(&d, 0, REDLOCK_VOTE_YES);
	drive_at(&d, 2);
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	drive_expect(
	    &d, "[    0.000] idle: acquire -> acquiring ..... | send acquire #1 ttl 30000.000\n"
	        "[    1.000] acquiring: reply #1 node 4 YES, 0 YES -> acquiring Y...Y\n"
	        "[    2.000] acquiring: reply #1 node 2 YES -> held Y.Y.Y until 29698.000 | done acquire OK\n");
	assert_true(rl_lock_valid_until(&d.lock, rl_time_ms(2)) == rl_time_ms(29698));
	assert_true(rl_lock_valid_until(&d.lock, rl_time_ms(29698) - 1) == rl_time_ms(29698));
	assert_true(rl_lock_valid_until(&d.lock, rl_time_ms(29698)) == 0);
	assert_false(rl_state_is_busy(&d.lock));
}

/* Votes after the decision are recorded with their round trip, and change nothing. */
TEST(late_votes_are_recorded)
{
	struct drive d = drive_begin(drive_rules(5), "acquire; votes YYY; at 7");
	drive_reply(&d, 3, REDLOCK_VOTE_NO);
	drive_at(&d, 300);
	drive_reply(&d, 4, REDLOCK_VOTE_YES);
	drive_reply(&d, 4, REDLOCK_VOTE_NO); /* a node has one vote */
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ..... | send acquire #1 ttl 30000.000\n"
	                 "[    0.000] acquiring: reply #1 node 0 YES, 1 YES, 2 YES -> held YYY.. until 29698.000 "
	                 "| done acquire OK\n"
	                 "[    7.000] held: reply #1 node 3 NO -> held YYYN. until 29698.000\n"
	                 "[  300.000] held: reply #1 node 4 YES, 4 NO -> held YYYNY until 29698.000\n");
	assert_true(d.lock.votes[3].rtt_ns == rl_time_ms(7));
	assert_true(d.lock.votes[4].rtt_ns == rl_time_ms(300));
	assert_int_equal(d.lock.claim.owed, 0x17); /* all but the node that said no */
}

/* A try without a wait: the nodes say who holds the lock. */
TEST(one_try)
{
	struct drive d = drive_idle(drive_rules(3));
	drive_tells(&d, "acquire; at 1; votes NYN; at 2; keys 0.0",
	            "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	            "[    1.000] acquiring: reply #1 node 0 NO, 1 YES, 2 NO -> looking NYN | send query #2\n"
	            "[    2.000] looking: reply #2 node 0 NO, 2 NO -> idle NYN keys 0?0 | send release #0 "
	            "owed 2 | done acquire BUSY\n");
	assert_true(drive_deadline_ms(&d) == UINT64_MAX);
	assert_false(rl_state_is_busy(&d.lock));
}

/* Two dead nodes and three that refuse are "busy", in whatever order they are heard. */
TEST(busy_in_every_order)
{
	static const enum redlock_vote_code votes[5] = {REDLOCK_VOTE_DOWN, REDLOCK_VOTE_DOWN, REDLOCK_VOTE_NO,
	                                                REDLOCK_VOTE_NO, REDLOCK_VOTE_NO};
	unsigned orders = 0;
	for (unsigned code = 0; code < 5 * 5 * 5 * 5 * 5; code++) {
		unsigned order[5];
		unsigned seen = 0;
		for (unsigned i = 0, rest = code; i < 5; i++, rest /= 5) {
			order[i] = rest % 5;
			seen |= 1u << order[i];
		}
		if (seen != 0x1f)
			continue;
		struct drive d = drive_idle(drive_rules(5));
		drive_acquire(&d);
		for (unsigned i = 0; i < 5 && rl_state_is_busy(&d.lock); i++)
			drive_reply(&d, order[i], votes[order[i]]);
		drive_keys(&d, "..000");
		assert_int_equal(d.fx.done.operation, REDLOCK_OP_ACQUIRE);
		assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
		orders++;
	}
	assert_int_equal(orders, 120);
}

/* Three of five down: decided with the third, whatever the others say. */
SCENARIO(no_quorum_without_waiting, drive_idle(drive_rules(5)), "acquire; votes DYDYC",
         "[    0.000] idle: acquire -> acquiring ..... | send acquire #1 ttl 30000.000\n"
         "[    0.000] acquiring: reply #1 node 0 DOWN, 1 YES, 2 DOWN, 3 YES, 4 CLOSED -> idle "
         "-Y-Y- | send release #0 owed 1a | done acquire NOQUORUM\n")

/* One node refuses, one is dead, one is silent: only the silent node can tell busy from no quorum. */
TEST(waits_for_the_vote_that_tells_them_apart)
{
	struct drive d = drive_begin(drive_rules(3), "acquire; votes ND.; at 150");
	drive_reply(&d, 2, REDLOCK_VOTE_NO);
	drive_keys(&d, "0.0");
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	                 "[    0.000] acquiring: reply #1 node 0 NO, 1 DOWN -> acquiring N-.\n"
	                 "[  150.000] acquiring: reply #1 node 2 NO -> looking N-N | send query #2\n"
	                 "[  150.000] looking: reply #2 node 0 NO, 2 NO -> idle N-N keys 0?0 | send release #0 "
	                 "owed 0 | done acquire BUSY\n");
	drive_tells(&d, "acquire; votes ND.; until 350",
	            "[  150.000] idle: acquire -> acquiring ... | send acquire #3 ttl 30000.000\n"
	            "[  150.000] acquiring: reply #3 node 0 NO, 1 DOWN -> acquiring N-.\n"
	            "[  350.000] acquiring: tick -> idle N-T | send release #0 owed 4 | done acquire NOQUORUM\n");
}

TEST(attempt_ends_at_the_node_timeout)
{
	struct drive d = drive_begin(drive_rules(3), "acquire; votes Y");
	d.now_ns = rl_time_ms(200) - 1;
	drive_tick(&d); /* not yet */
	drive_play(&d, "until 200; at 210");
	drive_reply(&d, 1, REDLOCK_VOTE_YES); /* too late for the attempt; its release is on the way */
	drive_expect(&d,
	             "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	             "[    0.000] acquiring: reply #1 node 0 YES -> acquiring Y..\n"
	             "[  199.999] acquiring: tick -> acquiring Y..\n"
	             "[  200.000] acquiring: tick -> idle YTT | send release #0 owed 7 | done acquire NOQUORUM\n"
	             "[  210.000] idle: reply #1 node 1 YES -> idle YYT\n");
}

/* Textbook: the TTL may be eaten by slow answers. 100 ms TTL, drift 3 ms. */
TEST(validity_eaten_by_slow_answers)
{
	struct rl_rules rules = drive_rules(3);
	rules.ttl_ns = rl_time_ms(100);
	struct drive d = drive_begin(rules, "acquire; at 50");
	drive_reply(&d, 0, REDLOCK_VOTE_YES);
	drive_at(&d, 97);
	drive_reply(&d, 1, REDLOCK_VOTE_YES);
	drive_expect(&d, "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 100.000\n"
	                 "[   50.000] acquiring: reply #1 node 0 YES -> acquiring Y..\n"
	                 "[   97.000] acquiring: reply #1 node 1 YES -> idle YY. | send release #0 owed 7 | done "
	                 "acquire BUSY\n");
}

TEST(min_validity_is_asked_for)
{
	struct rl_rules rules = drive_rules(1);
	rules.min_validity_ns = rl_time_ms(29600);
	struct drive d = drive_begin(rules, "acquire; at 98");
	drive_reply(&d, 0, REDLOCK_VOTE_YES); /* exactly 29600 left: not more */
	drive_play(&d, "at 1000; acquire");
	d.now_ns = rl_time_ms(1098) - 1;
	drive_reply(&d, 0, REDLOCK_VOTE_YES);
	drive_expect(
	    &d,
	    "[    0.000] idle: acquire -> acquiring . | send acquire #1 ttl 30000.000\n"
	    "[   98.000] acquiring: reply #1 node 0 YES -> idle Y | send release #0 owed 1 | done acquire BUSY\n"
	    "[ 1000.000] idle: acquire -> acquiring . | send acquire #2 ttl 30000.000\n"
	    "[ 1097.999] acquiring: reply #2 node 0 YES -> held Y until 30698.000 | done acquire OK\n");
}

TEST(random_tokens_are_given_back_everywhere)
{
	struct drive d = drive_idle(drive_rules(5));
	drive_acquire(&d);
	assert_int_equal(d.fx.send.nodes, 0x1f);
	drive_play(&d, "votes NYDN; cancel");
	assert_int_equal(d.fx.send.operation, REDLOCK_OP_RELEASE);
	assert_int_equal(d.fx.send.nodes, 0x1f);
	assert_int_equal(d.fx.send.owed, 0x12); /* the one that said yes and the silent one */
}

TEST(cancel_while_acquiring)
{
	struct drive d = drive_idle(drive_waiting_rules(3, REDLOCK_FOREVER));
	drive_play(&d, "acquire; votes YN; at 3; cancel");
	drive_cancel(&d); /* nothing runs any more */
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	drive_expect(
	    &d, "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	        "[    0.000] acquiring: reply #1 node 0 YES, 1 NO -> acquiring YN.\n"
	        "[    3.000] acquiring: cancel -> idle YN. | send release #0 owed 5 | done acquire CANCELLED\n"
	        "[    3.000] idle: cancel -> idle YN.\n"
	        "[    3.000] idle: reply #1 node 2 YES -> idle YNY\n");
	drive_acquire(&d); /* the handle can be used again */
	assert_int_equal(d.error, 0);
}

TEST(owed_is_where_the_key_may_be)
{
	static const struct {
		enum redlock_vote_code vote;
		bool owed;
	} cases[] = {
	    {REDLOCK_VOTE_YES, true},         {REDLOCK_VOTE_NO, false},        {REDLOCK_VOTE_UNSENT, false},
	    {REDLOCK_VOTE_DOWN, false},       {REDLOCK_VOTE_CLOSED, true},     {REDLOCK_VOTE_BACKLOG, false},
	    {REDLOCK_VOTE_LOADING, false},    {REDLOCK_VOTE_BLOCKED, false},   {REDLOCK_VOTE_OOM, false},
	    {REDLOCK_VOTE_MISCONF, false},    {REDLOCK_VOTE_REPLICAS, false},  {REDLOCK_VOTE_SERVER, false},
	    {REDLOCK_VOTE_GARBAGE, true},     {REDLOCK_VOTE_READONLY, false},  {REDLOCK_VOTE_CLUSTER, false},
	    {REDLOCK_VOTE_AUTH, false},       {REDLOCK_VOTE_NOPERM, false},    {REDLOCK_VOTE_COMMAND, false},
	    {REDLOCK_VOTE_DATABASE, false},   {REDLOCK_VOTE_NAME, false},      {REDLOCK_VOTE_TIMEOUT, true},
	    {REDLOCK_VOTE_DUPLICATE, true},   {REDLOCK_VOTE_TLS, false},       {REDLOCK_VOTE_STALE, false},
	    {REDLOCK_VOTE_QUARANTINE, false}, {REDLOCK_VOTE_FOREIGN, false},   {REDLOCK_VOTE_UNGUARDED, false},
	    {REDLOCK_VOTE_LONG_TTL, false},   {REDLOCK_VOTE_UNCOUNTED, false}, {REDLOCK_VOTE_CLOCK, true},
	    {REDLOCK_VOTE_SLOTS, false},      {REDLOCK_VOTE_SERVICE, false},   {REDLOCK_VOTE_UNCHECKED, false},
	    {REDLOCK_VOTE_MASTER, false},     {REDLOCK_VOTE_SHARD, false},     {REDLOCK_VOTE_UNREPLICATED, false},
	};
	assert_int_equal(COUNT(cases), REDLOCK_VOTE_COUNT - 1); /* PENDING is no vote */
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct drive d = drive_idle(drive_rules(5));
		drive_acquire(&d);
		drive_reply(&d, 3, cases[i].vote);
		for (unsigned node = 0; d.fx.send.operation == REDLOCK_OP_NONE && node < 3; node++)
			drive_reply(&d, node, REDLOCK_VOTE_NO);
		if (d.fx.send.operation == REDLOCK_OP_QUERY)
			drive_keys(&d, "000");
		assert_int_equal(d.fx.send.operation, REDLOCK_OP_RELEASE);
		assert_int_equal(d.fx.send.seq, 0);
		assert_int_equal((d.fx.send.owed >> 3 & 1) != 0, cases[i].owed);
		assert_int_equal(d.fx.send.owed >> 4 & 1, 1); /* the silent one */
	}
}

/* Nodes 0 and 1 are one server. It has one vote in whatever order the answers come, and a yes goes before a
 * no. The call ends with DUPLICATE where the servers are no quorum of the nodes. */
TEST(one_server_has_one_vote)
{
	static const unsigned char orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const struct {
		const char *votes;
		enum redlock_operation operation;
		int result;
	} cases[] = {
	    {"YNY", REDLOCK_OP_ACQUIRE, 0},
	    {"NYY", REDLOCK_OP_ACQUIRE, 0},
	    {"YYY", REDLOCK_OP_ACQUIRE, 0},
	    {"YND", REDLOCK_OP_ACQUIRE, REDLOCK_E_NOQUORUM},
	    {"YYD", REDLOCK_OP_ACQUIRE, REDLOCK_E_NOQUORUM},
	    {"NND", REDLOCK_OP_ACQUIRE, REDLOCK_E_NOQUORUM},
	    {"YN", REDLOCK_OP_ACQUIRE, REDLOCK_E_DUPLICATE},
	    {"YY", REDLOCK_OP_ACQUIRE, REDLOCK_E_DUPLICATE},
	    {"NN", REDLOCK_OP_ACQUIRE, REDLOCK_E_DUPLICATE},
	    {"YYY", REDLOCK_OP_EXTEND, 0},
	    {"YYD", REDLOCK_OP_EXTEND, REDLOCK_E_NOQUORUM},
	    {"NND", REDLOCK_OP_EXTEND, REDLOCK_E_NOQUORUM},
	    {"YY", REDLOCK_OP_EXTEND, REDLOCK_E_NOQUORUM},
	};
	for (unsigned i = 0; i < COUNT(cases) * COUNT(orders); i++) {
		const char *votes = cases[i / COUNT(orders)].votes;
		const unsigned char *order = orders[i % COUNT(orders)];
		struct rl_rules rules = drive_rules((unsigned)strlen(votes));
		bool extends = cases[i / COUNT(orders)].operation == REDLOCK_OP_EXTEND;
		struct drive d = extends ? drive_held(rules) : drive_begin(rules, "acquire");
		d.twins = 3;
		if (extends)
			drive_extend(&d, 30000);
		for (unsigned k = 0; k < 3 && d.fx.done.operation == REDLOCK_OP_NONE; k++)
			if (order[k] < strlen(votes))
				drive_reply(&d, order[k], drive_vote(votes[order[k]]));
		assert_int_equal(d.fx.done.operation, cases[i / COUNT(orders)].operation);
		assert_int_equal(d.fx.done.result, cases[i / COUNT(orders)].result);
	}
}

SCENARIO(state_errors, drive_idle(drive_waiting_rules(3, 1000)),
         "extend 1000; release; cancel; acquire; acquire; query; release; extend 1000; votes NN; acquire; "
         "query; release",
         "[    0.000] idle: extend -> idle | error STATE\n"
         "[    0.000] idle: release -> idle | error STATE\n"
         "[    0.000] idle: cancel -> idle\n"
         "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
         "[    0.000] acquiring: acquire -> acquiring ... | error STATE\n"
         "[    0.000] acquiring: query -> acquiring ... | error STATE\n"
         "[    0.000] acquiring: release -> acquiring ... | error STATE\n"
         "[    0.000] acquiring: extend -> acquiring ... | error STATE\n"
         "[    0.000] acquiring: reply #1 node 0 NO, 1 NO -> paused NN. until 0.000 | send "
         "release #0 owed 4\n"
         "[    0.000] paused: acquire -> paused NN. until 0.000 | error STATE\n"
         "[    0.000] paused: query -> paused NN. until 0.000 | error STATE\n"
         "[    0.000] paused: release -> paused NN. until 0.000 | error STATE\n")

static void vote_under(struct drive *d, unsigned node, enum redlock_vote_code code, uint8_t generation)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
	                                .reply.seq = d->lock.round.seq,
	                                .node = node,
	                                .reply.vote.code = code,
	                                .reply.generation = generation});
}

static void reply_under(struct drive *d, unsigned node, uint8_t generation)
{
	vote_under(d, node, REDLOCK_VOTE_YES, generation);
}

/* Members change meanwhile: quorums of two lists need not have a node in common. The key is owed. */
TEST(votes_under_two_configurations_of_a_node_set_do_not_add_up)
{
	struct drive d = drive_begin(drive_rules(3), "acquire; forget");
	reply_under(&d, 0, 1);
	reply_under(&d, 2, 2);
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	assert_int_equal(d.votes[2].code, REDLOCK_VOTE_TIMEOUT);
	assert_true((d.lock.claim.owed >> 2 & 1) != 0);
	reply_under(&d, 1, 1);
	assert_int_equal(d.lock.phase, RL_HELD);
	drive_play(&d, "at 1000; extend 30000; forget");
	reply_under(&d, 0, 2); /* each round by itself */
	reply_under(&d, 1, 3);
	assert_true(d.lock.round.open);
	reply_under(&d, 2, 2);
	assert_false(d.lock.round.open);
}

/* A key that was made where the clock is off has no vote, and decides for no configuration. */
TEST(a_vote_that_a_clock_has_undone_is_under_no_configuration)
{
	struct drive d = drive_begin(drive_rules(3), "acquire; forget");
	vote_under(&d, 0, REDLOCK_VOTE_CLOCK, 1);
	assert_int_equal(d.votes[0].code, REDLOCK_VOTE_CLOCK);
	reply_under(&d, 1, 2);
	reply_under(&d, 2, 2);
	assert_int_equal(d.lock.phase, RL_HELD);
}

TESTS()
