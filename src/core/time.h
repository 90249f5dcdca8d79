/* SPDX-License-Identifier: MIT */
/* Nanoseconds, saturating: RL_TIME_NEVER stays never, and nothing goes below 0. The contracts are proved
 * (spec/proof/contracts). */
#ifndef RL_CORE_TIME_H
#define RL_CORE_TIME_H

#include <stdint.h>

#define RL_NS_PER_MS ((uint64_t)1000000)
#define RL_TIME_NEVER UINT64_MAX

/*@ assigns \nothing;
    ensures \result == ((integer)a + b > UINT64_MAX ? UINT64_MAX : a + b); */
static inline uint64_t rl_time_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*@ assigns \nothing;
    ensures \result == (a == UINT64_MAX ? a : a > b ? a - b : 0); */
static inline uint64_t rl_time_sub(uint64_t a, uint64_t b)
{
	if (a == UINT64_MAX)
		return a;
	return a > b ? a - b : 0;
}

/*@ assigns \nothing;
    ensures \result == (a < b ? a : b); */
static inline uint64_t rl_time_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*@ assigns \nothing;
    ensures \result == (a > b ? a : b); */
static inline uint64_t rl_time_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A point in time in milliseconds, modulo 2^32: what is a few weeks off looks like near. */
static inline uint32_t rl_time_stamp_ms(uint64_t ns)
{
	return (uint32_t)(ns / RL_NS_PER_MS);
}

/* Milliseconds to nanoseconds, saturating: UINT64_MAX stays "for ever". */
/*@ assigns \nothing;
    ensures \result == (ms > UINT64_MAX / 1000000 ? UINT64_MAX : ms * 1000000); */
static inline uint64_t rl_time_ms(uint64_t ms)
{
	return ms > UINT64_MAX / RL_NS_PER_MS ? UINT64_MAX : ms * RL_NS_PER_MS;
}

#endif
