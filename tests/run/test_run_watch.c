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

/* What happens at this time: the actions, 0 for none. */
static unsigned at(struct watch *watch, uint64_t now, uint64_t deadline)
{
	enum guard_event event;

	if (!watch_is_due(watch, now * ms, deadline * ms, &event))
		return 0;
	return watch_step(watch, event, now * ms);
}

static void term_then_kill_before_the_end(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
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

static void a_renewal_moves_both(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(at(&watch, 25000, 40000), 0);
	assert_int_equal(due(&watch, 40000), 35000);
}

static void a_renewal_behind_term_does_not_delay_kill(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(at(&watch, 25000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(due(&watch, 60000), 29900);
	assert_int_equal(at(&watch, 29900, 60000), GUARD_DO_KILL);
}

/* A guard that did not get to run begins where it should be. */
static void too_late_for_term(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(at(&watch, 29900, 30000), GUARD_DO_KILL | GUARD_DO_TELL);
	assert_int_equal(watch.state, GUARD_KILLING);
	watch = running(ON_LOSS_KILL);
	assert_int_equal(at(&watch, 99999, 30000), GUARD_DO_KILL | GUARD_DO_TELL);
}

/* TERM came late: KILL does not, because the end of the lock counts. */
static void late_term_shortens_the_grace(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(at(&watch, 28000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(due(&watch, 30000), 29900);
}

/* The lock is gone: the deadline is 0. */
static void a_lost_lock_kills_at_once(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(at(&watch, 1000, 0), GUARD_DO_KILL | GUARD_DO_TELL);
	watch = running(ON_LOSS_KILL);
	assert_int_equal(at(&watch, 25000, 30000), GUARD_DO_TERM | GUARD_DO_TELL);
	assert_int_equal(at(&watch, 25001, 0), GUARD_DO_KILL);
}

static void a_killed_supervisor_is_term_then_kill(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 1000 * ms), GUARD_DO_TERM);
	assert_int_equal(due(&watch, 30000), 1000 + KILL_AFTER - MARGIN);
	assert_int_equal(due(&watch, 3000), 2900); /* the earlier of both */
}

static void a_stop_kills_in_every_mode(void **state)
{
	(void)state;
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

static void term_only(void **state)
{
	struct watch watch = running(ON_LOSS_TERM);

	(void)state;
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

static void warn_only(void **state)
{
	struct watch watch = running(ON_LOSS_WARN);

	(void)state;
	assert_int_equal(due(&watch, 30000), NEVER);
	assert_int_equal(due(&watch, 0), NEVER);
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 0), GUARD_DO_EXIT);
}

static void without_a_command_there_is_nothing_to_stop(void **state)
{
	struct watch watch;

	(void)state;
	watch_init(&watch, ON_LOSS_KILL, KILL_AFTER * ms, MARGIN * ms);
	assert_int_equal(due(&watch, 1), NEVER);
	assert_int_equal(watch_step(&watch, GUARD_ON_SIGNAL, 0), 0);
	assert_int_equal(watch_step(&watch, GUARD_ON_STOP, 0), 0);
	assert_int_equal(watch_step(&watch, watch_orphaned(&watch), 0), GUARD_DO_EXIT);
}

/* Not when it would get TERM at once; with warn, not behind the end. */
static void a_command_is_not_started_to_be_stopped(void **state)
{
	(void)state;
	for (enum on_loss mode = ON_LOSS_KILL; mode <= ON_LOSS_WARN; mode++) {
		struct watch watch = running(mode);
		const uint64_t by = watch_start_by(&watch, 30000 * ms) / ms;

		assert_int_equal(by, mode == ON_LOSS_WARN ? 30000 : 25000);
		assert_int_equal(watch_start_by(&watch, 0), 0);
		assert_int_equal(at(&watch, by - 1, 30000), 0);
	}
}

/* A deadline of a few milliseconds since boot does not wrap around. */
static void early_deadlines_do_not_wrap(void **state)
{
	struct watch watch = running(ON_LOSS_KILL);

	(void)state;
	assert_int_equal(due(&watch, 10), 0);
	assert_int_equal(watch_due(&watch, UINT64_MAX), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(term_then_kill_before_the_end),
	    cmocka_unit_test(a_renewal_moves_both),
	    cmocka_unit_test(a_renewal_behind_term_does_not_delay_kill),
	    cmocka_unit_test(too_late_for_term),
	    cmocka_unit_test(late_term_shortens_the_grace),
	    cmocka_unit_test(a_lost_lock_kills_at_once),
	    cmocka_unit_test(a_killed_supervisor_is_term_then_kill),
	    cmocka_unit_test(a_stop_kills_in_every_mode),
	    cmocka_unit_test(term_only),
	    cmocka_unit_test(warn_only),
	    cmocka_unit_test(without_a_command_there_is_nothing_to_stop),
	    cmocka_unit_test(a_command_is_not_started_to_be_stopped),
	    cmocka_unit_test(early_deadlines_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
