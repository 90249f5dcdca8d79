/* SPDX-License-Identifier: MIT */
/*
 * One name and -c claimants of it: threads on one client, blocking calls that wait. Who has it holds it for a
 * millisecond, and asks again after -r. acquire_us is the wait for a turn; pair_us the hand-off, from the
 * call of release to the grant of somebody else. Waits that are not over at the end count with their age: a
 * claimant that never had a turn would not be seen otherwise. Options: common/options.h.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client.h"
#include "result.h"

#define HOLD_NS 1000000

struct claimant {
	pthread_t id;
	redlock_lock *lock;
	uint64_t turns;
};

static struct options options;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct result result;
static const struct claimant *last; /* who had it last; NULL: nobody */
static uint64_t released_ns;        /* when that was */
static unsigned holders;
static uint64_t overlaps;

static void granted(struct claimant *c, uint64_t asked_ns)
{
	pthread_mutex_lock(&mutex);
	uint64_t now_ns = clock_now();
	samples_add(&result.acquire, now_ns - asked_ns);
	if (last != NULL && last != c)
		samples_add(&result.pair, now_ns - released_ns);
	overlaps += holders > 0;
	holders++;
	last = c;
	c->turns++;
	pthread_mutex_unlock(&mutex);
}

static void refused(int error, uint64_t asked_ns)
{
	pthread_mutex_lock(&mutex);
	samples_add(&result.acquire, clock_now() - asked_ns);
	result.failed += error != REDLOCK_E_CANCELLED;
	pthread_mutex_unlock(&mutex);
}

static void give_up(void)
{
	pthread_mutex_lock(&mutex);
	holders--;
	released_ns = clock_now();
	pthread_mutex_unlock(&mutex);
}

static void *work(void *argument)
{
	struct claimant *c = argument;
	struct timespec hold = {.tv_nsec = HOLD_NS};
	struct timespec rest = {.tv_sec = options.rest_ms / 1000, .tv_nsec = options.rest_ms % 1000 * 1000000L};
	while (clock_now() < result.end_ns) {
		uint64_t asked_ns = clock_now();
		int error = redlock_acquire(c->lock);
		if (error < 0) {
			refused(error, asked_ns);
			continue;
		}
		granted(c, asked_ns);
		nanosleep(&hold, NULL);
		give_up();
		redlock_release(c->lock);
		if (options.rest_ms > 0)
			nanosleep(&rest, NULL);
	}
	return NULL;
}

static void watch(struct claimant *claimants)
{
	struct timespec length = {.tv_sec = (time_t)options.seconds,
	                          .tv_nsec = (long)((options.seconds - (double)(time_t)options.seconds) * 1e9)};
	for (unsigned i = 0; i < options.count; i++)
		if (pthread_create(&claimants[i].id, NULL, work, &claimants[i]) != 0)
			die("pthread_create");
	nanosleep(&length, NULL);
	/* One that asks only now is not cancelled, and gets its turn: the others have ended. */
	for (unsigned i = 0; i < options.count; i++)
		client_check(redlock_cancel(claimants[i].lock), "cancel");
	for (unsigned i = 0; i < options.count; i++)
		pthread_join(claimants[i].id, NULL);
}

static void report(const struct claimant *claimants)
{
	char more[192];
	double seconds = (double)(clock_now() - result.begin_ns) / 1e9;
	uint64_t fewest = UINT64_MAX, most = 0, turns = 0;
	for (unsigned i = 0; i < options.count; i++) {
		fewest = claimants[i].turns < fewest ? claimants[i].turns : fewest;
		most = claimants[i].turns > most ? claimants[i].turns : most;
		turns += claimants[i].turns;
	}
	snprintf(more, sizeof more, ",\"turns_per_s\":%.1f,\"fewest\":%llu,\"most\":%llu,\"overlaps\":%llu",
	         (double)turns / seconds, (unsigned long long)fewest, (unsigned long long)most,
	         (unsigned long long)overlaps);
	result_print(&result, &options, more);
}

int main(int argc, char **argv)
{
	options = options_parse(argc, argv);
	redlock_client *client = client_open(&options);
	struct claimant *claimants = calloc(options.count, sizeof *claimants);
	struct redlock_lock_options o;
	if (claimants == NULL)
		die("calloc");
	redlock_lock_options_init(&o);
	o.wait_ms = REDLOCK_FOREVER;
	for (unsigned i = 0; i < options.count; i++)
		claimants[i].lock = client_lock(client, &options, 0, &o);
	client_check(redlock_acquire(claimants[0].lock), "acquire"); /* connects */
	client_check(redlock_release(claimants[0].lock), "release");
	client_check(redlock_drain(client, 2000), "drain");
	result_begin(&result, &options);
	watch(claimants);
	report(claimants);
	result_close(&result);
	for (unsigned i = 0; i < options.count; i++)
		redlock_lock_free(claimants[i].lock);
	(void)redlock_drain(client, 2000);
	redlock_close(client);
	free(claimants);
	return 0;
}
