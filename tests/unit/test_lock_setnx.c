/* SPDX-License-Identifier: MIT */
/* Locks of the old SETNX protocol: who waits asks again by chance, and the first renewal comes soon. */
#include "core/finding.h"
#include "drive.h"

static struct rl_rules timed(enum rl_kind kind, uint64_t wait_ms, uint64_t renew_ms)
{
	struct rl_rules rules = drive_waiting_rules(3, wait_ms);
	rules.policy = &rl_kinds[kind];
	rules.renew_ns = rl_time_ms(renew_ms);
	return rules;
}

/* No gate, no queue, no look; and what was won is given back. */
SCENARIO(a_waiter_asks_all_again, drive_idle(timed(RL_KIND_SETNX, 10000, 0)),
         "acquire; at 1; votes YNN; until 51; votes YY",
         "[    0.000] idle: acquire -> acquiring ... | send acquire by time #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 0 YES, 1 NO, 2 NO -> paused YNN until 51.000 | send release "
         "by time #0 owed 1\n"
         "[   51.000] paused: tick -> acquiring ... | send acquire by time #2 ttl 30000.000\n"
         "[   51.000] acquiring: reply #2 node 0 YES, 1 YES -> held YY. until 29749.000 | done acquire OK\n")

SCENARIO(one_try_is_busy_at_once, drive_idle(timed(RL_KIND_SETNX, 0, 0)), "acquire; at 1; votes YNN",
         "[    0.000] idle: acquire -> acquiring ... | send acquire by time #1 ttl 30000.000\n"
         "[    1.000] acquiring: reply #1 node 0 YES, 1 NO, 2 NO -> idle YNN | send release by time #0 owed "
         "1 | done acquire BUSY\n")

/* A value that a loser wrote over the lock is repaired, and from then on the lock is renewed as ever. */
SCENARIO(the_first_renewal_comes_soon,
         drive_begin(timed(RL_KIND_SETNX, 0, 10000), "acquire; votes YY; forget"),
         "until 500; at 501; votes YY; until 10500",
         "[  500.000] held: tick -> held ... until 29698.000 | send extend by time #2 ttl 30000.000\n"
         "[  501.000] held: reply #2 node 0 YES, 1 YES -> held YY. until 30198.000\n"
         "[10468.750] held: tick -> held ... until 30198.000 | send extend by time #3 ttl 30000.000\n")

SCENARIO(without_renewals_no_early_one_comes,
         drive_begin(timed(RL_KIND_SETNX, 0, 0), "acquire; votes YY; forget"), "until 500", "")

SCENARIO(a_token_suffices, drive_idle(timed(RL_KIND_SETNX_OWN, 0, 0)),
         "extend 30000; votes YY; release; votes YY",
         "[    0.000] idle: extend -> idle ... | send extend by time #1 ttl 30000.000\n"
         "[    0.000] idle: reply #1 node 0 YES, 1 YES -> held YY. until 29698.000 | done extend OK\n"
         "[    0.000] held: release -> releasing ... | send release by time #2 owed 7\n"
         "[    0.000] releasing: reply #2 node 0 YES, 1 YES -> idle YY. | done release OK\n")

/* A node that has not answered may have it by another acquisition with that value. */
SCENARIO(
    a_suspected_key_stays, drive_idle(timed(RL_KIND_SETNX_OWN, 0, 0)), "acquire; at 1; votes NN",
    "[    0.000] idle: acquire -> acquiring ... | send acquire by time #1 ttl 30000.000\n"
    "[    1.000] acquiring: reply #1 node 0 NO, 1 NO -> idle NN. | send release by time #0 owed 0 | done "
    "acquire BUSY\n")

SCENARIO(
    a_claim_that_may_come_is_owed, drive_idle(timed(RL_KIND_SETNX, 0, 0)), "acquire; at 1; votes NN",
    "[    0.000] idle: acquire -> acquiring ... | send acquire by time #1 ttl 30000.000\n"
    "[    1.000] acquiring: reply #1 node 0 NO, 1 NO -> idle NN. | send release by time #0 owed 4 | done "
    "acquire BUSY\n")

/* The value is not the token: the node says whose it is. */
TEST(the_owner_of_a_key)
{
	for (int ours = 0; ours < 2; ours++) {
		struct drive d = drive_idle(timed(RL_KIND_SETNX_OWN, 0, 0));
		drive_query(&d);
		for (unsigned node = 0; node < 2; node++)
			drive_step(&d, (struct rl_event){.kind = RL_EV_REPLY,
			                                 .reply.seq = 1,
			                                 .node = node,
			                                 .reply.operation = RL_OP_SETNX_QUERY,
			                                 .reply.vote = {.code = REDLOCK_VOTE_YES,
			                                                .told = RL_TOLD(TYPE) | RL_TOLD(VALUE),
			                                                .pttl_ms = 900,
			                                                .size = 10,
			                                                .ours = ours,
			                                                .type = {"string", 6},
			                                                .value = {"1732150000", 10}}});
		assert_int_equal(d.fx.done.operation, REDLOCK_OP_QUERY);
		assert_int_equal(d.fx.done.result, ours ? 0 : REDLOCK_E_GONE);
		assert_int_equal(d.findings[0].pttl_ms, 900);
	}
}

TESTS()
