/* SPDX-License-Identifier: MIT */
/* Sized options, and the limits of what may be asked for. */
#include "core/kinds.h"
#include "core/lock.h"
#include "core/sized.h"
#include "core/validity.h"
#include "options.h"

#include "unit.h"

/* ---- structs that grow ---- */

struct today {
	size_t size;
	uint64_t first;
	uint64_t second;
};

struct tomorrow {
	struct today today;
	uint64_t third;
	char tail[8]; /* no padding after it */
};

TEST(options_of_the_same_size)
{
	struct today to = {sizeof to, 1, 2};
	struct today from = {sizeof from, 10, 20};
	assert_int_equal(rl_sized_copy(&to, sizeof to, &from), 0);
	assert_int_equal(to.first, 10);
	assert_int_equal(to.second, 20);
	assert_int_equal(to.size, sizeof to);
}

/* An older caller: what its header did not have keeps its default. */
TEST(shorter_options)
{
	struct today to = {sizeof to, 1, 2};
	struct today from = {offsetof(struct today, second), 10, 20};
	assert_int_equal(rl_sized_copy(&to, sizeof to, &from), 0);
	assert_int_equal(to.first, 10);
	assert_int_equal(to.second, 2);
	assert_int_equal(to.size, sizeof to);
	from.size = sizeof from.size; /* nothing but the size */
	to.first = 1;
	assert_int_equal(rl_sized_copy(&to, sizeof to, &from), 0);
	assert_int_equal(to.first, 1);
}

/* A newer caller: an option that this library does not know is refused unless it is off. */
TEST(longer_options)
{
	struct today to = {sizeof to, 1, 2};
	struct tomorrow from;
	memset(&from, 0, sizeof from);
	from.today = (struct today){sizeof from, 10, 20};
	assert_int_equal(rl_sized_copy(&to, sizeof to, &from), 0);
	assert_int_equal(to.second, 20);
	assert_int_equal(to.size, sizeof to);
	from.tail[7] = 1; /* the very last byte */
	to.first = 1;
	assert_int_equal(rl_sized_copy(&to, sizeof to, &from), REDLOCK_E_INVAL);
	assert_int_equal(to.first, 1); /* untouched */
	from.tail[7] = 0;
	from.third = 1;
	assert_int_equal(rl_sized_copy(&to, sizeof to, &from), REDLOCK_E_INVAL);
}

TEST(options_without_init)
{
	struct today to = {sizeof to, 1, 2};
	struct today from = {0, 10, 20};
	for (from.size = 0; from.size < sizeof from.size; from.size++)
		assert_int_equal(rl_sized_copy(&to, sizeof to, &from), REDLOCK_E_INVAL);
	assert_int_equal(to.first, 1);
}

TEST(defaults)
{
	struct redlock_options o;
	struct redlock_lock_options l;
	memset(&o, 0xff, sizeof o);
	memset(&l, 0xff, sizeof l);
	redlock_options_init(&o);
	redlock_lock_options_init(&l);
	assert_int_equal(o.size, sizeof o);
	assert_null(o.urls);
	assert_null(o.password);
	assert_int_equal(o.quorum, 0);
	assert_int_equal(o.drift_ppm, 10000);
	assert_int_equal(o.drift_ms, 2);
	assert_int_equal(l.size, sizeof l);
	assert_true(l.ttl_ms == REDLOCK_DEFAULT_TTL);
	assert_int_equal(l.wait_ms, 0);
	assert_int_equal(l.renew_ms, 0);
	assert_null(l.token);
}

/* Fields that an older caller does not have are not written, and fields that only a newer one has are off. */
TEST(defaults_of_other_sizes)
{
	union {
		struct redlock_lock_options known;
		unsigned char bytes[sizeof(struct redlock_lock_options) + 64];
	} to;
	struct redlock_lock_options all;
	redlock_lock_options_init(&all);
	for (size_t size = sizeof to.known.size; size <= sizeof to; size++) {
		memset(&to, 0xff, sizeof to);
		redlock_lock_options_init_sized(&to.known, size);
		assert_int_equal(to.known.size, size);
		for (size_t i = sizeof size; i < sizeof to; i++) {
			unsigned byte = i < sizeof all ? ((unsigned char *)&all)[i] : 0;
			assert_int_equal(to.bytes[i], i < size ? byte : 0xff);
		}
		if (size <= sizeof all)
			continue;
		struct redlock_lock_options copy = all;
		assert_int_equal(rl_sized_copy(&copy, sizeof copy, &to), 0);
	}
	memset(&to, 0xff, sizeof to);
	redlock_lock_options_init_sized(&to.known, sizeof to.known.size - 1); /* too small to say so */
	assert_true(to.known.size == SIZE_MAX);
}

/* ---- terms ---- */

static struct redlock_terms terms_of(const struct redlock_options *o, uint64_t ttl_ms)
{
	struct redlock_terms terms = {.size = sizeof terms};
	struct redlock_lock_options l;
	redlock_lock_options_init(&l);
	l.ttl_ms = ttl_ms;
	assert_int_equal(redlock_terms(o, &l, &terms), 0);
	return terms;
}

TEST(terms_by_default)
{
	struct redlock_terms terms = {.size = sizeof terms};
	assert_int_equal(redlock_terms(NULL, NULL, &terms), 0);
	assert_int_equal(terms.size, sizeof terms);
	assert_int_equal(terms.ttl_ms, 30000);
	assert_int_equal(terms.node_timeout_ms, 200);
	assert_int_equal(terms.drift_ms, 302);
	assert_int_equal(terms.validity_ms, 29698);
	assert_int_equal(terms.noquorum_wait_ms, 0); /* as wait_ms */
	assert_int_equal(terms.renew_ms, 0);
	assert_int_equal(terms.danger_ms, 5000);
}

TEST(terms_follow_the_options)
{
	struct redlock_options o;
	redlock_options_init(&o);
	struct redlock_terms terms = terms_of(&o, 101);
	assert_int_equal(terms.node_timeout_ms, 33); /* a third of the TTL, rounded down */
	assert_int_equal(terms.drift_ms, 4);         /* 3.01, rounded up */
	assert_int_equal(terms.validity_ms, 97);     /* what is left, rounded down */
	o.node_timeout_ms = 77;
	o.drift_ppm = 0;
	o.drift_ms = 5;
	terms = terms_of(&o, 101);
	assert_int_equal(terms.node_timeout_ms, 77);
	assert_int_equal(terms.drift_ms, 5);
	assert_int_equal(terms.validity_ms, 96);
	o.drift_ms = 500; /* such a lock is refused, its terms can be told */
	assert_int_equal(terms_of(&o, 101).validity_ms, 0);
	struct redlock_lock_options l;
	redlock_lock_options_init(&l);
	l.wait_ms = REDLOCK_FOREVER;
	l.renew_ms = 7;
	l.danger_ms = 0;
	assert_int_equal(redlock_terms(NULL, &l, &terms), 0);
	assert_true(terms.noquorum_wait_ms == REDLOCK_FOREVER);
	assert_int_equal(terms.renew_ms, 7);
	assert_int_equal(terms.danger_ms, 0);
}

TEST(terms_that_cannot_be_told)
{
	struct redlock_terms terms = {.size = sizeof terms};
	struct redlock_options o;
	struct redlock_lock_options l;
	redlock_options_init(&o);
	redlock_lock_options_init(&l);
	l.ttl_ms = REDLOCK_MAX_TTL_MS + 1;
	assert_int_equal(redlock_terms(&o, &l, &terms), REDLOCK_E_INVAL);
	l.ttl_ms = REDLOCK_MIN_TTL_MS - 1;
	assert_int_equal(redlock_terms(&o, &l, &terms), REDLOCK_E_INVAL);
	l.size = 0;
	assert_int_equal(redlock_terms(&o, &l, &terms), REDLOCK_E_INVAL);
	o.size = 0;
	assert_int_equal(redlock_terms(&o, NULL, &terms), REDLOCK_E_INVAL);
	assert_int_equal(terms.ttl_ms, 0); /* untouched */
}

/* An older caller's result is not written beyond its end. */
TEST(terms_of_an_older_caller)
{
	struct redlock_terms terms = {.size = offsetof(struct redlock_terms, drift_ms), .drift_ms = 9};
	assert_int_equal(redlock_terms(NULL, NULL, &terms), 0);
	assert_int_equal(terms.node_timeout_ms, 200);
	assert_int_equal(terms.drift_ms, 9);
	assert_int_equal(terms.size, offsetof(struct redlock_terms, drift_ms));
}

/* ---- rules ---- */

static struct redlock_lock_options options;

static char why[256];

static int make_drifting(struct rl_rules *rules, uint32_t node_timeout_ms, uint32_t drift_ppm,
                         uint32_t drift_ms)
{
	const struct rl_wish wish = {.options = &options,
	                             .guard = REDLOCK_GUARD_AUTO,
	                             .node_count = 5,
	                             .quorum = 3,
	                             .node_timeout_ms = node_timeout_ms,
	                             .drift_ppm = drift_ppm,
	                             .drift_ms = drift_ms};
	return rl_options_make_rules(rules, &wish, why, sizeof why);
}

static int make(struct rl_rules *rules, uint32_t node_timeout_ms)
{
	return make_drifting(rules, node_timeout_ms, 10000, 2);
}

static int make_with(uint64_t ttl_ms, uint32_t node_timeout_ms)
{
	struct rl_rules rules;
	redlock_lock_options_init(&options);
	options.ttl_ms = ttl_ms;
	return make(&rules, node_timeout_ms);
}

TEST(limits_of_the_ttl)
{
	assert_int_equal(make_with(9, 1), REDLOCK_E_INVAL);
	assert_int_equal(make_with(10, 0), 0);
	assert_int_equal(make_with(REDLOCK_MAX_TTL_MS, 0), 0);
	assert_int_equal(make_with(REDLOCK_MAX_TTL_MS + 1, 0), REDLOCK_E_INVAL);
	assert_int_equal(make_with(UINT64_MAX, 0), REDLOCK_E_INVAL);
	assert_int_equal(make_with(0, 0), REDLOCK_E_INVAL);
}

/* node timeout + drift < ttl. At 1000 ms drift is 12 ms. */
TEST(node_timeout_and_drift)
{
	assert_int_equal(make_with(1000, 987), 0);
	assert_int_equal(make_with(1000, 988), REDLOCK_E_INVAL);
	assert_int_equal(make_with(1000, UINT32_MAX), REDLOCK_E_INVAL);
	struct rl_rules rules;
	redlock_lock_options_init(&options);
	assert_int_equal(make_drifting(&rules, 0, 1000000, 0), REDLOCK_E_INVAL); /* 100 % */
	assert_int_equal(make_drifting(&rules, 0, UINT32_MAX, UINT32_MAX), REDLOCK_E_INVAL);
	assert_int_equal(make_drifting(&rules, 0, 0, 0), 0);
	options.ttl_ms = REDLOCK_MAX_TTL_MS; /* the product fits with any allowance */
	assert_int_equal(make_drifting(&rules, 0, 1000000, 0), REDLOCK_E_INVAL);
	assert_int_equal(make_drifting(&rules, 0, UINT32_MAX, 0), REDLOCK_E_INVAL);
	assert_int_equal(make_drifting(&rules, 0, 999000, 0), 0);
}

/* 200 ms, and at most a third of the TTL. */
TEST(node_timeout_by_the_ttl)
{
	struct rl_rules rules;
	redlock_lock_options_init(&options);
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.node_timeout_ns == rl_time_ms(200));
	assert_int_equal(make(&rules, 50), 0);
	assert_true(rules.node_timeout_ns == rl_time_ms(50));
	options.ttl_ms = 300;
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.node_timeout_ns == rl_time_ms(100));
	options.ttl_ms = 10;
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.node_timeout_ns == rl_time_ms(10) / 3);
}

TEST(rules_from_options)
{
	struct rl_rules rules;
	redlock_lock_options_init(&options);
	assert_int_equal(make(&rules, 0), 0);
	assert_int_equal(rules.node_count, 5);
	assert_int_equal(rules.quorum, 3);
	assert_ptr_equal(rules.policy, &rl_kinds[RL_KIND_EXCLUSIVE]);
	assert_true(rules.wait_ns == 0 && rules.noquorum_wait_ns == 0);
	assert_true(rules.danger_ns == rl_time_ms(5000)); /* ttl/6 */
	options.wait_ms = REDLOCK_FOREVER;
	options.danger_ms = 0;
	options.token = "t";
	options.token_len = 1;
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.wait_ns == UINT64_MAX && rules.noquorum_wait_ns == UINT64_MAX);
	assert_true(rules.danger_ns == 0 && rules.policy == &rl_kinds[RL_KIND_OWN_VALUE]);
	options.wait_ms = 60000;
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.noquorum_wait_ns == rl_time_ms(60000)); /* as wait_ms */
	options.noquorum_wait_ms = 10;
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.noquorum_wait_ns == rl_time_ms(10));
	options.max_hold_ms = 30000;
	options.max_extends = 8;
	options.renew_ms = 9;
	options.min_validity_ms = 11;
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rules.max_hold_ns == rl_time_ms(30000) && rules.max_extends == 8 &&
	            rules.renew_ns == rl_time_ms(9));
	assert_true(rules.min_validity_ns == rl_time_ms(11));
}

#define expect_limit(field, most, least_bad)                                                                 \
	do {                                                                                                     \
		struct rl_rules rules;                                                                               \
		redlock_lock_options_init(&options);                                                                 \
		options.field = (most);                                                                              \
		assert_int_equal(make(&rules, 0), 0);                                                                \
		options.field = (least_bad);                                                                         \
		assert_int_equal(make(&rules, 0), REDLOCK_E_INVAL);                                                  \
		options.field = UINT64_MAX - 1;                                                                      \
		assert_int_equal(make(&rules, 0), REDLOCK_E_INVAL);                                                  \
	} while (0)

/* TTL 30000, node timeout 200, drift 302. */
TEST(other_limits)
{
	expect_limit(renew_ms, 29497, 29498);
	expect_limit(danger_ms, 29999, 30000);
	expect_limit(min_validity_ms, 29697, 29698);
	expect_limit(retry_max_ms, REDLOCK_MAX_TTL_MS, REDLOCK_MAX_TTL_MS + 1);
	expect_limit(retry_min_ms, 150, 151); /* not above retry_max_ms */
	struct rl_rules rules;
	redlock_lock_options_init(&options);
	options.token = "t";
	options.token_len = 0;
	assert_int_equal(make(&rules, 0), REDLOCK_E_INVAL);
	options.token_len = REDLOCK_MAX_TOKEN;
	assert_int_equal(make(&rules, 0), 0);
	options.token_len = REDLOCK_MAX_TOKEN + 1;
	assert_int_equal(make(&rules, 0), REDLOCK_E_INVAL);
	static const struct {
		int compat, fence;
		const char *token;
		int result;
		enum rl_kind kind;
	} rows[] = {{REDLOCK_COMPAT_SETNX, 0, NULL, 0, RL_KIND_SETNX},
	            {REDLOCK_COMPAT_SETNX, 0, "t", 0, RL_KIND_SETNX_OWN},
	            {REDLOCK_COMPAT_SETNX, 1, NULL, REDLOCK_E_INVAL, 0},
	            {REDLOCK_COMPAT_SETNX_SAFE, 0, NULL, 0, RL_KIND_NUMBER},
	            {REDLOCK_COMPAT_SETNX_SAFE, 0, "t", REDLOCK_E_INVAL, 0},
	            {REDLOCK_COMPAT_SETNX_SAFE, 1, NULL, REDLOCK_E_INVAL, 0},
	            {REDLOCK_COMPAT_SETNX_SAFE + 1, 0, NULL, REDLOCK_E_INVAL, 0},
	            {-1, 0, NULL, REDLOCK_E_INVAL, 0}};
	for (unsigned i = 0; i < COUNT(rows); i++) {
		redlock_lock_options_init(&options);
		options.compat = rows[i].compat;
		options.fence = rows[i].fence;
		options.token = rows[i].token;
		options.token_len = rows[i].token != NULL;
		assert_int_equal(make(&rules, 0), rows[i].result);
		assert_true(rows[i].result != 0 || rules.policy == &rl_kinds[rows[i].kind]);
	}
}

/* Never a panic for odd numbers, and never rules that the core would refuse. */
TEST(random_options)
{
	struct rng rng = {5};
	for (unsigned i = 0; i < 20000; i++) {
		struct rl_rules rules;
		redlock_lock_options_init(&options);
		uint64_t *fields[] = {&options.ttl_ms,          &options.wait_ms,      &options.noquorum_wait_ms,
		                      &options.min_validity_ms, &options.retry_min_ms, &options.retry_max_ms,
		                      &options.renew_ms,        &options.danger_ms,    &options.max_hold_ms};
		for (unsigned n = rng_below(&rng, 5); n > 0; n--)
			*fields[rng_below(&rng, COUNT(fields))] = rng_next(&rng) >> rng_below(&rng, 64);
		if (make(&rules, (uint32_t)(rng_next(&rng) >> (32 + rng_below(&rng, 32)))) != 0)
			continue;
		struct rl_lock lock;
		struct rl_ballot votes[REDLOCK_MAX_NODES];
		rl_lock_init(&lock, &rules, votes); /* has assertions */
		assert_true(rules.node_timeout_ns > 0);
		assert_true(rules.node_timeout_ns + rl_validity_drift(rules.ttl_ns, 10000, rl_time_ms(2)) <
		            rules.ttl_ns);
	}
}

TEST(ttl_of_an_extend)
{
	struct rl_rules rules;
	redlock_lock_options_init(&options);
	assert_int_equal(make(&rules, 0), 0);
	assert_true(rl_options_may_extend(&rules, 0)); /* as acquired */
	assert_true(rl_options_may_extend(&rules, 1000));
	assert_true(rl_options_may_extend(&rules, REDLOCK_MAX_TTL_MS));
	assert_false(rl_options_may_extend(&rules, REDLOCK_MAX_TTL_MS + 1));
	assert_false(rl_options_may_extend(&rules, UINT64_MAX));
	assert_true(rl_options_may_extend(&rules, 205)); /* 200 + 4.05 < 205 */
	assert_false(rl_options_may_extend(&rules, 204));
	assert_false(rl_options_may_extend(&rules, 1));
}

/* In ms. A follow of 0 is the rules as they were made. */
TEST(a_default_ttl_follows_the_maximum_of_a_node_set)
{
	static const struct {
		uint64_t ttl, renew, danger, min_validity, maximum;
		uint64_t follows, renews, warns;
	} cases[] = {
	    {REDLOCK_DEFAULT_TTL, 0, REDLOCK_DEFAULT_DANGER, 0, 10000, 10000, 0, 1666},
	    {REDLOCK_DEFAULT_TTL, 10000, 0, 0, 10000, 10000, 3333, 0}, /* does not fit */
	    {REDLOCK_DEFAULT_TTL, 10000, 0, 0, 15000, 15000, 5000, 0}, /* a third stays one */
	    {REDLOCK_DEFAULT_TTL, 6000, 4000, 9000, 10000, 10000, 6000, 4000},
	    {REDLOCK_DEFAULT_TTL, 0, REDLOCK_DEFAULT_DANGER, 0, 10, 10, 0, 1},
	    {REDLOCK_DEFAULT_TTL, 0, REDLOCK_DEFAULT_DANGER, 0, 30000, 0, 0, 0}, /* is not shorter */
	    {REDLOCK_DEFAULT_TTL, 0, REDLOCK_DEFAULT_DANGER, 0, 0, 0, 0, 0},     /* unknown */
	    {REDLOCK_DEFAULT_TTL, 0, REDLOCK_DEFAULT_DANGER, 0, 9, 0, 0, 0},     /* not possible */
	    {30000, 0, REDLOCK_DEFAULT_DANGER, 0, 10000, 0, 0, 0},               /* asked for */
	    {REDLOCK_DEFAULT_TTL, 0, 10000, 0, 10000, 0, 0, 0},
	    {REDLOCK_DEFAULT_TTL, 0, 0, 9898, 10000, 0, 0, 0}, /* + drift of 102 ms */
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_rules rules, before;
		redlock_lock_options_init(&options);
		options.ttl_ms = cases[i].ttl;
		options.renew_ms = cases[i].renew;
		options.danger_ms = cases[i].danger;
		options.min_validity_ms = cases[i].min_validity;
		assert_int_equal(make(&rules, 0), 0);
		assert_true(rules.ttl_ns == rl_time_ms(30000));
		before = rules;
		assert_int_equal(rl_options_follow(&rules, cases[i].maximum), cases[i].follows != 0);
		if (cases[i].follows == 0)
			assert_memory_equal(&rules, &before, sizeof rules);
		else
			assert_true(rules.ttl_ns == rl_time_ms(cases[i].follows) &&
			            rules.renew_ns / RL_NS_PER_MS == cases[i].renews &&
			            rules.danger_ns / RL_NS_PER_MS == cases[i].warns &&
			            rules.node_timeout_ns == rl_time_min(rl_time_ms(200), rules.ttl_ns / 3));
	}
}

/* ---- owner labels ---- */

TEST(owners)
{
	char label[REDLOCK_MAX_OWNER + 2];
	assert_int_equal(rl_options_check_owner(NULL), 0);
	assert_int_equal(rl_options_check_owner(""), 0);
	assert_int_equal(rl_options_check_owner("host-1.example:42@a/b+C_d"), 0);
	memset(label, 'x', sizeof label);
	label[REDLOCK_MAX_OWNER] = '\0';
	assert_int_equal(rl_options_check_owner(label), 0);
	label[REDLOCK_MAX_OWNER] = 'x';
	label[REDLOCK_MAX_OWNER + 1] = '\0';
	assert_int_equal(rl_options_check_owner(label), REDLOCK_E_INVAL);
	for (int c = 1; c < 256; c++) {
		bool allowed = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		               strchr("._:@/+-", c) != NULL;
		char text[] = {'a', (char)c, 'b', '\0'};
		assert_int_equal(rl_options_check_owner(text), allowed ? 0 : REDLOCK_E_INVAL);
	}
}

TESTS()
