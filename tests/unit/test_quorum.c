/* SPDX-License-Identifier: MIT */
/* Majority, saturating time, drift, validity, and what votes decide, against plain statements of rules. */
#include "core/quorum.h"
#include "core/time.h"
#include "core/validity.h"

#include <redlock/redlock.h>

#include "unit.h"

TEST(two_majorities_share_a_node)
{
	for (unsigned n = 1; n <= REDLOCK_MAX_NODES; n++) {
		assert_true(2 * rl_quorum_least(n) > n);
		assert_true(2 * (rl_quorum_least(n) - 1) <= n); /* one less would not need to */
		assert_true(rl_quorum_least(n) <= n);
	}
}

TEST(time_saturates)
{
	const uint64_t never = UINT64_MAX;
	assert_int_equal(rl_time_add(1, 2), 3);
	assert_true(rl_time_add(never, 0) == never);
	assert_true(rl_time_add(never, 1) == never);
	assert_true(rl_time_add(never - 1, 1) == never);
	assert_true(rl_time_add(never - 1, 2) == never);
	assert_true(rl_time_add(1, never) == never);
	assert_true(rl_time_add(never, never) == never);
	assert_int_equal(rl_time_sub(3, 2), 1);
	assert_int_equal(rl_time_sub(2, 3), 0);
	assert_int_equal(rl_time_sub(2, never), 0);
	assert_true(rl_time_sub(never, 5) == never);
	assert_true(rl_time_sub(never, never) == never); /* never is not a time: it stays */
	assert_true(rl_time_sub(never - 1, 1) == never - 2);
	assert_int_equal(rl_time_min(1, never), 1);
	assert_int_equal(rl_time_min(2, 1), 1);
	assert_int_equal(rl_time_max(1, 2), 2);
	assert_true(rl_time_max(never, 2) == never);
}

TEST(milliseconds_saturate)
{
	const uint64_t most = UINT64_MAX / 1000000;
	assert_true(rl_time_ms(0) == 0);
	assert_true(rl_time_ms(1) == 1000000);
	assert_true(rl_time_ms(most) == most * 1000000);
	assert_true(rl_time_ms(most + 1) == UINT64_MAX);
	assert_true(rl_time_ms(UINT64_MAX) == UINT64_MAX);
}

/* ceil(ttl * ppm / 1e6) + base, in 128 bits. */
static uint64_t drift_by_hand(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns)
{
	unsigned __int128 exact = ((unsigned __int128)ttl_ns * ppm + 999999) / 1000000;
	unsigned __int128 all = exact + base_ns;
	return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

TEST(drift_rounds_up)
{
	assert_true(rl_validity_drift(1, 1, 0) == 1);
	assert_true(rl_validity_drift(1000000, 1, 0) == 1);
	assert_true(rl_validity_drift(1000001, 1, 0) == 2);
	assert_true(rl_validity_drift(0, 10000, 7) == 7);
	assert_true(rl_validity_drift(5, 0, 0) == 0);
	assert_true(rl_validity_drift(rl_time_ms(30000), 10000, rl_time_ms(2)) == rl_time_ms(302));
	assert_true(rl_validity_drift(rl_time_ms(10), 10000, rl_time_ms(2)) == rl_time_ms(2) + 100000);
}

TEST(drift_does_not_overflow)
{
	static const uint64_t bases[] = {0, 1, 2000000, UINT64_MAX - 1, UINT64_MAX};
	const uint64_t month = rl_time_ms(REDLOCK_MAX_TTL_MS);
	const uint64_t ttls[] = {
	    0, 1, 999999, 1000000, 1000001, month - 1, month / 3, month / 7, rl_time_ms(10) + 1, month};
	static const uint32_t ppms[] = {0, 1, 999, 10000, 999999, 1000000, 1000001, UINT32_MAX - 1, UINT32_MAX};
	for (unsigned t = 0; t < COUNT(ttls); t++)
		for (unsigned p = 0; p < COUNT(ppms); p++)
			for (unsigned b = 0; b < COUNT(bases); b++)
				assert_true(rl_validity_drift(ttls[t], ppms[p], bases[b]) ==
				            drift_by_hand(ttls[t], ppms[p], bases[b]));
	struct rng rng = {1};
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t ttl = rng_next(&rng) % (month + 1);
		uint32_t ppm = (uint32_t)(rng_next(&rng) >> (32 + rng_below(&rng, 32)));
		uint64_t base = rng_next(&rng) >> rng_below(&rng, 64);
		assert_true(rl_validity_drift(ttl, ppm, base) == drift_by_hand(ttl, ppm, base));
	}
}

TEST(validity_ends_before_the_key)
{
	assert_true(rl_validity_end(100, 50, 10) == 140);
	assert_true(rl_validity_end(100, 50, 50) == 100); /* nothing is left */
	assert_true(rl_validity_end(100, 50, 51) == 100);
	assert_true(rl_validity_end(100, 50, UINT64_MAX) == 100);
	assert_true(rl_validity_end(UINT64_MAX - 5, 50, 10) == UINT64_MAX);
}

/* ---- tallies ---- */

typedef enum rl_tally (*tally_function)(struct rl_count count);

/* The tally once every node has answered or failed: the statement of the rules in one place. */
static enum rl_tally final_claim(struct rl_count c)
{
	if (c.yes >= c.quorum)
		return RL_WON;
	return c.yes + c.no >= c.quorum ? RL_REFUSED : RL_NOQUORUM;
}

static enum rl_tally final_check(struct rl_count c)
{
	bool lacking = c.nodes - c.no < c.quorum; /* no quorum can have it */
	if (c.yes >= c.quorum)
		return RL_WON;
	return lacking ? RL_REFUSED : RL_NOQUORUM;
}

static enum rl_tally final_release(struct rl_count c)
{
	bool was_there = c.nodes - c.yes < c.quorum; /* no quorum can lack it, whatever the silent ones have */
	if (c.no >= c.quorum)
		return RL_REFUSED;
	return was_there && c.yes + c.no >= c.quorum ? RL_WON : RL_NOQUORUM;
}

/* Bit per verdict that some way to complete the round leads to. */
static unsigned reachable(tally_function final, struct rl_count c)
{
	unsigned verdicts = 0;
	for (unsigned yes = 0; yes <= c.out; yes++)
		for (unsigned no = 0; yes + no <= c.out; no++) {
			struct rl_count end = {c.nodes, c.quorum, c.yes + yes, c.no + no, 0, 0};
			verdicts |= 1u << final(end);
		}
	return verdicts;
}

static void check_one(tally_function tally, tally_function final, struct rl_count c)
{
	unsigned verdicts = reachable(final, c);
	bool certain = (verdicts & (verdicts - 1)) == 0;
	enum rl_tally want = certain ? (enum rl_tally)__builtin_ctz(verdicts) : RL_UNDECIDED;
	enum rl_tally got = tally(c);
	if (got != want)
		fail_msg("nodes %u quorum %u yes %u no %u out %u: %d, not %d", c.nodes, c.quorum, c.yes, c.no, c.out,
		         (int)got, (int)want);
}

/* A round is decided when, and only when, no answer that may still come could change the verdict. */
static void check_tally(tally_function tally, tally_function final)
{
	unsigned checked = 0;
	for (unsigned n = 1; n <= 7; n++)
		for (unsigned quorum = rl_quorum_least(n); quorum <= n; quorum++)
			for (unsigned yes = 0; yes <= n; yes++)
				for (unsigned no = 0; yes + no <= n; no++)
					for (unsigned out = 0; yes + no + out <= n; out++, checked++)
						check_one(tally, final, (struct rl_count){n, quorum, yes, no, out, 0});
	assert_int_equal(checked, 1024);
}

TEST(claim_tally_is_exact)
{
	check_tally(rl_quorum_for_claim, final_claim);
}

TEST(check_tally_is_exact)
{
	check_tally(rl_quorum_for_check, final_check);
}

TEST(release_tally_is_exact)
{
	check_tally(rl_quorum_for_release, final_release);
}

/* An extend is decided as a claim is. A lock is lost only by a quorum that says so. */
TEST(extend_tally_loses_by_a_quorum)
{
	for (unsigned yes = 0; yes <= 5; yes++)
		for (unsigned no = 0; yes + no <= 5; no++)
			for (unsigned out = 0; yes + no + out <= 5; out++) {
				struct rl_count count = {5, 3, yes, no, out, 0};
				enum rl_tally claim = rl_quorum_for_claim(count);
				enum rl_tally want = claim == RL_REFUSED && no < 3 ? RL_NOQUORUM : claim;
				assert_int_equal(rl_quorum_for_extend(count), want);
				assert_int_equal(rl_quorum_for_extend(count) == RL_REFUSED, no >= 3);
			}
}

/* Two claimants who ask the same nodes cannot both win: no node says yes to both. */
TEST(two_claimants_cannot_both_win)
{
	for (unsigned n = 1; n <= 7; n++)
		for (unsigned a = 0; a <= n; a++) {
			struct rl_count first = {.nodes = n, .quorum = rl_quorum_least(n), .yes = a, .no = n - a};
			struct rl_count second = {.nodes = n, .quorum = rl_quorum_least(n), .yes = n - a, .no = a};
			assert_false(rl_quorum_for_claim(first) == RL_WON && rl_quorum_for_claim(second) == RL_WON);
		}
}

TESTS()
