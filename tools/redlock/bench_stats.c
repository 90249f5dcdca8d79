/* SPDX-License-Identifier: MIT */
/*
 * A histogram with a bucket for every value below 128, and then 128 buckets for each doubling: the error is
 * below 1/128 of the value, at any size.
 */
#include "bench_stats.h"

#include <string.h>

#define SUB_COUNT ((uint64_t)1 << BENCH_SUB_BITS)

void bench_stats_clear(struct bench_stats *stats)
{
	memset(stats, 0, sizeof *stats);
}

/* How far the value must be shifted to have 8 significant bits. */
static unsigned shift_of(uint64_t ns)
{
	unsigned shift = 0;
	while (ns >> shift >= 2 * SUB_COUNT)
		shift++;
	return shift;
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift = shift_of(ns);
	return (shift << BENCH_SUB_BITS) + (unsigned)(ns >> shift);
}

/* The largest value of a bucket. */
static uint64_t top_of(unsigned bucket)
{
	unsigned shift = bucket < 2 * SUB_COUNT ? 0 : (bucket >> BENCH_SUB_BITS) - 1;
	uint64_t lead = bucket - ((uint64_t)shift << BENCH_SUB_BITS);
	return ((lead + 1) << shift) - 1;
}

void bench_stats_add(struct bench_stats *stats, uint64_t ns)
{
	stats->count++;
	stats->bucket[bucket_of(ns)]++;
}

double bench_stats_us(const struct bench_stats *stats, double share)
{
	double wanted = share * (double)stats->count;
	uint64_t seen = 0;
	if (stats->count == 0)
		return 0;
	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		seen += stats->bucket[i];
		if (seen > 0 && (double)seen >= wanted)
			return (double)top_of(i) / 1000;
	}
	return 0;
}
