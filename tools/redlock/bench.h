/* SPDX-License-Identifier: MIT */
/* Shared by the two ways to run `redlock bench`. */
#ifndef REDLOCK_TOOL_BENCH_H
#define REDLOCK_TOOL_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_stats.h"
#include "report.h"
#include "session.h"

struct bench {
	struct session *session;
	bool no_wait;          /* releases are sent and not waited for */
	unsigned concurrency;  /* locks in flight */
	uint64_t pairs_wanted; /* 0: until the time is over */
	uint64_t duration_ns;
	uint64_t begin_ns;
	uint64_t shown_ns; /* when progress was last shown */
	uint64_t pairs;
	uint64_t failed;
	unsigned failed_in_row;
	struct bench_stats acquire;
	struct bench_stats release;
	struct bench_stats pair;
	struct report report; /* of the last failure */
};

/* Lock number `index` of this process. Returns an exit code. */
int bench_lock(const struct bench *bench, unsigned index, redlock_lock **ret_lock);

/* Counts one acquire and release that began at `begin_ns`, was granted at `held_ns` and ended now. */
void bench_count(struct bench *bench, uint64_t begin_ns, uint64_t held_ns);

/* Counts a failure. False when there were so many in a row that going on makes no sense. */
bool bench_failure(struct bench *bench, redlock_lock *lock, int result);

/* True when no more pairs should be started, `running` being under way. Shows progress on a terminal. */
bool bench_over(struct bench *bench, uint64_t running);

/* Run until bench_over(); release everything they took. Return 0 or an exit code. */
int bench_run_blocking(struct bench *bench);
int bench_run_loop(struct bench *bench);

#endif
