/* SPDX-License-Identifier: MIT */
/* Every vote code has a kind, a name and a sentence; any other number is safe to ask about. */
#include <redlock/redlock.h>

#include "unit.h"

static void every_vote_is_named(void **state)
{
	(void)state;
	static const struct {
		enum redlock_vote_code code;
		enum redlock_vote_kind kind;
		const char *name;
	} votes[] = {
#define VOTE(name, kind, text) {REDLOCK_VOTE_##name, REDLOCK_KIND_##kind, #name},
	    REDLOCK_VOTE_MAP(VOTE)
#undef VOTE
	};
	assert_int_equal(COUNT(votes), REDLOCK_VOTE_COUNT);
	for (unsigned i = 0; i < COUNT(votes); i++) {
		assert_int_equal(votes[i].code, i);
		assert_int_equal(redlock_vote_kind(votes[i].code), votes[i].kind);
		assert_string_equal(redlock_vote_name(votes[i].code), votes[i].name);
		assert_true(strlen(redlock_vote_text(votes[i].code)) >= 3);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(redlock_vote_text(votes[i].code), redlock_vote_text(votes[j].code));
	}
}

/* Only YES counts for a claim, and only YES and NO are definite. */
static void few_votes_are_definite(void **state)
{
	(void)state;
	assert_int_equal(redlock_vote_kind(REDLOCK_VOTE_PENDING), REDLOCK_KIND_PENDING);
	assert_int_equal(redlock_vote_kind(REDLOCK_VOTE_YES), REDLOCK_KIND_YES);
	assert_int_equal(redlock_vote_kind(REDLOCK_VOTE_NO), REDLOCK_KIND_NO);
	for (unsigned code = REDLOCK_VOTE_NO + 1; code < REDLOCK_VOTE_COUNT; code++)
		assert_true(redlock_vote_kind((enum redlock_vote_code)code) >= REDLOCK_KIND_MISSING);
}

static void unknown_votes_are_missing(void **state)
{
	(void)state;
	static const int unknown[] = {REDLOCK_VOTE_COUNT, REDLOCK_VOTE_COUNT + 1, 1000, -1};
	for (unsigned i = 0; i < COUNT(unknown); i++) {
		enum redlock_vote_code code = (enum redlock_vote_code)unknown[i];
		assert_int_equal(redlock_vote_kind(code), REDLOCK_KIND_MISSING);
		assert_string_equal(redlock_vote_name(code), "UNKNOWN");
		assert_string_equal(redlock_vote_text(code), "unknown vote");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_vote_is_named),
	    cmocka_unit_test(few_votes_are_definite),
	    cmocka_unit_test(unknown_votes_are_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
