/* SPDX-License-Identifier: MIT */
/* Latencies in a histogram of fixed size: any number of samples, percentiles within 0.8 percent. */
#ifndef REDLOCK_TOOL_BENCH_STATS_H
#define REDLOCK_TOOL_BENCH_STATS_H

#include <stdint.h>

enum { BENCH_SUB_BITS = 7, BENCH_BUCKETS = (64 - BENCH_SUB_BITS + 1) << BENCH_SUB_BITS };

struct bench_stats {
	uint64_t count;
	uint64_t bucket[BENCH_BUCKETS];
};

void bench_stats_clear(struct bench_stats *stats);
void bench_stats_add(struct bench_stats *stats, uint64_t ns);

/* The latency in microseconds that `share` (0 to 1) of the samples do not exceed; 0 without samples. */
double bench_stats_us(const struct bench_stats *stats, double share);

#endif
