/* SPDX-License-Identifier: MIT */
/* Which node set has a name: shares, what an added set moves, hash tags, and the quorum of two sets. */
#include "spread.h"

#include <stdio.h>

#include "core/quorum.h"
#include "unit.h"

enum { NAMES = 4000 };

static const char *const urls[REDLOCK_MAX_NODES] = {"redis://10.0.0.1", "redis://10.0.0.2",
                                                    "redis://10.0.0.3"};
static char texts[REDLOCK_MAX_SETS][16];

/* Sets s0, s1 and so on; `joining`: the index of the one that joins, -1: none. */
static struct rl_spread_sets make(unsigned count, int joining)
{
	struct redlock_node_set list[REDLOCK_MAX_SETS];
	struct redlock_options options;
	struct rl_spread_sets sets;
	redlock_options_init(&options);
	options.sets = list;
	options.set_count = count;
	for (unsigned i = 0; i < count; i++) {
		snprintf(texts[i], sizeof texts[i], "s%u", i);
		list[i] = (struct redlock_node_set){.size = sizeof list[i],
		                                    .name = texts[i],
		                                    .urls = urls,
		                                    .url_count = 3,
		                                    .joining = (int)i == joining};
	}
	assert_null(rl_spread_take(&options, &sets));
	return sets;
}

static struct rl_spread_choice choose(const struct rl_spread_sets *sets, const char *prefix, const char *name)
{
	struct rl_spread_choice choice;
	const struct redlock_name list = {name, strlen(name)};
	assert_null(rl_spread_choose(sets, rl_slice_of(prefix), &list, 1, &choice));
	return choice;
}

static struct rl_spread_choice choose_numbered(const struct rl_spread_sets *sets, unsigned number)
{
	char name[32];
	snprintf(name, sizeof name, "job-%u", number);
	return choose(sets, "", name);
}

/* The square of the difference from the mean is below 25 times the variance: five standard deviations. */
static void assert_near(unsigned count, unsigned sets)
{
	double mean = (double)NAMES / sets, variance = mean * (1 - 1.0 / sets);
	double off = (double)count - mean;
	assert_true(off * off < 25 * variance);
}

TEST(each_set_has_an_even_share)
{
	for (unsigned count = 2; count <= REDLOCK_MAX_SETS; count++) {
		struct rl_spread_sets sets = make(count, -1);
		unsigned share[REDLOCK_MAX_SETS] = {0};
		for (unsigned i = 0; i < NAMES; i++)
			share[choose_numbered(&sets, i).set]++;
		for (unsigned i = 0; i < count; i++)
			assert_near(share[i], count);
	}
}

/* Every client computes the same weights, whatever its version and machine. */
TEST(weights_never_change)
{
	assert_true(rl_spread_weight("a", rl_slice_of("job")) == 0xCE8E01E16682B8CFu);
	assert_true(rl_spread_weight("b", rl_slice_of("job")) == 0x71CC45A2B304F49Au);
	assert_true(rl_spread_weight("", rl_slice_of("")) == 0x8932C885A3FE960Eu);
	assert_true(rl_spread_weight("ab", rl_slice_of("c")) != rl_spread_weight("a", rl_slice_of("bc")));
}

TEST(the_order_of_the_sets_does_not_matter)
{
	struct rl_spread_sets sets = make(5, -1), turned = sets;
	for (unsigned i = 0; i < sets.count; i++)
		turned.list[i] = sets.list[(i + 2) % sets.count];
	for (unsigned i = 0; i < 1000; i++)
		assert_string_equal(sets.list[choose_numbered(&sets, i).set].name,
		                    turned.list[choose_numbered(&turned, i).set].name);
}

/* A name stays or goes to the new set. While that joins, the name has the nodes of its old set, and those of
 * the new one exactly if it will go there. */
TEST(a_set_that_is_added_moves_its_share_only)
{
	for (unsigned count = 1; count < REDLOCK_MAX_SETS; count++) {
		struct rl_spread_sets before = make(count, -1), during = make(count + 1, (int)count);
		struct rl_spread_sets after = make(count + 1, -1);
		unsigned moved = 0;
		for (unsigned i = 0; i < NAMES; i++) {
			struct rl_spread_choice old = choose_numbered(&before, i), new = choose_numbered(&after, i);
			struct rl_spread_choice joint = choose_numbered(&during, i);
			assert_int_equal(joint.set, old.set);
			assert_int_equal(joint.joins, new.set == count);
			assert_true(new.set == old.set || new.set == count);
			assert_false(old.joins || new.joins);
			moved += new.set == count;
		}
		assert_near(moved, count + 1);
	}
}

TEST(the_joining_set_may_stand_anywhere)
{
	struct rl_spread_sets first = make(3, 0), last = first;
	for (unsigned i = 0; i < 3; i++)
		last.list[i] = first.list[(i + 1) % 3];
	last.joining = 2;
	for (unsigned i = 0; i < 1000; i++) {
		struct rl_spread_choice a = choose_numbered(&first, i), b = choose_numbered(&last, i);
		assert_string_equal(first.list[a.set].name, last.list[b.set].name);
		assert_int_equal(a.joins, b.joins);
	}
}

TEST(names_with_one_hash_tag_are_together)
{
	struct rl_spread_sets sets = make(16, -1);
	const struct redlock_name same[] = {{"{job}:a", 7}, {"{job}:b", 7}, {"x{job}", 6}};
	const struct redlock_name apart[] = {{"{job}:a", 7}, {"{jot}:a", 7}};
	const struct redlock_name plain[] = {{"a", 1}, {"b", 1}};
	struct rl_spread_choice choice;
	assert_null(rl_spread_choose(&sets, rl_slice_of(""), same, 3, &choice));
	assert_int_equal(choice.set, choose(&sets, "", "job").set);
	assert_non_null(rl_spread_choose(&sets, rl_slice_of(""), apart, 2, &choice));
	assert_non_null(rl_spread_choose(&sets, rl_slice_of(""), plain, 2, &choice));
	/* a client without a prefix locks the same key */
	assert_int_equal(choose(&sets, "app:", "job").set, choose(&sets, "", "app:job").set);
	assert_null(rl_spread_choose(&sets, rl_slice_of("{app}"), plain, 2, &choice));
	assert_int_equal(choice.set, choose(&sets, "", "app").set);
}

static struct redlock_node_set joined(unsigned nodes, unsigned quorum, unsigned other, unsigned other_quorum)
{
	struct rl_spread_sets sets = make(2, 1);
	struct redlock_node_set ret;
	const char *list[REDLOCK_MAX_NODES];
	sets.list[0].url_count = nodes;
	sets.list[0].quorum = quorum;
	sets.list[1].url_count = other;
	sets.list[1].quorum = other_quorum;
	assert_null(rl_spread_nodes(&sets, (struct rl_spread_choice){.set = 0, .joins = true}, list, &ret));
	assert_int_equal(ret.url_count, nodes + other);
	assert_int_equal(ret.joining, 1);
	return ret;
}

/* So many votes contain a quorum of each set however they fall, one less need not. And that many is possible,
 * and more than half of all. */
TEST(the_quorum_of_two_sets_contains_one_of_each)
{
	for (unsigned a = 1; a <= 15; a++)
		for (unsigned b = 1; b <= 15; b++)
			for (unsigned q = rl_quorum_least(a); q <= a; q++)
				for (unsigned p = rl_quorum_least(b); p <= b; p++) {
					unsigned k = joined(a, q, b, p).quorum;
					assert_true(k >= b + q && k >= a + p);
					assert_true(k - 1 < b + q || k - 1 < a + p);
					assert_true(k <= a + b && k >= rl_quorum_least(a + b));
				}
	assert_int_equal(joined(3, 0, 3, 0).quorum, 5);
	assert_int_equal(joined(5, 0, 5, 0).quorum, 8);
	assert_int_equal(joined(1, 0, 3, 0).quorum, 4);
}

static void expect_refused(struct redlock_options *options, const char *want)
{
	struct redlock_node_set set = {.size = sizeof set};
	const struct redlock_name name = {"job", 3};
	const char *list[REDLOCK_MAX_NODES];
	char why[256] = "";
	options->error_text = why;
	options->error_text_size = sizeof why;
	assert_int_equal(redlock_nodes_of(options, &name, 1, list, &set), REDLOCK_E_INVAL);
	assert_non_null(strstr(why, want));
}

TEST(wrong_sets_are_refused)
{
	struct rl_spread_sets sets = make(3, -1);
	struct redlock_options o;
	redlock_options_init(&o);
	o.sets = sets.list;
	o.set_count = 0;
	expect_refused(&o, "1 to 16");
	o.set_count = REDLOCK_MAX_SETS + 1;
	expect_refused(&o, "1 to 16");
	o.set_count = 3;
	o.url_count = 1;
	expect_refused(&o, "belong to each");
	o.url_count = 0;
	o.guarded_set = "0123456789abcdef";
	expect_refused(&o, "guarded_set");
	o.guarded_set = NULL;
	sets.list[1].name = "s0";
	expect_refused(&o, "the same name");
	sets.list[1].name = "";
	expect_refused(&o, "has no name");
	sets.list[1] = (struct redlock_node_set){.size = 1};
	expect_refused(&o, "has no size");
	sets = make(3, 1);
	sets.list[2].joining = 1;
	expect_refused(&o, "joining is 1");
	sets.list[2].joining = 2;
	expect_refused(&o, "joining is 1");
	sets.list[2].joining = 0;
	o.guard = REDLOCK_GUARD_REQUIRE;
	expect_refused(&o, "guarded");
	sets = make(1, 0 - 1);
	sets.list[0].joining = 1;
	o.set_count = 1;
	o.guard = REDLOCK_GUARD_AUTO;
	expect_refused(&o, "without another");
}

TEST(wrong_nodes_are_refused)
{
	struct rl_spread_sets sets = make(2, 1);
	struct redlock_node_set ret;
	const char *list[REDLOCK_MAX_NODES];
	const struct rl_spread_choice joint = {.set = 0, .joins = true};
	sets.list[0].url_count = 0;
	assert_non_null(rl_spread_nodes(&sets, joint, list, &ret));
	sets.list[0].url_count = 29;
	assert_non_null(rl_spread_nodes(&sets, joint, list, &ret)); /* 32 with the other set */
	sets.list[0].url_count = 28;
	assert_null(rl_spread_nodes(&sets, joint, list, &ret));
	sets.list[0].quorum = 14;
	assert_non_null(rl_spread_nodes(&sets, joint, list, &ret));
	sets.list[0].quorum = 29;
	assert_non_null(rl_spread_nodes(&sets, joint, list, &ret));
	sets.list[0].quorum = 0;
	sets.list[1].quorum = 1;
	assert_non_null(rl_spread_nodes(&sets, joint, list, &ret));
	assert_null(rl_spread_nodes(&sets, (struct rl_spread_choice){.set = 0}, list, &ret));
}

TEST(nodes_of_one_name)
{
	struct rl_spread_sets sets = make(2, -1);
	struct redlock_node_set set = {.size = sizeof set};
	const struct redlock_name name = {"job", 3}, empty = {"", 0};
	const char *list[REDLOCK_MAX_NODES];
	struct redlock_options o;
	redlock_options_init(&o);
	o.urls = urls;
	o.url_count = 3;
	o.quorum = 3;
	assert_int_equal(redlock_nodes_of(&o, &name, 1, list, &set), 0); /* one set has all names */
	assert_int_equal(set.url_count, 3);
	assert_int_equal(set.quorum, 3);
	assert_string_equal(list[2], urls[2]);
	o.urls = NULL;
	o.url_count = o.quorum = 0;
	o.sets = sets.list;
	o.set_count = 2;
	assert_int_equal(redlock_nodes_of(&o, &name, 1, list, &set), 0);
	assert_string_equal(set.name, sets.list[choose(&sets, "", "job").set].name);
	assert_ptr_equal(set.urls, list);
	assert_int_equal(redlock_nodes_of(&o, &empty, 1, list, &set), REDLOCK_E_INVAL);
	assert_int_equal(redlock_nodes_of(&o, &name, 0, list, &set), REDLOCK_E_INVAL);
	assert_int_equal(redlock_nodes_of(&o, NULL, 1, list, &set), REDLOCK_E_INVAL);
	assert_int_equal(redlock_nodes_of(NULL, &name, 1, list, &set), REDLOCK_E_INVAL);
}

TESTS()
