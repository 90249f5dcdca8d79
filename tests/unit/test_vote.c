/* SPDX-License-Identifier: MIT */
/* Every vote code has a kind, a name and a sentence; any other number is safe to ask about. */
#include <redlock/redlock.h>

#include "unit.h"

TEST(every_vote_is_named)
{
	static const struct {
		enum redlock_vote_code code;
		enum redlock_vote_kind kind;
		const char *name;
	} votes[] = {
#define VOTE(name, value, kind, text) {REDLOCK_VOTE_##name, REDLOCK_KIND_##kind, #name},
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

/* The numbers are a promise to programs that were built before, and to bindings, which copy them. A new one
 * is added here too. */
TEST(numbers_stay)
{
	static const char *const promised[] = {
	    "PENDING", "YES",        "NO",      "TIMEOUT",   "UNSENT",       "DOWN",      "CLOSED",    "BACKLOG",
	    "LOADING", "BLOCKED",    "OOM",     "MISCONF",   "REPLICAS",     "SERVER",    "GARBAGE",   "READONLY",
	    "CLUSTER", "AUTH",       "NOPERM",  "COMMAND",   "DATABASE",     "NAME",      "DUPLICATE", "TLS",
	    "STALE",   "QUARANTINE", "FOREIGN", "UNGUARDED", "LONG_TTL",     "UNCOUNTED", "CLOCK",     "SLOTS",
	    "SERVICE", "UNCHECKED",  "MASTER",  "SHARD",     "UNREPLICATED",
	};
	assert_int_equal(COUNT(promised), REDLOCK_VOTE_COUNT);
	for (unsigned i = 0; i < COUNT(promised); i++)
		assert_string_equal(redlock_vote_name((enum redlock_vote_code)i), promised[i]);

	static const int others[][6] = {
	    {REDLOCK_KIND_PENDING, REDLOCK_KIND_YES, REDLOCK_KIND_NO, REDLOCK_KIND_MISSING, REDLOCK_KIND_FATAL,
	     5},
	    {REDLOCK_OP_NONE, REDLOCK_OP_ACQUIRE, REDLOCK_OP_EXTEND, REDLOCK_OP_RELEASE, REDLOCK_OP_QUERY,
	     REDLOCK_OP_PROBE},
	    {0, REDLOCK_EVENT_DONE, REDLOCK_EVENT_DANGER, REDLOCK_EVENT_LOST, 4, 5},
	};
	for (unsigned i = 0; i < COUNT(others); i++)
		for (int value = 0; value < 6; value++)
			assert_int_equal(others[i][value], value);
}

TEST(few_votes_are_definite)
{
	assert_int_equal(redlock_vote_kind(REDLOCK_VOTE_PENDING), REDLOCK_KIND_PENDING);
	assert_int_equal(redlock_vote_kind(REDLOCK_VOTE_YES), REDLOCK_KIND_YES);
	assert_int_equal(redlock_vote_kind(REDLOCK_VOTE_NO), REDLOCK_KIND_NO);
	for (unsigned code = REDLOCK_VOTE_NO + 1; code < REDLOCK_VOTE_COUNT; code++)
		assert_true(redlock_vote_kind((enum redlock_vote_code)code) >= REDLOCK_KIND_MISSING);
}

TEST(unknown_votes_are_missing)
{
	static const int unknown[] = {REDLOCK_VOTE_COUNT, REDLOCK_VOTE_COUNT + 1, 1000, -1};
	for (unsigned i = 0; i < COUNT(unknown); i++) {
		enum redlock_vote_code code = (enum redlock_vote_code)unknown[i];
		assert_int_equal(redlock_vote_kind(code), REDLOCK_KIND_MISSING);
		assert_string_equal(redlock_vote_name(code), "UNKNOWN");
		assert_string_equal(redlock_vote_text(code), "unknown vote");
	}
}

TESTS()
