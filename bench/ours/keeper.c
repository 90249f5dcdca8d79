/* SPDX-License-Identifier: MIT */
/*
 * Many locks held at once and renewed by the keeper: -c locks for -t seconds, with a TTL of 30 s and a
 * renewal 10 s after each grant. Shared ones are all of one name. Options: common/options.h.
 *
 * The deadline of each lock is looked at several times per renewal: it tells when its newest grant was asked
 * for (deadline = start + TTL - drift), and so how late a renewal began and how much validity was left then.
 * "late" counts the round trip of the grant before, too. A lock that is overdue at the end, or was lost, is
 * as late as it is overdue.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "client.h"
#include "result.h"

enum { TTL_MS = 30000, RENEW_MS = 10000, LOOKS_PER_RENEWAL = 4, AT_ONCE = 256 };

#define RENEW_NS ((uint64_t)RENEW_MS * 1000000u)
#define VALIDITY_NS ((uint64_t)(TTL_MS - TTL_MS / 100 - 2) * 1000000u) /* less the default drift */

struct hold {
	redlock_lock *lock;
	uint64_t deadline_ns; /* at the last look */
};

static struct options options;
static struct result result;
static unsigned held;
static uint64_t renewals, lost, danger;
static uint64_t latest_ns;
static uint64_t least_left_ns = UINT64_MAX;

static double thread_cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double process_cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- Acquiring, with the event-loop calls ---- */

static void start_next(struct hold *holds, unsigned *started)
{
	if (*started < options.count)
		client_check(redlock_start_acquire(holds[(*started)++].lock), "start_acquire");
}

static void acquire_all(redlock_client *client, struct hold *holds)
{
	struct pollfd watched = {.fd = redlock_fd(client), .events = POLLIN};
	unsigned started = 0;
	for (unsigned i = 0; i < AT_ONCE; i++)
		start_next(holds, &started);
	while (held < options.count) {
		struct redlock_event event = {.size = sizeof event};
		bool any = false;
		client_check(redlock_process(client), "process");
		while (redlock_next(client, &event) > 0) {
			any = true;
			if (event.kind != REDLOCK_EVENT_DONE)
				continue;
			client_check(event.result, "acquire");
			held++;
			start_next(holds, &started);
		}
		if (!any && poll(&watched, 1, -1) < 0 && errno != EINTR)
			die("poll");
	}
}

/* ---- Holding, with the keeper ---- */

/* A renewal began, or still has not, so long after the one before. */
static void judge(uint64_t between_ns)
{
	uint64_t late = between_ns > RENEW_NS ? between_ns - RENEW_NS : 0;
	uint64_t left = VALIDITY_NS > between_ns ? VALIDITY_NS - between_ns : 0;
	latest_ns = late > latest_ns ? late : latest_ns;
	least_left_ns = left < least_left_ns ? left : least_left_ns;
}

static void look_at(struct hold *h)
{
	uint64_t deadline = redlock_deadline_ns(h->lock);
	if (deadline <= h->deadline_ns) /* not renewed since, or lost */
		return;
	renewals++;
	judge(deadline - h->deadline_ns);
	h->deadline_ns = deadline;
}

static void judge_overdue(const struct hold *h)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t); /* the clock of deadlines */
	uint64_t now_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	uint64_t start_ns = h->deadline_ns - VALIDITY_NS;
	if (now_ns > start_ns + RENEW_NS)
		judge(now_ns - start_ns);
}

static void take_notices(redlock_client *client)
{
	struct redlock_event event = {.size = sizeof event};
	while (redlock_next(client, &event) > 0) {
		lost += event.kind == REDLOCK_EVENT_LOST;
		danger += event.kind == REDLOCK_EVENT_DANGER;
	}
}

static void hold_all(redlock_client *client, struct hold *holds)
{
	struct timespec pause = {.tv_sec = RENEW_MS / 1000 / LOOKS_PER_RENEWAL,
	                         .tv_nsec = RENEW_MS / LOOKS_PER_RENEWAL % 1000 * 1000000L};
	while (clock_now() < result.end_ns) {
		nanosleep(&pause, NULL);
		for (unsigned i = 0; i < options.count; i++)
			look_at(&holds[i]);
		take_notices(client);
	}
	for (unsigned i = 0; i < options.count; i++)
		judge_overdue(&holds[i]);
}

static void report(double keeper_cpu_s, double acquire_s)
{
	char more[512];
	double seconds = (double)(clock_now() - result.begin_ns) / 1e9;
	snprintf(more, sizeof more,
	         ",\"locks\":%u,\"renewals\":%llu,\"latest_ms\":%.2f,\"least_left_ms\":%.1f,\"lost\":%llu,"
	         "\"danger\":%llu,\"keeper_cpu_percent\":%.2f,\"acquire_all_s\":%.2f",
	         options.count, (unsigned long long)renewals, (double)latest_ns / 1e6,
	         renewals > 0 ? (double)least_left_ns / 1e6 : 0.0, (unsigned long long)lost,
	         (unsigned long long)danger, 100 * keeper_cpu_s / seconds, acquire_s);
	result_print(&result, &options, more);
}

int main(int argc, char **argv)
{
	options = options_parse(argc, argv);
	redlock_client *client = client_open(&options);
	struct hold *holds = calloc(options.count, sizeof *holds);
	struct redlock_lock_options o;
	if (holds == NULL)
		die("calloc");
	redlock_lock_options_init(&o);
	o.ttl_ms = TTL_MS;
	o.renew_ms = RENEW_MS;
	for (unsigned i = 0; i < options.count; i++)
		holds[i].lock = client_lock(client, &options, options.shared ? 0 : i, &o);
	uint64_t begin_ns = clock_now();
	acquire_all(client, holds);
	double acquire_s = (double)(clock_now() - begin_ns) / 1e9;
	for (unsigned i = 0; i < options.count; i++)
		holds[i].deadline_ns = redlock_deadline_ns(holds[i].lock);
	client_check(redlock_keeper_start(client), "keeper_start");
	result_begin(&result, &options);
	double others = thread_cpu_s(), all = process_cpu_s();
	hold_all(client, holds);
	double keeper_cpu_s = process_cpu_s() - all - (thread_cpu_s() - others);
	report(keeper_cpu_s, acquire_s);
	result_close(&result);
	client_check(redlock_keeper_stop(client), "keeper_stop");
	for (unsigned i = 0; i < options.count; i++)
		redlock_lock_free(holds[i].lock);
	(void)redlock_drain(client, 5000);
	redlock_close(client);
	free(holds);
	return 0;
}
