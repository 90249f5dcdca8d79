/* SPDX-License-Identifier: MIT */
/* Opinions about nodes, from the records of a guarded node set. */
#include "net/set.h"

#include <stdio.h>

#include "core/time.h"
#include "unit.h"

#define RUN "0123456789012345678901234567890123456789"
#define OURS (RL_SET_MEMBERS | RL_SET_QUORUM)
#define BEFORE (RL_SET_OLD_MEMBERS | RL_SET_OLD_QUORUM)

static const char *const urls[] = {"redis://B:2/1", "redis://[::1]:6379", "unix:///a/b%20c.sock?db=3"};
static struct rl_set *set;

static struct rl_set *make(bool require)
{
	struct rl_endpoint e[3];
	const struct rl_endpoint *list[3];
	char why[128];
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rl_url_parse(urls[i], &e[i], why, sizeof why), 0);
		list[i] = &e[i];
	}
	struct rl_set *made = rl_set_new(list, 3, 2, require);
	for (unsigned i = 0; i < 3; i++)
		rl_url_free(&e[i]);
	return made;
}

static void tell(unsigned i, int verdict, int flags, const char *words)
{
	struct rl_vote vote = {.code = REDLOCK_VOTE_YES,
	                       .told = RL_TOLD(VERDICT) | RL_TOLD(FLAGS) | RL_TOLD(WORDS),
	                       .verdict = verdict,
	                       .flags = flags,
	                       .words = {words, strlen(words)}};
	rl_set_learn(set, i, &vote);
}

/* Node `i` says so; its record has these words, of which `pass` and the member's name follow from others. */
static void say(unsigned i, int verdict, int flags, const char *id, const char *config, const char *old,
                int step)
{
	char text[512];
	const char *passes = verdict == RL_SET_ADMITTED ? RUN : "another";
	snprintf(text, sizeof text, RUN " %s %s %s %d 900 %s:%s %s%s%s - - - %s", id, config, old, step, passes,
	         config, *old != '-' ? passes : "-", *old != '-' ? ":" : "", *old != '-' ? old : "",
	         set->addresses[i]);
	tell(i, verdict, flags, text);
}

static void say_bare(unsigned i)
{
	static const char text[] = RUN " - - - - - - - - - - -";
	tell(i, RL_SET_BARE, 0, text);
}

/* A vote, or PENDING for a node that is held, YES with a pass, NO plainly. */
static void expect(unsigned i, enum redlock_vote_code vote, const char *what)
{
	struct rl_set_opinion o;
	rl_set_judge(set, i, &o);
	enum redlock_vote_code got = o.kind == RL_SET_HOLD     ? REDLOCK_VOTE_PENDING
	                             : o.kind == RL_SET_PASSES ? REDLOCK_VOTE_YES
	                             : o.kind == RL_SET_ASK    ? REDLOCK_VOTE_NO
	                                                       : o.vote;
	assert_string_equal(redlock_vote_name(got), redlock_vote_name(vote));
	const char *text = o.kind == RL_SET_PASSES ? o.pass : o.why != NULL ? o.why : "";
	if (strstr(text, what) == NULL)
		fail_msg("'%s' is not in '%s'", what, text);
}

TEST(members_are_the_addresses_sorted)
{
	set = make(true);
	assert_string_equal(set->members, "[::1]:6379/0 b:2/1 unix:/a/b c.sock/3");
	rl_set_free(set);
}

static void await_all(void)
{
	for (unsigned i = 0; i < 3; i++)
		rl_set_await(set, i, 1000);
}

TEST(nothing_is_known_until_a_quorum_has_no_record)
{
	for (int require = 0; require < 2; require++) {
		set = make(require);
		await_all();
		say_bare(0);
		expect(0, REDLOCK_VOTE_PENDING, "");
		say_bare(1);
		rl_set_give_up(set, 4);
		for (unsigned i = 0; i < 2; i++)
			expect(i, require ? REDLOCK_VOTE_UNGUARDED : REDLOCK_VOTE_NO, require ? "init" : "");
		expect(2, REDLOCK_VOTE_PENDING, "");
		say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
		expect(0, REDLOCK_VOTE_QUARANTINE, "");
		expect(2, REDLOCK_VOTE_YES, RUN ":c");
		rl_set_free(set);
	}
}

/* Such votes are fewer than a quorum: they may count, and a record that is seen later is noticed. */
TEST(votes_of_a_minority_count_when_the_other_nodes_are_gone)
{
	for (int require = 0; require < 2; require++) {
		set = make(require);
		await_all();
		say_bare(0);
		rl_set_give_up(set, 2 | 4);
		if (require)
			expect(0, REDLOCK_VOTE_QUARANTINE, "waits for a node that has one");
		else
			expect(0, REDLOCK_VOTE_NO, "");
		say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
		assert_true(set->noticed == !require);
		expect(0, REDLOCK_VOTE_QUARANTINE, "");
		rl_set_free(set);
	}
}

/* The one that has not answered yet may have the only record that is left. */
TEST(without_a_record_the_last_node_is_waited_for)
{
	static const struct rl_vote loading = {.code = REDLOCK_VOTE_LOADING};
	enum { ANSWERS, IS_BARE, FAILS, IS_LATE, REFUSES, CASES };
	for (int c = 0; c < 2 * CASES; c++) {
		bool require = c % 2 == 0;
		set = make(require);
		rl_set_limit_wait(set, 0, 700);
		rl_set_limit_wait(set, 560, 900);
		for (unsigned i = 0; i < 3; i++)
			rl_set_await(set, i, 1000 + i);
		say_bare(0);
		say_bare(1);
		expect(0, REDLOCK_VOTE_PENDING, "");
		assert_true(rl_set_deadline(set) == 1490);
		set->changed = false;
		if (c / 2 == ANSWERS)
			say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
		else if (c / 2 == IS_BARE)
			say_bare(2);
		else if (c / 2 == REFUSES)
			rl_set_learn(set, 2, &loading);
		else
			rl_set_give_up(set, c / 2 == FAILS ? 4 : UINT32_MAX);
		assert_true(set->changed);
		assert_true(rl_set_deadline(set) == UINT64_MAX);
		enum redlock_vote_code bare = require ? REDLOCK_VOTE_UNGUARDED : REDLOCK_VOTE_NO;
		expect(1, c / 2 == ANSWERS ? REDLOCK_VOTE_QUARANTINE : bare, "");
		rl_set_await(set, 2, 2000); /* once */
		assert_true(rl_set_deadline(set) == UINT64_MAX);
		rl_set_free(set);
	}
}

/* A plain set waits for it about as long as for the quorum, but for no more than a moment. */
TEST(a_node_that_hangs_costs_a_plain_set_a_moment)
{
	static const struct {
		uint64_t took_ms, grace_ms;
	} cases[] = {{0, 5}, {5, 5}, {12, 12}, {20, 20}, {5000, 20}};
	for (unsigned c = 0; c < COUNT(cases); c++) {
		uint64_t begun_ns = 1000, now_ns = begun_ns + rl_time_ms(cases[c].took_ms);
		set = make(false);
		rl_set_limit_wait(set, rl_time_ms(10000), rl_time_ms(10000));
		for (unsigned i = 0; i < 3; i++)
			rl_set_await(set, i, begun_ns);
		say_bare(0);
		rl_set_settle(set, begun_ns);
		say_bare(1);
		rl_set_settle(set, now_ns);
		rl_set_settle(set, now_ns + 1);
		assert_true(rl_set_deadline(set) == now_ns + rl_time_ms(cases[c].grace_ms));
		expect(0, REDLOCK_VOTE_PENDING, "");
		rl_set_give_up(set, UINT32_MAX);
		expect(0, REDLOCK_VOTE_NO, "");
		rl_set_settle(set, now_ns);
		assert_true(set->at_rest);
		say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1); /* seen late, but seen */
		assert_true(set->noticed && !set->at_rest);
		expect(0, REDLOCK_VOTE_QUARANTINE, "");
		rl_set_free(set);
	}
}

/* A record that was seen only makes a client stricter, until a majority says that this very set was taken
 * back.
 */
TEST(a_guarded_set_stays_guarded_until_it_is_taken_back)
{
	for (int told = 0; told < 2; told++) {
		set = make(false);
		if (told)
			rl_set_assume_guarded(set, "s");
		else
			say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
		enum redlock_vote_code bare = told ? REDLOCK_VOTE_UNGUARDED : REDLOCK_VOTE_QUARANTINE;
		for (unsigned i = 0; i < 3; i++)
			say_bare(i);
		expect(0, bare, "");
		for (unsigned i = 0; i < 3; i++)
			say(i, RL_SET_PLAIN, OURS, "t", "d", "-", 1); /* an old backup */
		expect(0, REDLOCK_VOTE_FOREIGN, "others say guarded");
		say(0, RL_SET_PLAIN, OURS, "s", "c", "-", 1);
		expect(0, REDLOCK_VOTE_QUARANTINE, "was taken back to plain");
		assert_true(rl_set_is_guarded(set));
		say(1, RL_SET_PLAIN, OURS, "s", "c", "-", 1);
		expect(0, REDLOCK_VOTE_NO, "");
		assert_false(rl_set_is_guarded(set));
		say_bare(2);
		expect(2, REDLOCK_VOTE_NO, "");
		rl_set_free(set);
	}
}

/* A single record with other members is enough: this list may be another by mistake. Not so one that was
 * taken back. */
TEST(records_of_other_members)
{
	set = make(false);
	say_bare(0);
	say_bare(1);
	say(2, RL_SET_ADMITTED, RL_SET_QUORUM, "t", "d", "-", 1);
	expect(0, REDLOCK_VOTE_FOREIGN, "a guarded set of other nodes");
	expect(2, REDLOCK_VOTE_FOREIGN, "other members");
	say(2, RL_SET_PLAIN, RL_SET_QUORUM, "t", "d", "-", 1);
	expect(0, REDLOCK_VOTE_NO, "");
	rl_set_free(set);
}

/* A user who may not read the records is a plain client, unless something else says that there is a guard. */
TEST(a_user_who_may_not_read_the_record)
{
	static const struct rl_vote barred = {.code = REDLOCK_VOTE_NOPERM},
	                            loading = {.code = REDLOCK_VOTE_LOADING};
	enum { NOTHING, TOLD, REQUIRED, ANOTHER_NODE, CASES };
	for (int c = 0; c < CASES; c++) {
		set = make(c == REQUIRED);
		await_all();
		if (c == TOLD)
			rl_set_assume_guarded(set, "s");
		rl_set_learn(set, 0, &barred);
		rl_set_learn(set, 1, &loading);
		expect(0, c == NOTHING || c == ANOTHER_NODE ? REDLOCK_VOTE_PENDING : REDLOCK_VOTE_NOPERM, "");
		expect(1, REDLOCK_VOTE_LOADING, "");
		rl_set_learn(set, 1, &barred);
		if (c == ANOTHER_NODE)
			say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
		rl_set_give_up(set, 4);
		expect(0, c == NOTHING ? REDLOCK_VOTE_NO : REDLOCK_VOTE_NOPERM, "");
		assert_int_equal(rl_set_count(set).barred, 2);
		rl_set_free(set);
	}
}

/* While members change, the configuration counts that most nodes accept. */
TEST(the_configuration_of_most_nodes)
{
	set = make(true);
	say(0, RL_SET_ADMITTED, OURS | BEFORE, "s", "d", "c", 2);
	expect(0, REDLOCK_VOTE_YES, ":d");
	say(1, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
	say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
	for (unsigned i = 0; i < 3; i++)
		expect(i, REDLOCK_VOTE_YES, ":c");
	assert_true(set->step == 1 && set->latest == 2); /* an older client repairs nothing */
	say(1, RL_SET_ADMITTED, OURS | BEFORE, "s", "d", "c", 2);
	say(2, RL_SET_ADMITTED, OURS | BEFORE, "s", "d", "c", 2);
	expect(0, REDLOCK_VOTE_YES, ":d");
	assert_int_equal(set->step, 2);
	for (unsigned i = 0; i < 3; i++) /* taken back, and made anew */
		say(i, RL_SET_ADMITTED, OURS, "t", "e", "-", 1);
	assert_true(set->step == 1 && set->latest == 1);
	rl_set_free(set);
}

/* A client that writes a record again says so of its configuration, also when the node that said it was
 * wiped: the mark stays until the configuration changes. */
TEST(a_change_that_is_finished_stays_so)
{
	set = make(false);
	say(0, RL_SET_ADMITTED, OURS, "s", "c", "-", 2);
	assert_false(set->done);
	say(1, RL_SET_ADMITTED, OURS | RL_SET_DONE, "s", "c", "-", 2);
	assert_true(set->done);
	rl_set_forget(set, 1);
	say_bare(1);
	assert_true(set->done);
	say(0, RL_SET_ADMITTED, OURS | BEFORE, "s", "d", "c", 3);
	say(2, RL_SET_ADMITTED, OURS | BEFORE, "s", "d", "c", 3);
	assert_string_equal(set->config, "d");
	assert_false(set->done);
	rl_set_free(set);
}

/* A member that was replaced tells its record first: the list has another id where the others are. */
TEST(a_former_list_without_the_member_that_was_replaced)
{
	set = make(true);
	say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
	expect(2, REDLOCK_VOTE_YES, ":c");
	uint8_t generation = set->generation;
	say(0, RL_SET_ADMITTED, BEFORE, "s", "d", "k", 3);
	expect(0, REDLOCK_VOTE_YES, ":k");
	expect(2, REDLOCK_VOTE_QUARANTINE, "read again");
	say(2, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
	expect(2, REDLOCK_VOTE_FOREIGN, "another configuration");
	assert_true(generation != 0 && set->generation != 0 && set->generation != generation);
	assert_true(set->step < set->latest); /* it admits nobody */
	generation = set->generation;
	say(1, RL_SET_ADMITTED, BEFORE, "s", "d", "k", 3);
	assert_int_equal(set->generation, generation);
	rl_set_free(set);
	set = make(true); /* while the list gets that id, node after node */
	say(0, RL_SET_ADMITTED, BEFORE, "s", "d", "k", 2);
	say(1, RL_SET_ADMITTED, BEFORE, "s", "d", "c", 2);
	say(2, RL_SET_ADMITTED, BEFORE, "s", "d", "c", 2);
	expect(0, REDLOCK_VOTE_QUARANTINE, "too few other nodes");
	expect(1, REDLOCK_VOTE_YES, ":c");
	say(1, RL_SET_ADMITTED, BEFORE, "s", "d", "k", 2);
	expect(1, REDLOCK_VOTE_YES, ":k");
	expect(2, REDLOCK_VOTE_QUARANTINE, "too few other nodes");
	rl_set_free(set);
}

TEST(objections_to_a_node)
{
	static const struct {
		int verdict, flags;
		const char *id, *config;
		enum redlock_vote_code vote, with_auto;
		const char *why;
	} cases[] = {
	    {RL_SET_ADMITTED, OURS, "s", "c", REDLOCK_VOTE_YES, REDLOCK_VOTE_YES, ":c"},
	    {RL_SET_ADMITTED, OURS, "t", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN, "another node set"},
	    {RL_SET_ADMITTED, RL_SET_QUORUM, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN,
	     "other members"},
	    {RL_SET_ADMITTED, RL_SET_MEMBERS, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN,
	     "another quorum"},
	    {RL_SET_ADMITTED, OURS, "s", "e", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN,
	     "another configuration"},
	    {RL_SET_ADMITTED, OURS | RL_SET_REPLICAS, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_YES, ""},
	    {RL_SET_ADMITTED, OURS | RL_SET_PROMOTED, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_YES, ""},
	    {RL_SET_ADMITTED, OURS | RL_SET_NAMELESS, "s", "c", REDLOCK_VOTE_NOPERM, REDLOCK_VOTE_NOPERM,
	     "run_id"},
	    {RL_SET_ADMITTED, OURS | RL_SET_NAMELESS | RL_SET_REPLICAS, "s", "c", REDLOCK_VOTE_NOPERM,
	     REDLOCK_VOTE_NOPERM, "permit +info"},
	    {RL_SET_QUARANTINE, OURS, "s", "c", REDLOCK_VOTE_QUARANTINE, REDLOCK_VOTE_QUARANTINE, ""},
	    {RL_SET_OVER, 0, "s", "b", REDLOCK_VOTE_QUARANTINE, REDLOCK_VOTE_QUARANTINE, ""}, /* an old backup */
	    {RL_SET_OVER, OURS, "t", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN, "another node set"},
	    {RL_SET_NEWER, OURS, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN, "newer"},
	    {RL_SET_REMOVED, OURS, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN, "removed"},
	    {RL_SET_PLAIN, OURS, "t", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN, "others say guarded"},
	    {RL_SET_PLAIN, OURS, "s", "c", REDLOCK_VOTE_QUARANTINE, REDLOCK_VOTE_QUARANTINE, "taken back"},
	    {99, OURS, "s", "c", REDLOCK_VOTE_FOREIGN, REDLOCK_VOTE_FOREIGN, ""},
	};
	for (unsigned i = 0; i < 2 * COUNT(cases); i++) {
		bool require = i % 2 == 0;
		set = make(require);
		say(0, RL_SET_ADMITTED, OURS, "s", "c", "-", 3);
		say(1, RL_SET_ADMITTED, OURS, "s", "c", "-", 3);
		say(2, cases[i / 2].verdict, cases[i / 2].flags, cases[i / 2].id, cases[i / 2].config, "-", 2);
		expect(2, require ? cases[i / 2].vote : cases[i / 2].with_auto, require ? cases[i / 2].why : "");
		rl_set_free(set);
	}
}

/* No answer that a server may send is more than a refusal. */
TEST(answers_that_do_not_count)
{
	static const char *const texts[] = {"",
	                                    "x",
	                                    RUN "0 s c - 1 900 p - - - - m",
	                                    RUN " s c - x 900 p - - - - m",
	                                    RUN " s c - 1 900 p - - - -",
	                                    RUN " s c - 1 9999999999999999999 p - - - - m"};
	for (unsigned i = 0; i < COUNT(texts); i++) {
		set = make(false);
		tell(0, RL_SET_ADMITTED, OURS, texts[i]);
		expect(0, REDLOCK_VOTE_FOREIGN, "");
		rl_set_learn(set, 1, &(struct rl_vote){.code = REDLOCK_VOTE_LOADING});
		expect(1, REDLOCK_VOTE_LOADING, "");
		rl_set_forget(set, 1);
		expect(1, REDLOCK_VOTE_PENDING, "");
		rl_set_free(set);
	}
}

/* A node that was admitted, which votes whatever its counters are; it knows both of them, or none. */
TEST(counters_are_known_together)
{
	static const struct {
		const char *floor, *most;
		bool known;
	} cases[] = {
	    {"7", "9", true},
	    {"007", "9", true},
	    {"7", "9007199254740991", true},
	    {"-", "-", false},
	    {"7", "-", false},
	    {"-", "9", false},
	    {"7", "x", false},
	    {"7", "-9", false},
	    {"7", "nan", false},
	    {"7", "9007199254740992", false},
	    {"9007199254740992", "9", false},
	    {"99999999999999999999", "9", false},
	    {"1e3", "9", false},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		char text[512];
		set = make(true);
		snprintf(text, sizeof text, RUN " s c - 1 900 " RUN ":c - %s %s - %s", cases[i].floor, cases[i].most,
		         set->addresses[0]);
		tell(0, RL_SET_ADMITTED, OURS, text);
		expect(0, REDLOCK_VOTE_YES, ":c");
		assert_int_equal(set->records[0].floor != RL_SET_UNKNOWN, cases[i].known);
		assert_int_equal(set->records[0].most != RL_SET_UNKNOWN, cases[i].known);
		rl_set_free(set);
	}
}

TEST(a_node_whose_clock_went_wrong_has_no_vote)
{
	set = make(true);
	say(0, RL_SET_ADMITTED, OURS, "s", "c", "-", 1);
	expect(0, REDLOCK_VOTE_YES, "");
	set->offsets[0].out_until_ns = 1;
	expect(0, REDLOCK_VOTE_CLOCK, "");
	rl_set_free(set);
}

TESTS()
