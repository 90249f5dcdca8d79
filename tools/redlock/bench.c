/* SPDX-License-Identifier: MIT */
/* Counts pairs of acquire and release, and decides when there are enough. */
#include "bench.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"
#include "streams.h"

enum { FAILURES_IN_ROW = 5, PROGRESS_MS = 200 };

int bench_lock(const struct bench *bench, unsigned index, redlock_lock **ret_lock)
{
	char name[64];
	snprintf(name, sizeof name, "redlock-bench:%ld:%u", (long)getpid(), index);
	return session_lock(bench->session, name, NULL, ret_lock);
}

void bench_count(struct bench *bench, uint64_t begin_ns, uint64_t held_ns)
{
	uint64_t now_ns = clock_ns();
	bench->failed_in_row = 0;
	bench->pairs++;
	bench_stats_add(&bench->acquire, held_ns - begin_ns);
	bench_stats_add(&bench->release, now_ns - held_ns);
	bench_stats_add(&bench->pair, now_ns - begin_ns);
}

bool bench_failure(struct bench *bench, redlock_lock *lock, int result)
{
	bench->failed++;
	bench->failed_in_row++;
	report_collect(&bench->report, "bench", NULL, result, bench->session, lock);
	return bench->failed_in_row < FAILURES_IN_ROW;
}

static void show_progress(struct bench *bench, uint64_t now_ns)
{
	if (bench->session->settings->quiet || now_ns - bench->shown_ns < PROGRESS_MS * 1000000ull || !isatty(2))
		return;
	bench->shown_ns = now_ns;
	char line[64];
	snprintf(line, sizeof line, "\r%llu pairs, %.1f s ", (unsigned long long)bench->pairs,
	         (double)(now_ns - bench->begin_ns) / 1e9);
	(void)streams_put_errors(line, 0);
}

bool bench_over(struct bench *bench, uint64_t running)
{
	uint64_t now_ns = clock_ns();
	show_progress(bench, now_ns);
	if (signals_caught())
		return true;
	if (bench->pairs_wanted > 0)
		return bench->pairs + running >= bench->pairs_wanted;
	return now_ns - bench->begin_ns >= bench->duration_ns;
}
