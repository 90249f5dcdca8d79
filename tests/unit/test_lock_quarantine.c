/* SPDX-License-Identifier: MIT */
/* Nodes in quarantine: who lacks only their votes waits for them. Whole traces are quoted. */
#include "core/quarantine.h"

#include "drive.h"

static struct rl_rules patient(unsigned nodes, uint64_t ms)
{
	struct rl_rules rules = drive_rules(nodes);
	rules.quarantine_wait_ns = rl_time_ms(ms);
	return rules;
}

/* Also with a wait of 0: the pause ends with the quarantine of the first node that can make a quorum. */
SCENARIO(
    it_waits_for_the_end, drive_idle(patient(3, 60000)),
    "acquire; left 5000,30000; at 10; votes ..Y; until 5000; left -,25000; votes Y.Y",
    "[    0.000] idle: acquire -> acquiring ... | send acquire #1 ttl 30000.000\n"
    "[    0.000] acquiring: reply #1 node 0 QUARANTINE, 1 QUARANTINE -> paused QQ. until 5000.000 | send "
    "release #0 owed 4\n"
    "[   10.000] paused: reply #1 node 2 YES -> paused QQY until 5000.000\n"
    "[ 5000.000] paused: tick -> acquiring ... | send acquire #2 ttl 30000.000\n"
    "[ 5000.000] acquiring: reply #2 node 1 QUARANTINE, 0 YES, 2 YES -> held YQY until 34698.000 | done "
    "acquire OK\n")

/* As many as a quorum lacks, those that end first. */
SCENARIO(
    all_that_a_quorum_lacks, drive_begin(patient(5, 60000), "acquire; votes N; at 10; forget"),
    "left -,9000,7000,7500,8000; cancel",
    "[   10.000] acquiring: reply #1 node 1 QUARANTINE, 2 QUARANTINE, 3 QUARANTINE -> paused NQQQ. until "
    "7510.000 | send release #0 owed 10\n"
    "[   10.000] paused: reply #1 node 4 QUARANTINE -> paused NQQQQ until 7510.000\n"
    "[   10.000] paused: cancel -> idle NQQQQ | done acquire CANCELLED\n")

/* A client that meets others after the quarantine contends with them, as with a wait of 0 that begins then.
 */
SCENARIO(
    clients_that_come_back_together_contend,
    drive_begin(patient(3, 60000), "acquire; left 5000,5000; until 5000; forget"), "votes YNN; keys *12",
    "[ 5000.000] acquiring: reply #2 node 0 YES, 1 NO, 2 NO -> looking YNN | send query #3\n"
    "[ 5000.000] looking: reply #3 node 0 YES, 1 NO, 2 NO -> insisting Y.. keys *12 | send acquire #2 again "
    "to 6 ttl 30000.000\n")

/* A quarantine that is over is followed by a repair, which takes some round trips. */
SCENARIO(
    a_repair_is_waited_for, drive_begin(patient(1, 60000), "acquire; left 500; until 500; forget"),
    "left 0; until 501; left 0; until 503; votes Y",
    "[  500.000] acquiring: reply #2 node 0 QUARANTINE -> paused Q until 501.000 | send release #0 owed 0\n"
    "[  501.000] paused: tick -> acquiring . | send acquire #3 ttl 30000.000\n"
    "[  501.000] acquiring: reply #3 node 0 QUARANTINE -> paused Q until 503.000 | send release #0 owed 0\n"
    "[  503.000] paused: tick -> acquiring . | send acquire #4 ttl 30000.000\n"
    "[  503.000] acquiring: reply #4 node 0 YES -> held Y until 30201.000 | done acquire OK\n")

/* Whether and until when it waits for one can be asked. */
TEST(it_tells)
{
	struct drive d = drive_begin(patient(1, 60000), "acquire");
	assert_int_equal(rl_quarantine_end(&d.lock), 0);
	drive_play(&d, "left 500");
	assert_int_equal(rl_quarantine_end(&d.lock), rl_time_ms(500));
	drive_play(&d, "cancel");
	assert_int_equal(rl_quarantine_end(&d.lock), 0);
	d = drive_begin(drive_waiting_rules(1, 5000), "acquire; votes N"); /* busy is another wait */
	assert_true(d.lock.phase == RL_PAUSED && rl_quarantine_end(&d.lock) == 0);
	d = drive_begin(drive_waiting_rules(1, 5000), "");
	d.lock.numbers = NULL;
	drive_play(&d, "acquire; votes D");
	assert_true(d.lock.phase == RL_PAUSED && rl_quarantine_end(&d.lock) == 0);
}

/* Plays `step` until the acquire ends; ms. */
static uint64_t ends_at(struct drive *d, const char *step)
{
	while (d->lock.phase != RL_IDLE) {
		drive_play(d, step);
		if (d->lock.phase != RL_IDLE)
			drive_ticks_until(d, drive_deadline_ms(d) + 1);
		drive_forget(d);
	}
	assert_int_equal(d->fx.done.result, REDLOCK_E_NOQUORUM);
	return d->now_ns / RL_NS_PER_MS;
}

/* How long an acquire without a quorum takes, and how long the first pause is. */
TEST(it_has_bounds)
{
	static const struct {
		uint64_t patience_ms, wait_ms;
		const char *first, *then;
		uint64_t paused_ms, least_ms, most_ms;
	} cases[] = {
	    {0, 0, "left 500", "left 0", 0, 0, 0},                     /* the library's own rules: not at all */
	    {499, 0, "left 500", "left 0", 0, 0, 0},                   /* it would be in vain */
	    {UINT64_MAX, 0, "left 500", "left 0", 500, 2500, 2750},    /* a repair that never ends */
	    {600, 0, "left 500", "left 0", 500, 690, 850},             /* the patience ends during the repair */
	    {60000, 0, "left 500", "votes D", 500, 600, 720},          /* another try follows in any case */
	    {60000, 0, "left 0", "left 0", 1, 2000, 2250},             /* it was over before */
	    {60000, 0, "left -1", "left -1", 0, 0, 0},                 /* nobody knows when it ends */
	    {60000, 0, "votes D", "left 0", 0, 0, 0},                  /* there is none */
	    {0, 5000, "left 500", "left 0", 500, 4700, 5000},          /* the wait is long enough for it, */
	    {0, 5000, "left 5500", "left 5500", 50, 4700, 5000},       /* or not: others may come */
	    {60000, 5000, "left 5500", "votes D", 5500, 10200, 10500}, /* the wait goes on after it */
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_rules rules = drive_waiting_rules(1, cases[i].wait_ms);
		rules.quarantine_wait_ns = rl_time_ms(cases[i].patience_ms);
		struct drive d = drive_begin(rules, "at 1000; acquire");
		drive_play(&d, cases[i].first);
		bool paused = d.lock.phase == RL_PAUSED;
		assert_int_equal(paused ? d.lock.wait.retry_at_ns / RL_NS_PER_MS - 1000 : 0, cases[i].paused_ms);
		if (paused)
			drive_ticks_until(&d, 1000 + cases[i].paused_ms);
		uint64_t ms = ends_at(&d, cases[i].then) - 1000;
		assert_in_range(ms, cases[i].least_ms, cases[i].most_ms);
	}
}

/* A node that is down may come back before the quarantine of another ends. */
SCENARIO(
    others_may_come_back, drive_begin(patient(3, 60000), "acquire; votes Y; forget"),
    "left -,5000; votes ..D",
    "[    0.000] acquiring: reply #1 node 1 QUARANTINE, 2 DOWN -> paused YQ- until 50.000 | send release #0 "
    "owed 1\n")

/* A single try stays single; and without memory for it nothing is known of a quarantine. */
TEST(some_do_not_wait)
{
	struct rl_rules rules = patient(1, 60000);
	for (int i = 0; i < 2; i++) {
		rules.policy = &rl_kinds[i == 0 ? RL_KIND_OWN_VALUE : RL_KIND_EXCLUSIVE];
		struct drive d = drive_idle(rules);
		d.lock.numbers = i == 0 ? &d.numbers : NULL;
		drive_play(&d, "acquire; left 500");
		assert_int_equal(d.lock.phase, RL_IDLE);
		drive_play(&d, "acquire; votes P");
		assert_int_equal(d.lock.phase, RL_IDLE);
	}
	struct drive d = drive_begin(patient(1, 60000), "at 10; acquire"); /* a vote that tells no time */
	drive_step(&d, (struct rl_event){
	                   .kind = RL_EV_REPLY, .reply.seq = 1, .reply.vote = {.code = REDLOCK_VOTE_QUARANTINE}});
	assert_int_equal(d.lock.wait.retry_at_ns, rl_time_ms(11));
}

TESTS()
