/* SPDX-License-Identifier: MIT */
/*
 * The only source of chance in the simulator: xoshiro256**, seeded by splitmix64. Several streams come from
 * one seed, so that one more question in one part of the world does not reshuffle all the others.
 */
#ifndef SIM_PRNG_H
#define SIM_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t s[4];
};

static inline uint64_t prng_mix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline void prng_seed(struct prng *p, uint64_t seed, uint64_t stream)
{
	uint64_t state = seed;
	state = prng_mix(&state) ^ (stream * 0xd1342543de82ef95u);
	for (int i = 0; i < 4; i++)
		p->s[i] = prng_mix(&state);
}

static inline uint64_t prng_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static inline uint64_t prng_next(struct prng *p)
{
	uint64_t result = prng_rotl(p->s[1] * 5, 7) * 9;
	uint64_t t = p->s[1] << 17;
	p->s[2] ^= p->s[0];
	p->s[3] ^= p->s[1];
	p->s[1] ^= p->s[2];
	p->s[0] ^= p->s[3];
	p->s[2] ^= t;
	p->s[3] = prng_rotl(p->s[3], 45);
	return result;
}

/* 0 to n-1; n must not be 0. */
static inline uint64_t prng_below(struct prng *p, uint64_t n)
{
	return prng_next(p) % n;
}

/* low to high, both included. */
static inline uint64_t prng_between(struct prng *p, uint64_t low, uint64_t high)
{
	return low + prng_below(p, high - low + 1);
}

static inline bool prng_chance(struct prng *p, unsigned permille)
{
	return prng_below(p, 1000) < permille;
}

#endif
