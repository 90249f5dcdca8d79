/* SPDX-License-Identifier: MIT */
/* Whose clock went wrong: servers tell their times, and those that are odd (?) or out (!) are known. */
#include "core/offset.h"

#include "core/time.h"
#include "unit.h"

enum { MOST = 5, STEPS = 14, OUT_MS = 1000 };
static const struct rl_offset_rules rules = {10000, 2 * RL_NS_PER_MS, OUT_MS *RL_NS_PER_MS};
static const int64_t base_ms = 1700000000000;

/* At `at_ms` of our clock server `node` is asked, and the answer takes `rtt_ms`; its clock is ahead by
 * `off_ms`. */
struct step {
	unsigned node;
	uint64_t at_ms;
	int64_t off_ms;
	uint64_t rtt_ms;
	const char *states; /* then; NULL: as they were */
};

static const struct scene {
	const char *name;
	unsigned count;
	uint64_t leap_before_ms; /* our clock stood still, and was set right, before this moment */
	struct step steps[STEPS];
} scenes[] = {
    {"offsets that stay harm nobody",
     3,
     0,
     {{0, 1, 0, 1, "..."}, {1, 1, 9000, 1, "..."}, {2, 1, -9000, 1, "..."}, {1, 9001, 9000, 1, "..."}}},
    {"what clocks may differ by: 2 ms, and 1 % of the time that has passed",
     1,
     0,
     {{0, 1, 0, 0, "."}, {0, 2, 3, 0, "."}, {0, 1002, 13, 0, "."}, {0, 1003, 14, 0, "?"}}},
    {"once is odd; back where it was it is as ever",
     1,
     0,
     {{0, 1, 0, 1, "."}, {0, 10, 50, 1, "?"}, {0, 20, 0, 1, "."}, {0, 30, 50, 1, "?"}}},
    {"twice is out, forward and back",
     3,
     0,
     {{0, 1, 0, 1, "..."},
      {1, 1, 0, 1, "..."},
      {2, 1, 0, 1, "..."},
      {0, 10, 50, 1, "?.."},
      {1, 20, -50, 1, "??."},
      {2, 20, 0, 1, "??."},
      {0, 20, 50, 1, "!?."},
      {1, 22, -50, 1, "!?."},
      {2, 22, 0, 1, "!?."},
      {0, 22, 50, 1, "!!."}}},
    {"a second answer to what was asked before the first one came",
     1,
     0,
     {{0, 1, 0, 1, "."}, {0, 10, 50, 5, "?"}, {0, 12, 50, 5, "?"}, {0, 15, 50, 1, "?"}, {0, 17, 50, 1, "!"}}},
    {"a slow answer tells little", 1, 0, {{0, 1, 0, 1, "."}, {0, 10, 50, 100, "."}, {0, 200, 50, 10, "?"}}},
    {"all moved alike: it was ours",
     3,
     0,
     {{0, 1, 0, 1, "..."},
      {1, 1, 0, 1, "..."},
      {2, 1, 0, 1, "..."},
      {0, 10, 5000, 1, "?.."},
      {0, 20, 5000, 1, "?.."}, /* the others may have moved as well */
      {1, 20, 5000, 1, "??."},
      {2, 20, 5001, 9, "..."},
      {1, 40, 5000, 1, "..."}}},
    {"all moved, one of them elsewhere",
     5,
     0,
     {{0, 1, 0, 1, "....."},
      {1, 1, 0, 1, "....."},
      {2, 1, 0, 1, "....."},
      {3, 1, 0, 1, "....."},
      {4, 1, 0, 1, "....."},
      {0, 10, 5000, 1, "?...."},
      {1, 20, 5000, 1, "??..."},
      {2, 20, 4000, 1, "???.."},
      {3, 20, 5000, 1, "????."},
      {0, 30, 5000, 1, "????."}, /* the last one may have moved as well */
      {4, 30, 5000, 1, "..?.."},
      {2, 40, 4000, 1, "..?.."},
      {2, 1021, 4000, 1, "..!.."}}},
    {"two of three moved alike: ours is one of those that did not",
     3,
     0,
     {{0, 1, 0, 1, "..."},
      {1, 1, 0, 1, "..."},
      {2, 1, 0, 1, "..."},
      {0, 10, 5000, 1, "?.."},
      {1, 10, 5000, 1, "??."},
      {2, 20, 0, 1, "??."},
      {1, 20, 5000, 1, "??."},
      {0, 20, 5000, 1, "!!."}}},
    {"who moved farther moved otherwise",
     2,
     0,
     {{0, 1, 0, 1, ".."},
      {1, 1, 0, 1, ".."},
      {0, 10, 50, 1, "?."},
      {1, 20, 5000, 1, "??"},
      {0, 30, 50, 1, "!?"}}},
    {"two that moved alike are no majority: our own did not move",
     2,
     0,
     {{0, 1, 0, 1, ".."},
      {1, 1, 0, 1, ".."},
      {0, 10, 5000, 1, "?."},
      {1, 20, 5000, 1, "??"},
      {0, 30, 5000, 1, "!?"}}},
    {"one reading is never enough",
     2,
     0,
     {{0, 1, 0, 1, ".."}, {1, 1, 0, 1, ".."}, {0, 10, 5000, 1, "?."}, {1, 2000, 0, 1, "?."}}},
    {"one is down: it is not waited for",
     3,
     0,
     {{0, 1, 0, 1, "..."},
      {1, 1, 0, 1, "..."},
      {0, 10, 50, 1, "?.."},
      {0, 100, 50, 1, "?.."},
      {0, 1009, 50, 1, "?.."},
      {0, 1010, 50, 1, "!.."}}},
    {"too fast: 2 %",
     1,
     0,
     {{0, 1, 0, 0, "."},
      {0, 101, 2, 0, "."},
      {0, 201, 4, 0, "."},
      {0, 401, 8, 0, "?"},
      {0, 601, 12, 0, "!"}}},
    {"stands still", 1, 0, {{0, 1, 0, 0, "."}, {0, 3, -2, 0, "."}, {0, 9, -8, 0, "?"}, {0, 12, -11, 0, "!"}}},
    {"back when its clock was right for so long, and one reading tells",
     1,
     0,
     {{0, 1, 0, 0, "."},
      {0, 10, 50, 0, "?"},
      {0, 11, 50, 0, "!"},
      {0, 1010, 50, 0, "!"},
      {0, 1011, 99, 0, "!"},
      {0, 2010, 99, 0, "!"},
      {0, 2011, 99, 0, "."}}},
    {"as much time as has passed unseen",
     1,
     5000,
     {{0, 1, 0, 0, "."}, {0, 10, 4999, 0, "."}, {0, 11, 5006, 0, "?"}}},
    {"unseen time excuses no clock that is too late", 1, 5000, {{0, 1, 0, 0, "."}, {0, 10, -50, 0, "?"}}},
    {"times that cannot be",
     1,
     0,
     {{0, 1, INT64_MIN / 2, 0, "."}, {0, 2, INT64_MAX / 2, 0, "?"}, {0, 3, INT64_MIN / 2, 0, "."}}},
};

static uint32_t read_step(struct rl_offset *all, unsigned count, const struct step *s)
{
	struct rl_offset_reading r = {s->at_ms * RL_NS_PER_MS, (s->at_ms + s->rtt_ms) * RL_NS_PER_MS,
	                              base_ms + (int64_t)s->at_ms + s->off_ms};
	return rl_offset_read(all, count, s->node, &rules, &r);
}

TEST(the_clock_that_went_wrong)
{
	for (size_t i = 0; i < COUNT(scenes); i++) {
		const struct scene *scene = &scenes[i];
		struct rl_offset all[MOST] = {{0}};
		char before[MOST + 1] = ".....", states[MOST + 1] = "";
		print_message("  %s\n", scene->name);
		for (const struct step *s = scene->steps; s < scene->steps + STEPS && s->states != NULL; s++) {
			uint32_t told = 0, news = read_step(all, scene->count, s);
			for (unsigned n = 0; n < scene->count; n++) {
				states[n] = all[n].out_until_ns != 0 ? '!' : all[n].odd_ns != 0 ? '?' : '.';
				told |= (uint32_t)(states[n] != before[n] && states[n] != '.') << n;
			}
			assert_string_equal(states, s->states);
			assert_int_equal(told & ~news, 0);
			assert_int_equal(news & ~told, strcmp(states, before) == 0 && *states == '!' ? news : 0);
			memcpy(before, states, sizeof before);
			if (s == scene->steps && scene->leap_before_ms > 0)
				rl_offset_leap(all, scene->count, scene->leap_before_ms * RL_NS_PER_MS);
		}
	}
}

TEST(by_how_much)
{
	static const int64_t moved_ms[] = {50, -50, 0};
	for (size_t i = 0; i < COUNT(moved_ms); i++) {
		struct rl_offset o = {0};
		int64_t least = (moved_ms[i] - (moved_ms[i] > 0 ? 4 : -4)) * (int64_t)RL_NS_PER_MS;
		read_step(&o, 1, &(struct step){0, 1, 0, 0, ""});
		read_step(&o, 1, &(struct step){0, 2, moved_ms[i], 0, ""});
		int64_t got = rl_offset_moved_ns(&o);
		assert_true(moved_ms[i] == 0 ? got == 0 : least > 0 ? got > least : got < least);
	}
}

/* However much time is said to have passed: from then on no clock can be ahead, nor is a sum too large. */
TEST(leaps_without_end)
{
	struct rl_offset o = {0};
	read_step(&o, 1, &(struct step){0, 1, 0, 0, ""});
	for (int i = 0; i < 9; i++)
		rl_offset_leap(&o, 1, UINT64_MAX);
	assert_true(o.most_ns > INT64_MAX / 4);
	assert_int_equal(read_step(&o, 1, &(struct step){0, 2, 9000, 0, ""}), 0);
	assert_int_equal(read_step(&o, 1, &(struct step){0, 3, 0, 0, ""}), 1);
}

/* A constant difference: told of who is far from ours and from most others. */
TEST(clocks_that_are_apart)
{
	static const struct {
		int64_t off_ms[3]; /* of the others, 1 more than it is; 0: not known */
		int64_t of_ms;
		bool is;
	} cases[] = {
	    {{0}, 0, false},          {{0}, 2000, true},           {{0}, -2000, true},
	    {{1, 1}, 2000, true},     {{2001, 2001}, 2000, false}, {{2001, 1}, 2000, true},
	    {{2001, 2001}, 0, false}, {{4001, -4001}, 2000, true},
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rl_offset all[3] = {{0}};
		read_step(all, 3, &(struct step){0, 1, cases[i].of_ms, 0, ""});
		for (unsigned n = 1; n < 3; n++)
			if (cases[i].off_ms[n - 1] != 0)
				read_step(all, 3, &(struct step){n, 1, cases[i].off_ms[n - 1] - 1, 0, ""});
		assert_int_equal(rl_offset_apart_ns(&(struct rl_offset){0}, 1, 0, 0, 0), 0); /* nothing is known */
		int64_t apart = rl_offset_apart_ns(all, 3, 0, base_ms * (int64_t)RL_NS_PER_MS, 1000000000);
		assert_int_equal(apart != 0, cases[i].is);
		assert_true(!cases[i].is || (apart > 0) == (cases[i].of_ms > 0));
	}
}

TESTS()
