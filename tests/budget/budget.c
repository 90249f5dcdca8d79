/* SPDX-License-Identifier: MIT */
/*
 * Measures one piece of work once all is warm, over servers in memory (kernel.h): system calls and
 * allocations, printed as totals over `REPEATS` pieces. Instructions are counted by callgrind, see budget.py.
 *
 * usage: budget CASE
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "kernel.h"
#ifdef COUNT_ALLOCATIONS
#include "failmalloc.h"
#endif

enum { WARM_UP = 2048, REPEATS = 1024, MANY = 256, RENEWED = 1024 };

static redlock_client *client;
static redlock_lock *locks[RENEWED];

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "budget: %s: %s\n", what, redlock_strerror(result));
	exit(1);
}

static redlock_lock *new_lock(unsigned number, const struct redlock_lock_options *options)
{
	char name[32];
	redlock_lock *lock;
	snprintf(name, sizeof name, "budget:%05u", number);
	must(redlock_lock_new(client, name, options, &lock), "lock_new");
	return lock;
}

/* ---- Cases: each does `count` pieces ---- */

static void pairs(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		must(redlock_acquire(locks[0]), "acquire");
		must(redlock_release(locks[0]), "release");
	}
}

static void pairs_without_waiting(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		must(redlock_acquire(locks[0]), "acquire");
		redlock_lock_free(locks[0]);
		locks[0] = new_lock(0, NULL);
	}
}

static void extends(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		must(redlock_extend(locks[0], 0), "extend");
}

/* One turn of a caller's loop. Returns how many pairs ended in it. */
static unsigned turn(unsigned *to_begin)
{
	struct pollfd watched = {.fd = redlock_fd(client), .events = POLLIN};
	struct redlock_event event = {.size = sizeof event};
	unsigned ended = 0;
	bool any = false;
	must(redlock_process(client), "process");
	while (redlock_next(client, &event) > 0) {
		any = true;
		must(event.result, "operation");
		if (event.operation == REDLOCK_OP_ACQUIRE) {
			must(redlock_start_release(event.lock), "start_release");
			continue;
		}
		ended++;
		if (*to_begin > 0) {
			(*to_begin)--;
			must(redlock_start_acquire(event.lock), "start_acquire");
		}
	}
	if (!any)
		poll(&watched, 1, -1);
	return ended;
}

static void loop(unsigned count, unsigned in_flight)
{
	unsigned to_begin = count - in_flight;
	for (unsigned i = 0; i < in_flight; i++)
		must(redlock_start_acquire(locks[i]), "start_acquire");
	for (unsigned ended = 0; ended < count;)
		ended += turn(&to_begin);
}

static void loop_one(unsigned count)
{
	loop(count, 1);
}

static void loop_many(unsigned count)
{
	loop(count, MANY);
}

/* All locks were taken at once and are due at once. A piece is one renewal. */
static void renewals(unsigned count)
{
	struct pollfd watched = {.fd = redlock_fd(client), .events = POLLIN};
	for (unsigned burst = 0; burst < count / RENEWED; burst++) {
		uint64_t before = redlock_deadline_ns(locks[RENEWED - 1]);
		while (redlock_deadline_ns(locks[RENEWED - 1]) == before) {
			poll(&watched, 1, -1);
			must(redlock_process(client), "process");
		}
	}
}

/* ---- Before the cases ---- */

static void prepare_held(void)
{
	must(redlock_acquire(locks[0]), "acquire");
}

static void prepare_hung(void)
{
	must(redlock_acquire(locks[0]), "acquire"); /* connects */
	must(redlock_release(locks[0]), "release");
	kernel_silence(KERNEL_SERVERS - 1, true);
}

static void prepare_renewed(void)
{
	struct redlock_lock_options o;
	redlock_lock_options_init(&o);
	o.renew_ms = 10000;
	for (unsigned i = 0; i < RENEWED; i++) {
		redlock_lock_free(locks[i]);
		locks[i] = new_lock(i, &o);
		must(redlock_start_acquire(locks[i]), "start_acquire");
	}
	while (redlock_deadline_ns(locks[RENEWED - 1]) == 0) {
		must(redlock_process(client), "process");
		poll(&(struct pollfd){.fd = redlock_fd(client), .events = POLLIN}, 1, -1);
	}
	for (struct redlock_event event = {.size = sizeof event}; redlock_next(client, &event) > 0;)
		must(event.result, "acquire");
}

static const struct {
	const char *name;
	void (*prepare)(void);
	void (*work)(unsigned count);
} cases[] = {
    {"pair", NULL, pairs},
    {"pair-hung", prepare_hung, pairs},
    {"pair-no-wait", NULL, pairs_without_waiting},
    {"extend", prepare_held, extends},
    {"loop-1", NULL, loop_one},
    {"loop-256", NULL, loop_many},
    {"renewal", prepare_renewed, renewals},
};

static void open_client(void)
{
	static const char *const urls[KERNEL_SERVERS] = {"unix:///run/0", "unix:///run/1", "unix:///run/2",
	                                                 "unix:///run/3", "unix:///run/4"};
	struct redlock_options o;
	redlock_options_init(&o);
	o.urls = urls;
	o.url_count = KERNEL_SERVERS;
	must(redlock_open(&o, &client), "open");
	for (unsigned i = 0; i < RENEWED; i++)
		locks[i] = new_lock(i, NULL);
}

static void run(unsigned number)
{
	unsigned long allocations = 0;
	open_client();
	if (cases[number].prepare != NULL)
		cases[number].prepare();
	cases[number].work(WARM_UP);
	uint64_t calls = kernel_calls();
#ifdef COUNT_ALLOCATIONS
	failmalloc_arm(0, false);
#endif
	kernel_measure(true);
	cases[number].work(REPEATS);
	kernel_measure(false);
#ifdef COUNT_ALLOCATIONS
	allocations = failmalloc_calls();
#endif
	printf("%d %llu %lu\n", REPEATS, (unsigned long long)(kernel_calls() - calls), allocations);
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (argc != 2)
			puts(cases[i].name);
		else if (strcmp(argv[1], cases[i].name) == 0)
			run(i);
	}
	fflush(stdout);
	return 0;
}
