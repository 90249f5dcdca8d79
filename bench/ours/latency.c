/* SPDX-License-Identifier: MIT */
/*
 * Acquire and release over the blocking calls, one at a time. With -w the handle is freed instead, which
 * sends the release and does not wait. Options: common/options.h. Built a second time as `allocations`, with
 * a malloc(3) that counts.
 */
#include <stdio.h>

#include "client.h"
#include "result.h"

#ifdef COUNT_ALLOCATIONS
#include "failmalloc.h"
#endif

static struct result result;

static void pair(redlock_client *client, redlock_lock **lock, const struct options *o)
{
	uint64_t begin_ns = clock_now();
	int error = redlock_acquire(*lock);
	uint64_t held_ns = clock_now();
	if (error == 0 && o->no_wait) {
		redlock_lock_free(*lock);
		*lock = client_lock(client, o, 0, NULL);
	} else if (error == 0) {
		error = redlock_release(*lock);
	}
	if (error == 0) {
		samples_add(&result.acquire, held_ns - begin_ns);
		samples_add(&result.pair, clock_now() - begin_ns);
	} else {
		result.failed++;
	}
}

static void run(redlock_client *client, redlock_lock **lock, const struct options *o)
{
	while (!result_over(&result, o, 0))
		pair(client, lock, o);
}

/* Until all nodes are connected: what a node says to its first requests is not what is measured. */
static void settle(redlock_client *client)
{
	client_check(redlock_drain(client, 2000), "drain");
}

int main(int argc, char **argv)
{
	struct options options = options_parse(argc, argv);
	struct options warm_up = options_warm_up(&options);
	redlock_client *client = client_open(&options);
	redlock_lock *lock = client_lock(client, &options, 0, NULL);
	char more[64] = "";
	result_begin(&result, &warm_up);
	run(client, &lock, &warm_up);
	result_close(&result);
	settle(client);
	result_begin(&result, &options);
#ifdef COUNT_ALLOCATIONS
	failmalloc_arm(0, false);
#endif
	run(client, &lock, &options);
#ifdef COUNT_ALLOCATIONS
	snprintf(more, sizeof more, ",\"allocations\":%lu", failmalloc_calls());
#endif
	result_print(&result, &options, more);
	result_close(&result);
	redlock_lock_free(lock);
	redlock_close(client);
	return 0;
}
