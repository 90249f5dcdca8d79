/* SPDX-License-Identifier: MIT */
/* The arithmetic of `redlock run`: defaults, and times that cannot work. */
#include "run/times.h"

#include "unit.h"

static struct run_times times_of(uint64_t ttl_ms, uint64_t renew_ms, uint64_t kill_after_ms)
{
	const struct settings settings = {.renew_ms = renew_ms, .kill_after_ms = kill_after_ms};
	struct redlock_terms terms = {.size = sizeof(terms)};
	struct redlock_lock_options options;
	struct run_times times;

	redlock_lock_options_init(&options);
	options.ttl_ms = ttl_ms;
	assert_int_equal(redlock_terms(NULL, &options, &terms), 0);
	run_times_init(&times, &settings, &terms);
	return times;
}

TEST(defaults_follow_the_ttl)
{
	struct run_times times = times_of(30000, 0, 0);

	assert_int_equal(times.renew_ms, 10000);
	assert_int_equal(times.kill_after_ms, 5000);
	assert_int_equal(times.node_timeout_ms, 200);
	assert_int_equal(times.drift_ms, 302);
	assert_int_equal(times.margin_ns, 100000000);
	times = times_of(600, 0, 0);
	assert_int_equal(times.kill_after_ms, 100);
	assert_int_equal(times.margin_ns, 50000000);
	times = times_of(300, 0, 0);
	assert_int_equal(times.node_timeout_ms, 100); /* at most ttl/3 */
	times = times_of(101, 0, 0);
	assert_int_equal(times.drift_ms, 4); /* 1.01 is rounded up, plus 2 */
}

TEST(default_times_work_for_every_ttl_above_some_milliseconds)
{
	char why[256];

	for (uint64_t ttl = 60; ttl < 100000; ttl += 7)
		assert_true(run_times_work(&(struct run_times[]){times_of(ttl, 0, 0)}[0], why, sizeof(why)));
}

TEST(the_sum_is_shown)
{
	struct run_times times = times_of(30000, 10000, 20000);
	char why[256];

	assert_false(run_times_work(&times, why, sizeof(why)));
	assert_string_equal(why,
	                    "renew 10s + node timeout 200ms + kill-after 20s + drift 302ms = 30502ms, which must "
	                    "be less than the ttl 30s");
	times = times_of(30000, 10000, 19497);
	assert_true(run_times_work(&times, why, sizeof(why))); /* 29999 */
	times = times_of(30000, 10000, 19498);
	assert_false(run_times_work(&times, why, sizeof(why))); /* 30000: not less */
}

TEST(the_sum_has_the_places_of_its_parts)
{
	struct run_times times = times_of(30000, 10000, 20000);
	char why[256];

	times.places.renew = "a.conf:3";
	times.places.ttl = "REDLOCK_TTL";
	assert_false(run_times_work(&times, why, sizeof(why)));
	assert_string_equal(
	    why, "renew 10s (a.conf:3) + node timeout 200ms + kill-after 20s + drift 302ms = 30502ms, which "
	         "must be less than the ttl 30s (REDLOCK_TTL)");
}

TEST(a_short_buffer_is_not_overrun)
{
	struct run_times times = times_of(30000, 10000, 20000);
	char why[256];

	for (size_t size = 1; size < sizeof(why); size++) {
		memset(why, 'x', sizeof(why));
		assert_false(run_times_work(&times, why, size));
		assert_true(strlen(why) < size);
	}
}

TEST(late_lies_between_due_and_term)
{
	struct run_times times = times_of(30000, 0, 0);

	assert_int_equal(run_times_late_ms(&times), 5000 + (30000 - 302 - 10000 - 5000) / 2);
}

TESTS()
