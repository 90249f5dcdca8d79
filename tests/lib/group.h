/* SPDX-License-Identifier: MIT */
/*
 * The tests of one program list themselves, in the order of the file:
 *
 *     TEST(something_holds)
 *     {
 *         assert_true(1);
 *     }
 *
 *     TESTS(.after = heal)
 *
 * TESTS is the program's main(). Hooks fail the test that they belong to by the same assertions.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct group_test {
	const char *name;
	void (*run)(void);
	int line;
	struct group_test *next;
};

struct group {
	void (*start)(void), (*stop)(void);   /* around all tests */
	void (*before)(void), (*after)(void); /* around each test */
	const char *argument;                 /* of the program, or NULL */
	struct group_test *tests;             /* by line */
	unsigned count;
};

static struct group group;

static inline void group_add(struct group_test *test)
{
	struct group_test **at = &group.tests;
	while (*at != NULL && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
	group.count++;
}

#define TEST(title)                                                                                          \
	static void test_##title(void);                                                                          \
	__attribute__((constructor)) static void list_##title(void)                                              \
	{                                                                                                        \
		static struct group_test test = {.name = #title, .run = test_##title, .line = __LINE__};             \
		group_add(&test);                                                                                    \
	}                                                                                                        \
	static void test_##title(void)

static inline int group_hook(void (*hook)(void))
{
	if (hook != NULL)
		hook();
	return 0;
}

static inline int group_start(void **state)
{
	(void)state;
	return group_hook(group.start);
}

static inline int group_stop(void **state)
{
	(void)state;
	return group_hook(group.stop);
}

static inline int group_after(void **state)
{
	(void)state;
	return group_hook(group.after);
}

/* A test that fails is left in the middle: its clients stay open, and its threads go on. */
static inline void group_each(void **state)
{
	static const struct group_test *left;
	const struct group_test *test = *state, *before = left;
	if (before != NULL)
		print_message("what %s has begun may still go on\n", before->name);
	left = before != NULL ? before : test;
	group_hook(group.before);
	test->run();
	left = before;
}

/* Runs what has listed itself. Returns how many failed. */
static inline int group_run(const char *file)
{
	struct CMUnitTest *tests = calloc(group.count, sizeof *tests);
	unsigned count = 0;
	for (struct group_test *test = group.tests; test != NULL; test = test->next)
		tests[count++] = (struct CMUnitTest){test->name, group_each, NULL, group_after, test};
	const char *base = strrchr(file, '/');
	int failed =
	    _cmocka_run_group_tests(base != NULL ? base + 1 : file, tests, count, group_start, group_stop);
	free(tests);
	return failed;
}

#define GROUP_SET(argc, argv, ...)                                                                           \
	struct group hooks = {.tests = group.tests, .count = group.count, __VA_ARGS__};                          \
	group = hooks;                                                                                           \
	group.argument = (argc) > 1 ? (argv)[1] : NULL

#define TESTS(...)                                                                                           \
	int main(int argc, char **argv)                                                                          \
	{                                                                                                        \
		GROUP_SET(argc, argv, __VA_ARGS__);                                                                  \
		return group_run(__FILE__);                                                                          \
	}
