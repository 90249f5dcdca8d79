/* SPDX-License-Identifier: MIT */
/* redlock bench, one lock at a time over the blocking calls. */
#include "bench.h"

#include "clock.h"
#include "exit_codes.h"

/* Releases, or abandons the handle, which releases without waiting. Returns the result of the release. */
static int end_hold(struct bench *bench, redlock_lock **lock, int *code)
{
	if (!bench->no_wait)
		return redlock_release(*lock);
	redlock_lock_free(*lock);
	*lock = NULL;
	*code = bench_lock(bench, 0, lock);
	return 0;
}

int bench_run_blocking(struct bench *bench)
{
	redlock_lock *lock = NULL;
	int code = bench_lock(bench, 0, &lock);
	while (code == EXIT_OK && !bench_over(bench, 0)) {
		uint64_t begin_ns = clock_ns();
		int result = redlock_acquire(lock);
		uint64_t held_ns = clock_ns();
		if (result == 0)
			result = end_hold(bench, &lock, &code);
		if (result == 0)
			bench_count(bench, begin_ns, held_ns);
		else if (!bench_failure(bench, lock, result))
			code = bench->report.outcome.code;
	}
	redlock_lock_free(lock);
	return code;
}
