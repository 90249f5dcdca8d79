/* SPDX-License-Identifier: MIT */
/* The arithmetic of Redlock: majority, drift, validity, and what a set of votes decides. All of it is pure.
 */
#ifndef RL_CORE_QUORUM_H
#define RL_CORE_QUORUM_H

#include <stdint.h>

#define RL_NS_PER_MS ((uint64_t)1000000)

/* The smallest quorum that two claimants cannot both have: N/2 + 1 of the configured nodes. */
unsigned rl_majority(unsigned node_count);

/* Saturating time: UINT64_MAX is "never" and stays never; nothing goes below 0. */
static inline uint64_t rl_time_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t rl_time_sub(uint64_t a, uint64_t b)
{
	if (a == UINT64_MAX)
		return a;
	return a > b ? a - b : 0;
}

static inline uint64_t rl_time_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t rl_time_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Milliseconds to nanoseconds, saturating: UINT64_MAX stays "for ever". */
static inline uint64_t rl_ms(uint64_t ms)
{
	return ms > UINT64_MAX / RL_NS_PER_MS ? UINT64_MAX : ms * RL_NS_PER_MS;
}

/* What clocks may differ by during `ttl_ns`: ttl * ppm / 1e6, rounded up, plus `base_ns`.
 * Source: redis.io "Distributed Locks with Redis", clock drift. */
uint64_t rl_drift(uint64_t ttl_ns, uint32_t ppm, uint64_t base_ns);

/* Until when a lock may be relied on whose first SET was sent not before `t0_ns`: t0 + ttl - drift.
 * `t0_ns` itself when drift eats the TTL. */
uint64_t rl_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns);

/* Votes of one round. yes + no + out + missing = nodes. */
struct rl_count {
	unsigned nodes;
	unsigned quorum;
	unsigned yes;
	unsigned no;
	unsigned out;   /* still without an answer */
	unsigned fatal; /* of those that are missing: they need an operator */
};

enum rl_tally {
	RL_UNDECIDED,
	RL_WON,     /* a quorum said yes */
	RL_REFUSED, /* a quorum answered, and it is not a yes */
	RL_NOQUORUM /* fewer than a quorum gave a definite answer */
};

/* Acquire: yes needs a quorum. A round that can no longer be won stays undecided while it is open
 * whether it is refused or has no quorum, so that the two are never mixed up. */
enum rl_tally rl_tally_claim(struct rl_count count);

/* Extend of a lock that is held: refused when a quorum says that it is not ours. */
enum rl_tally rl_tally_extend(struct rl_count count);

/* Query, and extend without an acquire before: refused when so many said no that no quorum can have the key.
 */
enum rl_tally rl_tally_check(struct rl_count count);

/* Release: won when a quorum deleted the key, refused when a quorum did not have it. Also won when a quorum
 * has answered, and so many deleted it that no quorum can be found that did not have it, whatever the silent
 * ones have. */
enum rl_tally rl_tally_release(struct rl_count count);

#endif
