/* SPDX-License-Identifier: MIT */
/* Split votes: looks, who insists, who steps aside, and when it is over. Whole traces are quoted. */
#include "drive.h"

/* Tries with wait 0 at 0 ms, gets these votes at 10 ms and these keys at 20 ms. The text is forgotten. */
static struct drive split(struct rl_rules rules, const char *votes, const char *keys)
{
	struct drive d = drive_begin(rules, "acquire; at 10");
	drive_votes(&d, votes);
	drive_at(&d, 20);
	drive_keys(&d, keys);
	drive_forget(&d);
	return d;
}

/* The owner of the first node insists where it was refused, until it has a quorum. */
TEST(the_leader_insists)
{
	struct drive d = drive_idle(drive_rules(3));
	drive_play(&d, "acquire; at 10; votes YNN; at 20; keys *12; at 30; votes .NN; until 31; at 40");
	drive_tells(
	    &d, "keys *1_; at 50; votes ..Y",
	    "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
	    "[   10.000] acquiring: reply #1 node 0 YES, 1 NO, 2 NO -> looking YNN | send query #2\n"
	    "[   20.000] looking: reply #2 node 0 YES, 1 NO, 2 NO -> insisting Y.. keys *12 | send acquire "
	    "#1 again to 6 ttl 30000.000\n"
	    "[   30.000] insisting: reply #1 node 1 NO, 2 NO -> watching YNN until 31.000\n"
	    "[   31.000] watching: tick -> looking YNN | send query #3\n"
	    "[   40.000] looking: reply #3 node 0 YES, 1 NO, 2 NO -> insisting Y.. keys *1_ | send acquire "
	    "#1 again to 6 ttl 30000.000\n"
	    "[   50.000] insisting: reply #1 node 2 YES -> held Y.Y until 29698.000 | done acquire OK\n");
	assert_int_equal(d.lock.claim.owed, 7); /* the node that has not answered, too */
}

/* A contender that does not lead gives back its keys, and watches until a quorum names one holder. */
TEST(the_others_step_aside)
{
	struct drive d = split(drive_rules(3), "NYN", "0*2");
	assert_int_equal(d.fx.send.operation, REDLOCK_OP_RELEASE);
	assert_int_equal(d.fx.send.owed, 2);
	drive_play(&d, "until 21; at 30");
	drive_keys(&d, "0_2"); /* the leader has not got it yet */
	drive_tells(&d, "until 32; at 40; keys 0.0",
	            "[   21.000] watching: tick -> looking NYN | send query #3\n"
	            "[   30.000] looking: reply #3 node 0 NO, 1 NO, 2 NO -> watching NYN keys 0_2 until 32.000\n"
	            "[   32.000] watching: tick -> looking NYN | send query #4\n"
	            "[   40.000] looking: reply #4 node 0 NO, 2 NO -> idle NYN keys 0?0 | done acquire BUSY\n");
}

/* A leader that has gone without a holder leaves the lock to all: the next attempt has a fresh token. */
TEST(a_leader_vanishes)
{
	static const char *const left[] = {"___", "_1_"};
	for (unsigned i = 0; i < COUNT(left); i++) {
		struct drive d = split(drive_rules(3), "NNY", "01*");
		drive_ticks_until(&d, 21);
		drive_keys(&d, left[i]);
		assert_int_equal(d.lock.phase, RL_ACQUIRING);
		assert_false(d.fx.send.again);
		assert_int_equal(d.fx.send.seq, 4);
		drive_reply_to(&d, 1, 0, REDLOCK_VOTE_YES); /* of the token that was given back */
		drive_votes(&d, "Y.Y");
		assert_int_equal(d.fx.done.result, 0);
		assert_true(d.lock.valid_until_ns == rl_time_ms(21 + 29698)); /* counted anew */
	}
}

/* A node before the leader's has a key now: it leads, and there is no hurry. */
TEST(another_leads)
{
	struct drive d = split(drive_rules(3), "NYN", "_12");
	drive_play(&d, "until 21; keys 0_2");
	assert_int_equal(d.lock.phase, RL_WATCHING);
}

/* Contenders may have their nodes in any order: they lead by one that is the same for all. */
TEST(the_order_is_shared)
{
	static const uint8_t order[] = {2, 0, 1};
	struct drive d = split(drive_rules(3), "NNY", "01.");
	d.order = order;
	drive_keys(&d, "..*");
	assert_int_equal(d.lock.phase, RL_INSISTING);
	assert_int_equal(d.fx.send.nodes, 3);
}

/* Contenders that do not agree on the order are told apart by their tokens, after two node timeouts. */
TEST(tokens_decide_in_the_end)
{
	static const struct {
		const char *votes, *keys;
		enum rl_phase early, late;
	} cases[] = {
	    {"YNN", "*1_", RL_INSISTING, RL_INSISTING}, /* ours is the first of both */
	    {"YNN", "*5_", RL_INSISTING, RL_WATCHING},  /* the other token comes first */
	    {"NYN", "1*_", RL_WATCHING, RL_INSISTING},  /* or ours, while the other has the first node */
	};
	for (unsigned i = 0; i < 2 * COUNT(cases); i++) {
		struct drive d = drive_begin(drive_rules(3), "acquire; at 201");
		drive_votes(&d, cases[i / 2].votes);
		drive_at(&d, i % 2 == 0 ? 398 : 400);
		drive_keys(&d, cases[i / 2].keys);
		assert_int_equal(d.lock.phase, i % 2 == 0 ? cases[i / 2].early : cases[i / 2].late);
	}
}

/* A contender that has given back then does not come back because the first node has changed hands. */
TEST(nobody_comes_back_late)
{
	struct drive d = split(drive_rules(3), "NYN", "0*2");
	drive_play(&d, "at 390; tick; at 400; keys _12");
	assert_int_equal(d.lock.phase, RL_WATCHING);
}

/* A partial claim of a client that died: it stays, and after five node timeouts that is the answer. */
TEST(split_votes_have_a_bound)
{
	struct drive d = split(drive_rules(3), "NYN", "0*2");
	unsigned looks = 0;
	for (; d.lock.phase != RL_IDLE; drive_forget(&d)) {
		drive_ticks_until(&d, drive_deadline_ms(&d));
		looks += d.lock.phase == RL_LOOKING;
		if (d.lock.phase == RL_LOOKING)
			drive_keys(&d, "0_2");
	}
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_true(d.now_ns == rl_time_ms(1000));
	assert_in_range(looks, 40, 50);
}

/* The leader has the same bound. It gives back what it had then. */
TEST(insisting_has_a_bound)
{
	struct drive d = split(drive_rules(3), "YNN", "*12");
	for (; d.lock.phase != RL_IDLE; drive_forget(&d)) {
		if (d.lock.phase == RL_INSISTING)
			drive_votes(&d, ".NN");
		drive_ticks_until(&d, drive_deadline_ms(&d));
		if (d.lock.phase == RL_LOOKING)
			drive_keys(&d, "*12");
	}
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_int_equal(d.fx.send.operation, REDLOCK_OP_RELEASE);
	assert_int_equal(d.fx.send.owed, 1);
}

/* A process that was stopped meanwhile looks no more. So it is with answers that come too late. */
TEST(a_late_process)
{
	struct drive d = split(drive_rules(3), "NYN", "0*2");
	drive_tells(&d, "at 2000; tick", "[ 2000.000] watching: tick -> idle NYN | done acquire BUSY\n");
	d = drive_idle(d.rules);
	drive_play(&d, "acquire; at 1000; votes NN");
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
}

/* A vote of the first SETs counts in each stage, and with the validity that they have. */
TEST(late_votes_count)
{
	struct drive d = split(drive_rules(5), "YNNN", "*1");
	drive_reply(&d, 4, REDLOCK_VOTE_YES);
	drive_tells(
	    &d, "keys ..234; at 30; votes .NYN",
	    "[   20.000] looking: reply #1 node 4 YES -> looking YNNNY\n"
	    "[   20.000] looking: reply #2 node 2 NO, 3 NO, 4 NO -> insisting Y...Y keys *1234 | send acquire #1 "
	    "again to e ttl 30000.000\n"
	    "[   30.000] insisting: reply #1 node 1 NO, 2 YES -> held YNY.Y until 29698.000 | done acquire OK\n"
	    "[   30.000] held: reply #1 node 3 NO -> held YNYNY until 29698.000\n");
	d = split(d.rules, "YYNN", "*1");
	drive_reply(&d, 4, REDLOCK_VOTE_YES); /* while looking */
	assert_int_equal(d.lock.phase, RL_HELD);
	drive_keys(&d, "..2"); /* nobody waits for it any more */
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A node that hung already when it was asked for its vote costs no further node timeout; a node that becomes
 * silent costs one, and counts as what it voted. */
TEST(silent_nodes)
{
	struct rl_rules rules = drive_rules(3);
	struct drive d = drive_idle(rules);
	drive_tells(&d, "acquire; votes YN; until 200; forget; keys *1; until 400",
	            "[  200.000] looking: reply #2 node 0 YES, 1 NO -> insisting Y.T keys *1? | send "
	            "acquire #1 again to 2 ttl 30000.000\n"
	            "[  400.000] insisting: tick -> watching YTT until 401.000\n");
	drive_play(&d, "until 401; forget");
	drive_keys(&d, "*"); /* nobody refused, nobody is asked again */
	drive_expect(&d, "[  401.000] looking: reply #3 node 0 YES -> watching YTT keys *?? until 403.000\n");
	d = split(rules, "YNN", ".12");
	drive_ticks_until(&d, 210);
	drive_expect(&d,
	             "[  210.000] looking: tick -> insisting Y.. | send acquire #1 again to 6 ttl 30000.000\n");
}

/* Without an answer from anywhere votes tell who leads: it insists, the others are busy. */
TEST(nobody_may_query)
{
	struct drive d = split(drive_rules(3), "YNN", "???");
	assert_int_equal(d.lock.phase, RL_INSISTING);
	d = split(d.rules, "NYN", "???");
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
	assert_int_equal(d.fx.send.owed, 2);
	d = drive_idle(d.rules);
	drive_play(&d, "acquire; votes NYN");
	for (unsigned node = 0; node < 3; node++) { /* no node takes the question: the last one decides */
		struct rl_event refused = {.kind = RL_EV_REPLY,
		                           .reply.seq = d.lock.look.seq,
		                           .node = node,
		                           .reply.vote.code = REDLOCK_VOTE_DOWN,
		                           .reply.more = node < 2};
		assert_true(rl_state_is_busy(&d.lock));
		rl_lock_step(&d.lock, &refused, &d.fx);
	}
	assert_int_equal(d.fx.done.result, REDLOCK_E_BUSY);
}

/* Validity counts from the first SET. A claim that can no longer be granted is given back, for a fresh token.
 */
TEST(validity_runs_out)
{
	struct rl_rules rules = drive_rules(3);
	rules.min_validity_ns = rl_time_ms(29698 - 20); /* granted before 20 ms, not at 20 ms */
	struct drive d = split(rules, "YNN", "*12");
	assert_int_equal(d.fx.send.operation, REDLOCK_OP_RELEASE);
	assert_int_equal(d.lock.phase, RL_WATCHING);
	drive_play(&d, "until 21; keys _12");
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	rules.min_validity_ns = rl_time_ms(29698 - 30);
	d = split(rules, "YNN", "*12");
	drive_at(&d, 30);
	drive_votes(&d, ".Y"); /* a quorum, too late */
	assert_int_equal(d.lock.phase, RL_INSISTING);
}

/* An attempt that may wait for a holder, or has an own value, does not look. */
TEST(some_do_not_look)
{
	struct rl_rules rules = drive_waiting_rules(3, 1000);
	struct drive d = split(rules, "YNN", "");
	assert_int_equal(d.lock.phase, RL_PAUSED);
	rules = drive_rules(3);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	d = split(rules, "YNN", "");
	assert_int_equal(d.lock.phase, RL_IDLE);
}

TEST(cancelled_in_each_stage)
{
	static const struct {
		enum rl_phase phase;
		const char *votes, *keys;
		unsigned owed; /* 0: nothing is sent */
	} stages[] = {
	    {RL_LOOKING, "NYN", "0", 2}, {RL_INSISTING, "YNN", "*12", 7}, {RL_WATCHING, "NYN", "0*2", 0}};
	for (unsigned i = 0; i < COUNT(stages); i++) {
		struct drive d = split(drive_rules(3), stages[i].votes, stages[i].keys);
		assert_int_equal(d.lock.phase, stages[i].phase);
		drive_cancel(&d);
		assert_int_equal(d.lock.phase, RL_IDLE);
		assert_int_equal(d.fx.done.result, REDLOCK_E_CANCELLED);
		assert_int_equal(d.fx.send.owed, stages[i].owed);
		assert_int_equal(d.fx.send.operation != REDLOCK_OP_NONE, stages[i].owed != 0);
	}
}

TEST(a_duplicate_is_found_late)
{
	struct drive d = split(drive_rules(3), "YNN", "*12");
	drive_reply(&d, 1, REDLOCK_VOTE_DUPLICATE);
	assert_int_equal(d.lock.phase, RL_INSISTING);
	drive_reply(&d, 2, REDLOCK_VOTE_YES);
	assert_int_equal(d.lock.phase, RL_HELD);
}

/* A key of ours that was given back may be there for a while: it keeps us out like any other. And a refused
 * claim is not lost by a node that says nothing. */
TEST(a_key_that_was_given_back_is_not_ours)
{
	struct drive d = split(drive_rules(3), "NYN", "0*2");
	drive_play(&d, "until 21; keys **2");
	assert_int_equal(d.lock.phase, RL_WATCHING);
	drive_ticks_until(&d, 23);
	drive_keys(&d, "_??"); /* node 1 was ours, node 2 refused */
	assert_int_equal(d.lock.phase, RL_ACQUIRING);
	d = split(d.rules, "YNN", "*12");
	drive_play(&d, "votes .NN; until 21");
	drive_keys(&d, "_*"); /* a key that we have lost, and one that a vote does not know of */
	drive_keys(&d, "..2");
	assert_int_equal(d.lock.phase, RL_INSISTING);
	drive_reply_to(&d, d.lock.look.seq, 2, REDLOCK_VOTE_YES); /* a node answers once */
	assert_int_equal(d.lock.phase, RL_INSISTING);
}

TEST(a_node_answers_a_look_once)
{
	struct drive d = split(drive_rules(3), "NYN", "0");
	drive_keys(&d, "1*");
	assert_int_equal(d.lock.votes[0].whose, RL_KEY_OTHERS);
}

/* Then a vote for us is a node of ours, and whose the others are stays unknown. */
TEST(without_memory_for_findings)
{
	struct drive d = drive_idle(drive_rules(3));
	d.lock.findings = NULL;
	drive_play(&d, "acquire; at 10; votes YNN; at 20; keys *12");
	assert_int_equal(d.lock.phase, RL_INSISTING);
	drive_play(&d, "at 30; votes .YY");
	assert_int_equal(d.lock.phase, RL_HELD);
	drive_query(&d);
	drive_votes(&d, "YYY");
	assert_int_equal(d.fx.done.operation, REDLOCK_OP_QUERY);
}

TESTS()
