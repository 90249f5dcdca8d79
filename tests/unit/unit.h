/* SPDX-License-Identifier: MIT */
/* The header that every unit test includes first. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "group.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A generator with a seed, so that a failing random test can be run again: xorshift64*, Vigna 2014. */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545F4914F6CDD1Du;
}

/* 0 to below - 1. */
static inline unsigned rng_below(struct rng *r, unsigned below)
{
	return (unsigned)((rng_next(r) >> 33) % below);
}
