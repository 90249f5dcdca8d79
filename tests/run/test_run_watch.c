/* SPDX-License-Identifier: MIT */
/* The guard in time: what it does when, by a deadline that moves. Times in these tests are milliseconds. */
#include "run/watch.h"

#include "unit.h"

enum { KILL_AFTER = 5000, MARGIN = 100, NEVER = -1 };

static const uint64_t ms = 1000000;

static struct watch running(enum on_loss on_loss)
{
	struct watch watch;

	watch_init(&watch, on_loss, KILL_AFTER * ms, MARGIN * ms);
	assert_int_equal(watch_step(&watch, GUARD_ON_LAUNCH, 0), GUARD_DO_LAUNCH);
	assert_int_equal(watch.state, GUARD_RUNNING);
	return watch;
}

static int64_t due(const struct watch *watch, uint64_t deadline)
{
	uint64_t at = watch_due(watch, deadline * ms);

	return at == UINT64_MAX ? NEVER : (int64_t)(at / ms);
}

/* The actions at this time, 0 for none. */
static unsigned at(struct watch *watch, uint64_t now, uint64_t deadline)
{
	enum guard_event event;

	if (!watch_is_due(watch, now * ms, deadline * ms, &event))
		return 0;
	return watch_step(watch, event, now * ms);
}

TEST(term_then_kill_before_the_end)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(due(&watch, 30000), 25000);
	assert_int_equal(at(&watch, 24999, 30000), 0);
	assert_int_equal(at(&watch, 25000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(due(&watch, 30000), 29900);
	assert_int_equal(at(&watch, 29899, 30000), 0);
	assert_int_equal(at(&watch, 29900, 30000), GUARD_DO_KILL);
	/* until nothing is left */
	assert_int_equal(due(&watch, 30000), 29905);
	assert_int_equal(at(&watch, 29905, 30000), GUARD_DO_KILL);
	assert_int_equal(watch_step(&watch, GUARD_ON_ALL_GONE, 29906 * ms), GUARD_DO_TELL | GUARD_DO_EXIT);
	assert_int_equal(due(&watch, 30000), NEVER);
}

TEST(a_renewal_moves_both)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(at(&watch, 25000, 40000), 0);
	assert_int_equal(due(&watch, 40000), 35000);
}

TEST(a_renewal_after_term_does_not_delay_kill)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(at(&watch, 25000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(due(&watch, 60000), 29900);
	assert_int_equal(at(&watch, 29900, 60000), GUARD_DO_KILL);
}

/* A guard that did not get to run begins where it should be. */
TEST(too_late_for_term)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(at(&watch, 29900, 30000), GUARD_DO_KILL | GUARD_DO_TELL);
	assert_int_equal(watch.state, GUARD_KILLING);
	watch = running(ON_LOSS_KILL);
	assert_int_equal(at(&watch, 99999, 30000), GUARD_DO_KILL | GUARD_DO_TELL);
}

/* TERM came late: KILL does not, because the end of the lock counts. */
TEST(late_term_shortens_the_grace)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(at(&watch, 28000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(due(&watch, 30000), 29900);
}

TEST(a_lost_lock_kills_at_once)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(at(&watch, 1000, 0), GUARD_DO_KILL | GUARD_DO_TELL);
	watch = running(ON_LOSS_KILL);
	assert_int_equal(at(&watch, 25000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(at(&watch, 25001, 0), GUARD_DO_KILL);
}

TEST(a_killed_supervisor_is_term_then_kill)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 1000 * ms), GUARD_DO_TERM);
	assert_int_equal(due(&watch, 30000), 1000 + KILL_AFTER - MARGIN);
	assert_int_equal(due(&watch, 3000), 2900); /* the earlier of both */
}

TEST(a_stop_kills_in_every_mode)
{
	for (enum on_loss mode = ON_LOSS_KILL; mode <= ON_LOSS_WARN; mode++) {
		struct watch watch = running(mode);

		assert_int_equal(watch_step(&watch, GUARD_ON_STOP, 1000 * ms), GUARD_DO_TERM);
		assert_int_equal(due(&watch, 30000), 1000 + KILL_AFTER - MARGIN);
		/* a second one does not give more time */
		assert_int_equal(watch_step(&watch, GUARD_ON_STOP, 2000 * ms), GUARD_DO_TERM);
		assert_int_equal(due(&watch, 30000), 1000 + KILL_AFTER - MARGIN);
		assert_int_equal(at(&watch, 5900, 30000), GUARD_DO_KILL);
	}
}

TEST(term_only)
{
	struct watch watch = running(ON_LOSS_TERM);

	assert_int_equal(due(&watch, 30000), 25000);
	assert_int_equal(at(&watch, 99999, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(due(&watch, 30000), NEVER);
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 99999 * ms), 0);
	watch = running(ON_LOSS_TERM);
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 1000 * ms), GUARD_DO_TERM);
	assert_int_equal(due(&watch, 30000), NEVER);
	/* a cap that is reached later still kills */
	assert_int_equal(watch_step(&watch, GUARD_ON_STOP, 2000 * ms), GUARD_DO_TERM);
	assert_int_equal(due(&watch, 30000), 2000 + KILL_AFTER - MARGIN);
}

TEST(warn_only)
{
	struct watch watch = running(ON_LOSS_WARN);

	assert_int_equal(due(&watch, 30000), NEVER);
	assert_int_equal(due(&watch, 0), NEVER);
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 0), GUARD_DO_EXIT);
}

TEST(without_a_command_there_is_nothing_to_stop)
{
	struct watch watch;

	watch_init(&watch, ON_LOSS_KILL, KILL_AFTER * ms, MARGIN * ms);
	assert_int_equal(due(&watch, 1), NEVER);
	assert_int_equal(watch_step(&watch, GUARD_ON_SIGNAL, 0), 0);
	assert_int_equal(watch_step(&watch, GUARD_ON_STOP, 0), 0);
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 0), GUARD_DO_EXIT);
}

/* The command is not started if it would get TERM at once; with warn, not after the end. */
TEST(a_command_is_not_started_to_be_stopped)
{
	for (enum on_loss mode = ON_LOSS_KILL; mode <= ON_LOSS_WARN; mode++) {
		struct watch watch = running(mode);
		const uint64_t by = watch_start_by(&watch, 30000 * ms) / ms;

		assert_int_equal(by, mode == ON_LOSS_WARN ? 30000 : 25000);
		assert_int_equal(watch_start_by(&watch, 0), 0);
		assert_int_equal(at(&watch, by - 1, 30000), 0);
	}
}

TEST(early_deadlines_do_not_wrap)
{
	struct watch watch = running(ON_LOSS_KILL);

	assert_int_equal(due(&watch, 10), 0);
	assert_int_equal(watch_due(&watch, UINT64_MAX), UINT64_MAX);
}

TESTS()
