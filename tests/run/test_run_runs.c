/* SPDX-License-Identifier: MIT */
/* REDLOCK_RUNS: what is written can be read, and what anybody else wrote does no harm. */
#include "run/runs.h"

#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

static const struct text_list none = {NULL, 0};

/* As a run does it: the environment is its command's then. False: it had no room. */
static bool nest(const char *token, enum runs_kind kind, const char *name, const struct text_list *also)
{
	char *buffer = malloc(RUNS_MAX);
	char *prepared = runs_prepare(buffer, 77, "p:", name, also);

	if (prepared != NULL)
		setenv("REDLOCK_RUNS", runs_complete(prepared, token, kind, "3") + strlen(RUNS_IS), 1);
	free(buffer);
	return prepared != NULL;
}

TEST(runs_are_read_nearest_first)
{
	char odd[] = "x, y\n|%41", umlaut[] = "\xc3\xa4", *further[] = {odd, umlaut};
	const struct text_list also = {further, COUNT(further)};
	struct runs_entry run;

	unsetenv("REDLOCK_RUNS");
	assert_true(nest("first", RUNS_SHARED, "a", &none));
	assert_true(nest("second|me:1", RUNS_SETNX, "b", &also));
	const char *at = runs_begin();
	assert_true(runs_next(&at, &run));
	assert_string_equal(run.token, "second|me:1");
	assert_true(run.nearest && run.kind == RUNS_SETNX && run.slot == 3);
	assert_true(run.guard == getpid() && run.birth == 77);
	assert_true(runs_has(&run, "p:", "b") && runs_has(&run, NULL, "p:b"));
	assert_true(runs_has(&run, "p:", "x, y\n|%41") && runs_has(&run, "p:", "\xc3\xa4"));
	assert_false(runs_has(&run, NULL, "b") || runs_has(&run, "p:", "") || runs_has(&run, "p:", "bb"));
	assert_false(runs_has(&run, "p:", "x") || runs_has(&run, "p:", "x, y\n|A"));
	assert_true(runs_next(&at, &run));
	assert_string_equal(run.token, "first");
	assert_true(!run.nearest && run.kind == RUNS_SHARED && runs_has(&run, "p:", "a"));
	assert_false(runs_next(&at, &run));
}

TEST(it_has_an_end_and_forgets_the_furthest)
{
	static char name[RUNS_MAX];
	struct runs_entry run;
	unsigned count = 0;

	unsetenv("REDLOCK_RUNS");
	for (unsigned i = 0; i < 800; i++) {
		snprintf(name, sizeof(name), "%0100u", i);
		assert_true(nest("token", RUNS_PLAIN, name, &none));
	}
	assert_true(strlen(getenv("REDLOCK_RUNS")) < RUNS_MAX);
	for (const char *at = runs_begin(); runs_next(&at, &run); count++) {
		snprintf(name, sizeof(name), "%0100u", 799 - count);
		assert_true(runs_has(&run, "p:", name));
	}
	assert_in_range(count, 400, 799);
	memset(name, '*', sizeof(name) - 1);
	assert_false(nest("token", RUNS_PLAIN, name, &none));
}

TEST(a_malformed_list_is_empty)
{
	static const char *const lists[] = {"",
	                                    " ",
	                                    ",",
	                                    ",,,,,",
	                                    "t",
	                                    "t,plain,0,1",
	                                    "t,plain,0,1,2",
	                                    ",plain,0,1,2,a",
	                                    "t,plain,,1,2,a",
	                                    "t,odd,0,1,2,a",
	                                    "t,plain,65,1,2,a",
	                                    "t,plain,0,-1,2,a",
	                                    "t,plain,0,1 ,2,a",
	                                    "t,plain,0,4294967297,2,a",
	                                    "t,plain,0,1,99999999999999999999,a",
	                                    "t,plain,0x1,1,2,a"};
	struct runs_entry run;

	for (size_t i = 0; i < COUNT(lists); i++) {
		setenv("REDLOCK_RUNS", lists[i], 1);
		const char *at = runs_begin();
		assert_false(runs_next(&at, &run));
	}
	setenv("REDLOCK_RUNS", "t,plain,0,1,2,,%,%4,a,", 1);
	const char *at = runs_begin();
	assert_true(runs_next(&at, &run));
	assert_true(runs_has(&run, NULL, "a") && !runs_has(&run, NULL, "%") && !runs_has(&run, NULL, "b"));
}

/* Under a sanitizer: nothing after its end is read. */
TEST(whatever_bytes_it_has)
{
	static const char some[] = "t,plain,0,1,2,a%4, 9\xff\nshared";
	struct rng rng = {4711};
	struct runs_entry run;
	char list[64];

	for (unsigned round = 0; round < 20000; round++) {
		size_t size = rng_below(&rng, sizeof(list));
		for (size_t i = 0; i < size; i++)
			list[i] = some[i % 3 ? i % (sizeof(some) - 1) : rng_below(&rng, sizeof(some) - 1)];
		list[size] = '\0';
		setenv("REDLOCK_RUNS", list, 1);
		for (const char *at = runs_begin(); runs_next(&at, &run);)
			(void)runs_has(&run, "a", "a%");
	}
}

TESTS()
