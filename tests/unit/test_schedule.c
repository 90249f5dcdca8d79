/* SPDX-License-Identifier: MIT */
/* The heap of timers against a plain search. */
#include "schedule.h"

#include "unit.h"

enum { TIMERS = 200 };

static const struct rl_timer *earliest(const struct rl_timer *timers, unsigned count)
{
	const struct rl_timer *first = NULL;
	for (unsigned i = 0; i < count; i++)
		if (timers[i].at_ns != UINT64_MAX && (first == NULL || timers[i].at_ns < first->at_ns))
			first = &timers[i];
	return first;
}

static void expect_first(const struct rl_schedule *s, const struct rl_timer *timers, unsigned count)
{
	const struct rl_timer *want = earliest(timers, count);
	const struct rl_timer *got = rl_schedule_first(s);
	if (want == NULL)
		assert_null(got);
	else
		assert_true(got != NULL && got->at_ns == want->at_ns);
}

TEST(empty)
{
	struct rl_schedule s = {0};
	struct rl_timer timer;
	rl_schedule_init_timer(&timer);
	assert_null(rl_schedule_first(&s));
	rl_schedule_set(&s, &timer, UINT64_MAX); /* not in it, and stays out */
	assert_null(rl_schedule_first(&s));
	rl_schedule_free(&s);
}

TEST(room_grows)
{
	struct rl_schedule s = {0};
	struct rl_timer timers[TIMERS];
	for (unsigned i = 0; i < TIMERS; i++) {
		assert_true(rl_schedule_reserve(&s, i + 1));
		assert_true(s.capacity >= i + 1);
		rl_schedule_init_timer(&timers[i]);
		rl_schedule_set(&s, &timers[i], 1000 - i);
		assert_ptr_equal(rl_schedule_first(&s), &timers[i]);
	}
	assert_true(rl_schedule_reserve(&s, 5 * TIMERS)); /* in one go */
	assert_true(s.capacity >= 5 * TIMERS);
	assert_ptr_equal(rl_schedule_first(&s), &timers[TIMERS - 1]);
	rl_schedule_free(&s);
	assert_int_equal(s.count, 0);
}

TEST(taken_out_in_order)
{
	struct rl_schedule s = {0};
	struct rl_timer timers[TIMERS];
	struct rng rng = {42};
	assert_true(rl_schedule_reserve(&s, TIMERS));
	for (unsigned i = 0; i < TIMERS; i++) {
		rl_schedule_init_timer(&timers[i]);
		rl_schedule_set(&s, &timers[i], rng_below(&rng, 50)); /* many at the same time */
	}
	uint64_t last = 0;
	for (unsigned i = 0; i < TIMERS; i++) {
		struct rl_timer *first = rl_schedule_first(&s);
		assert_true(first->at_ns >= last);
		last = first->at_ns;
		rl_schedule_set(&s, first, UINT64_MAX);
	}
	assert_null(rl_schedule_first(&s));
	rl_schedule_free(&s);
}

TEST(random_changes)
{
	struct rl_schedule s = {0};
	struct rl_timer timers[TIMERS];
	struct rng rng = {7};
	unsigned used = 1;
	for (unsigned i = 0; i < TIMERS; i++)
		rl_schedule_init_timer(&timers[i]);
	for (unsigned step = 0; step < 20000; step++) {
		if (used < TIMERS && rng_below(&rng, 50) == 0)
			used++;
		assert_true(rl_schedule_reserve(&s, used));
		uint64_t at = rng_below(&rng, 3) == 0 ? UINT64_MAX : rng_below(&rng, 1000);
		rl_schedule_set(&s, &timers[rng_below(&rng, used)], at);
		expect_first(&s, timers, used);
	}
	size_t count = 0;
	for (unsigned i = 0; i < TIMERS; i++)
		count += timers[i].at_ns != UINT64_MAX;
	assert_int_equal(s.count, count);
	rl_schedule_free(&s);
}

TESTS()
