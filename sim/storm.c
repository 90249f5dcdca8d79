/* SPDX-License-Identifier: MIT */
/*
 * redlock-sim-storm: a thousand clients, the shipped library in each, lose one of three nodes at one moment.
 * Prints how many connections reach that node while it is away and when it is back, and fails when there are
 * more than the arithmetic of src/net/backoff.c allows. --break takes the jitter or the backoff away: then it
 * must fail.
 */
#include "storm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct storm storm;

/* ---- what clients do ---- */

struct scene {
	const char *name;
	bool holds, waits; /* else they are idle */
	uint64_t away_ms;
	/* Connections per millisecond on average, at most: in the first second, later, and when it is back. */
	double early, late;
};

/*
 * While nobody asks, the first try comes at a random time within a second: 1 per ms for 1000 clients. The
 * next ones come 50-100, 150-300, 350-700 and 750-1500 ms behind it: 5 per ms at the most, at the end of that
 * second. Later each client tries once in 1.5 to 3 s: less than 1000 / 1500 per ms, however they are spread.
 * Clients that renew each 10 s add a tenth at most. Those that wait for a busy lock ask each 50 to 150 ms, 10
 * per ms, and connect as they ask: each of the next three tries is as dense or less, and the times of three
 * can overlap.
 */
static const struct scene scenes[] = {
    {"idle, 20 s", false, false, 20000, 5.0, 1000 / 1500.0},
    {"holding locks, 20 s", true, false, 20000, 5.5, 1000 / 1500.0},
    {"waiting for a lock, 20 s", false, true, 20000, 30.0, 1000 / 1500.0},
    {"idle, back at once", false, false, 0, 1.0, 0},
    {"holding locks, back after 300 ms", true, false, 300, 5.5, 1000 / 1500.0},
};

enum {
	WARM_UP_MS = 15000,
	AFTER_MS = 8000,
	SECOND_MS = 1000,
	LATE_FROM_MS = 6000,
	LONGEST_DELAY_MS = 3000,
	COUNTED_MS = 40000
};

static void must(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, redlock_strerror(error));
	exit(2);
}

static void open_client(struct storm_client *c, const struct scene *scene)
{
	static const char *const urls[] = {"redis://node0", "redis://node1", "redis://node2"};
	struct redlock_options options;
	struct redlock_lock_options lock;
	char name[32];
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = STORM_NODES;
	storm.current = c;
	must(redlock_open(&options, &c->client), "redlock_open");
	redlock_lock_options_init(&lock);
	lock.ttl_ms = 30000;
	lock.renew_ms = 10000;
	lock.wait_ms = REDLOCK_FOREVER;
	snprintf(name, sizeof name, scene->waits ? "busy" : "job-%u", (unsigned)(c - storm.clients));
	must(redlock_lock_new(c->client, name, strlen(name), &lock, &c->lock), "redlock_lock_new");
	c->begins_ns = scene->holds || scene->waits ? storm.now_ns + prng_below(&storm.random, 10000) * STORM_MS
	                                            : STORM_NEVER;
}

static void run_client(struct storm_client *c)
{
	struct redlock_event event;
	storm.current = c;
	if (c->begins_ns <= storm.now_ns) {
		c->begins_ns = STORM_NEVER;
		must(redlock_start_acquire(c->lock), "redlock_start_acquire");
	}
	do
		must(redlock_process(c->client), "redlock_process");
	while (redlock_timeout_ns(c->client) <= storm.now_ns && redlock_next(c->client, &event) > 0);
}

/* When each client has something to do. */
static uint64_t due_ns[STORM_CLIENTS];

static void look(unsigned i)
{
	const struct storm_client *c = &storm.clients[i];
	due_ns[i] = storm_due(c) < c->begins_ns ? storm_due(c) : c->begins_ns;
}

static void run_until(uint64_t until_ns)
{
	for (unsigned i = 0; i < STORM_CLIENTS; i++)
		look(i);
	for (;;) {
		unsigned first = 0;
		for (unsigned i = 1; i < STORM_CLIENTS; i++)
			first = due_ns[i] < due_ns[first] ? i : first;
		uint64_t next_ns = due_ns[first] < until_ns ? due_ns[first] : until_ns;
		storm.now_ns = next_ns > storm.now_ns ? next_ns : storm.now_ns;
		if (due_ns[first] >= until_ns)
			return;
		run_client(&storm.clients[first]);
		look(first);
	}
}

static unsigned count_connected(void)
{
	unsigned count = 0;
	for (unsigned i = 0; i < STORM_CLIENTS; i++) {
		struct redlock_node_status status;
		storm.current = &storm.clients[i];
		must(redlock_node_status(storm.clients[i].client, 0, &status), "redlock_node_status");
		count += status.connected != 0;
	}
	return count;
}

/* ---- what is counted ---- */

static unsigned arrivals(unsigned from_ms, unsigned to_ms)
{
	unsigned sum = 0;
	for (unsigned ms = from_ms; ms < to_ms && ms < storm.arrival_ms; ms++)
		sum += storm.arrivals[ms];
	return sum;
}

static unsigned most_in(unsigned window_ms, unsigned from_ms, unsigned to_ms)
{
	unsigned most = 0;
	for (unsigned ms = from_ms; ms + window_ms <= to_ms; ms++) {
		unsigned sum = arrivals(ms, ms + window_ms);
		most = sum > most ? sum : most;
	}
	return most;
}

static void print_histogram(unsigned until_ms)
{
	for (unsigned ms = 0; ms < until_ms; ms += 100) {
		unsigned sum = arrivals(ms, ms + 100);
		printf("  %6u ms %5u ", ms, sum);
		for (unsigned i = 0; i < sum; i += 10)
			putchar('#');
		putchar('\n');
	}
}

/* Random arrivals of this mean stay within six deviations of it, in all windows of all seeds that anybody
 * will run. */
static bool holds(const char *when, unsigned window_ms, unsigned from_ms, unsigned to_ms, double per_ms)
{
	double mean = per_ms * window_ms;
	double bound = mean + 6 * sqrt(mean) + 1;
	unsigned most = to_ms > from_ms ? most_in(window_ms, from_ms, to_ms) : 0;
	bool good = most <= bound;
	printf("  %-28s %4u in %3u ms, at most %4.0f%s\n", when, most, window_ms, bound,
	       good ? "" : "   TOO MANY");
	return good;
}

static bool judge(const struct scene *scene)
{
	unsigned up_ms = (unsigned)scene->away_ms, end_ms = up_ms + LONGEST_DELAY_MS + AFTER_MS;
	bool good = true;
	for (unsigned window_ms = 10; window_ms <= 100; window_ms *= 10) {
		good &= holds("at first", window_ms, 0, LATE_FROM_MS, scene->early);
		if (up_ms > LATE_FROM_MS)
			good &= holds("later, and when it is back", window_ms, LATE_FROM_MS, end_ms, scene->late);
	}
	unsigned back = arrivals(up_ms, end_ms), connected = count_connected();
	printf("  %u connections when it is back, %u clients connected\n", back, connected);
	/* Each comes once, and none stays away. */
	good &= connected == STORM_CLIENTS && back >= STORM_CLIENTS - (up_ms == 0 ? 0u : 1u) * 50 &&
	        back <= STORM_CLIENTS;
	return good;
}

static bool play(const struct scene *scene, enum storm_break broken, uint64_t seed, bool histogram)
{
	storm = (struct storm){.broken = broken, .down_ns = STORM_NEVER, .up_ns = STORM_NEVER};
	storm.now_ns = 1000 * STORM_MS;
	prng_seed(&storm.random, seed, 1);
	storm.arrivals = calloc(COUNTED_MS, sizeof *storm.arrivals);
	storm.arrival_ms = COUNTED_MS;
	if (storm.arrivals == NULL)
		exit(2);
	for (unsigned i = 0; i < STORM_CLIENTS; i++)
		open_client(&storm.clients[i], scene);
	run_until(storm.now_ns + WARM_UP_MS * STORM_MS);
	printf("%s: %u of %u clients are connected when the node goes\n", scene->name, count_connected(),
	       (unsigned)STORM_CLIENTS);
	storm.down_ns = storm.now_ns;
	storm.up_ns = storm.now_ns + scene->away_ms * STORM_MS;
	storm_lose();
	run_until(storm.up_ns + (LONGEST_DELAY_MS + AFTER_MS) * STORM_MS);
	if (histogram)
		print_histogram((unsigned)scene->away_ms + LONGEST_DELAY_MS + 1000);
	bool good = judge(scene);
	for (unsigned i = 0; i < STORM_CLIENTS; i++) {
		storm.current = &storm.clients[i];
		redlock_lock_leave(storm.clients[i].lock);
		redlock_close(storm.clients[i].client);
		storm_forget(&storm.clients[i]);
	}
	free(storm.arrivals);
	return good;
}

int main(int argc, char **argv)
{
	enum storm_break broken = STORM_WHOLE;
	bool histogram = false, good = true;
	uint64_t seed = 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--histogram") == 0)
			histogram = true;
		else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--break") == 0 && strcmp(argv[i + 1], "jitter") == 0 && ++i)
			broken = STORM_NO_JITTER;
		else if (i + 1 < argc && strcmp(argv[i], "--break") == 0 && strcmp(argv[i + 1], "backoff") == 0 &&
		         ++i)
			broken = STORM_NO_BACKOFF;
		else {
			fprintf(stderr, "usage: %s [--histogram] [--seed N] [--break jitter|backoff]\n", argv[0]);
			return 2;
		}
	}
	for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		bool one = play(&scenes[i], broken, seed, histogram);
		good = good && one;
	}
	if (broken != STORM_WHOLE)
		puts(good ? "nothing was found, although it is broken" : "found, as it must be");
	return good == (broken == STORM_WHOLE) ? 0 : 1;
}
