/* SPDX-License-Identifier: MIT */
/*
 * One client of the fault tests: takes the lock, changes a shared counter under it, gives it back, until
 * SIGTERM. It sees the public header alone, and writes a history of all it does (history.h).
 *
 *     faults-client [options] URL...
 *
 * The counter is a file that knows no lock: read, sleep, write. Two clients that do so at the same time lose
 * an update. It has a cell for each thing that can be locked (kind.h). A holder of a shared lock only reads,
 * and the cells that it reads must not change.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <redlock/redlock.h>

#include "history.h"
#include "kind.h"

enum mode {
	PLAIN,  /* holds without extending */
	EXTEND, /* extends by hand, each third of the TTL */
	KEEPER  /* lets the library renew in the background */
};

enum { WAIT_MS = 400, DRAIN_MS = 3000, STEP_MS = 10 };

struct settings {
	const char *history, *counter;
	uint64_t ttl_ms;
	enum mode mode;
	const struct kind *kind;
	unsigned seed;
	unsigned hold_min_ms, hold_max_ms; /* how long it works under the lock */
	unsigned work_max_ms;              /* between read and write */
	bool careless;                     /* writes without a look at the time that is left */
};

struct worker {
	struct settings set;
	redlock_client *client;
	redlock_lock *lock;
	int counter_fd;
	unsigned round;
	struct cells cells;  /* what it has in this round */
	uint64_t claimed_ns; /* the latest deadline that was claimed in this round */
	bool lost;
};

static volatile sig_atomic_t stopping, hurried;

static void on_signal(int signal_number)
{
	*(signal_number == SIGTERM ? &stopping : &hurried) = 1;
}

static void sleep_ms(unsigned ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	while (nanosleep(&left, &left) != 0 && errno == EINTR && !stopping) {
	}
}

static unsigned draw(struct worker *w, unsigned low, unsigned high)
{
	return low + (unsigned)rand_r(&w->set.seed) % (high - low + 1);
}

/* ---- Claims ----------------------------------------------------------------------------------------- */

/* Writes down a deadline that moved, or that the lock is gone. Returns whether it may still be relied on. */
static bool look(struct worker *w)
{
	uint64_t deadline_ns = redlock_deadline_ns(w->lock);
	uint64_t now_ns = history_now_ns();
	if (deadline_ns > w->claimed_ns) {
		w->claimed_ns = deadline_ns;
		history_line(now_ns, "extended round=%u deadline=%" PRIu64, w->round, deadline_ns);
	}
	if (!w->lost && redlock_remaining_ms(w->lock) == 0) {
		w->lost = true;
		history_line(now_ns, "lost round=%u", w->round);
	}
	return !w->lost;
}

static void pull_notices(struct worker *w)
{
	struct redlock_event event = {.size = sizeof event};
	while (redlock_next(w->client, &event) == 1) {
		if (event.kind == REDLOCK_EVENT_LOST)
			history_line(history_now_ns(), "notice round=%u kind=lost", w->round);
		else if (event.kind == REDLOCK_EVENT_DANGER)
			history_line(history_now_ns(), "notice round=%u kind=danger", w->round);
	}
}

/* ---- Work under the lock
 * --------------------------------------------------------------------------------------- */

static uint64_t read_cell(const struct worker *w, unsigned cell)
{
	uint64_t value = 0;
	if (pread(w->counter_fd, &value, sizeof value, (off_t)(cell * sizeof value)) != (ssize_t)sizeof value) {
		perror("counter");
		exit(1);
	}
	return value;
}

static void write_cell(const struct worker *w, unsigned cell, uint64_t value)
{
	if (pwrite(w->counter_fd, &value, sizeof value, (off_t)(cell * sizeof value)) != (ssize_t)sizeof value) {
		perror("counter");
		exit(1);
	}
}

static void work(struct worker *w)
{
	for (unsigned left = draw(w, 5, w->set.work_max_ms); left > 0; left -= left < STEP_MS ? left : STEP_MS) {
		sleep_ms(left < STEP_MS ? left : STEP_MS);
		look(w);
	}
}

/* Adds one to each cell, the way that needs a lock. Returns false when the lock leaves no time for it. */
static bool update(struct worker *w)
{
	uint64_t margin_ms = w->set.ttl_ms / 10;
	uint64_t read_ns = history_now_ns(), value[MOST_CELLS] = {0};
	for (unsigned i = 0; i < w->cells.count; i++)
		value[i] = read_cell(w, w->cells.cell[i]);
	work(w);
	if (!w->set.careless && redlock_remaining_ms(w->lock) < margin_ms)
		return false;
	history_line(history_now_ns(), "writes round=%u read_at=%" PRIu64 " value=%" PRIu64, w->round, read_ns,
	             value[0] + 1);
	for (unsigned i = 0; i < w->cells.count; i++)
		write_cell(w, w->cells.cell[i], value[i] + 1);
	history_line(history_now_ns(), "wrote round=%u value=%" PRIu64, w->round, value[0] + 1);
	return true;
}

/* Others may read as well, and nobody may write. */
static bool read_only(struct worker *w)
{
	uint64_t value = read_cell(w, w->cells.cell[0]);
	work(w);
	bool torn = read_cell(w, w->cells.cell[0]) != value;
	if (redlock_remaining_ms(w->lock) < w->set.ttl_ms / 10)
		return false; /* what was read may have been read too late */
	if (torn)
		history_line(history_now_ns(), "torn round=%u", w->round);
	return true;
}

static void extend(struct worker *w)
{
	int error = redlock_extend(w->lock, 0);
	if (error < 0)
		history_line(history_now_ns(), "not_extended round=%u error=%s", w->round, redlock_error_name(error));
}

static void hold(struct worker *w)
{
	uint64_t start_ns = history_now_ns();
	uint64_t extended_ns = start_ns;
	uint64_t work_ns = UINT64_C(1000000) * draw(w, w->set.hold_min_ms, w->set.hold_max_ms);
	do {
		bool in_time = w->set.kind->shares ? read_only(w) : update(w);
		if (!in_time || (!look(w) && !w->set.careless))
			return;
		if (w->set.mode == EXTEND && history_now_ns() - extended_ns > w->set.ttl_ms * 1000000 / 3) {
			extended_ns = history_now_ns();
			extend(w);
			look(w);
		}
		pull_notices(w);
	} while (!stopping && !hurried && history_now_ns() - start_ns < work_ns);
}

/* ---- A round
 * --------------------------------------------------------------------------------------------------- */

static void log_grant(struct worker *w)
{
	uint64_t now_ns = history_now_ns();
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t length;
	if (redlock_lock_token(w->lock, token, sizeof token, &length) < 0)
		token[0] = '\0';
	w->lost = false;
	w->claimed_ns = redlock_deadline_ns(w->lock);
	w->cells = kind_cells(w->set.kind, w->lock);
	char cells[32];
	history_line(now_ns, "grant round=%u deadline=%" PRIu64 " token=%s cells=%s shared=%d", w->round,
	             w->claimed_ns, token, cells_text(&w->cells, cells, sizeof cells), w->set.kind->shares);
}

/* The nodes' votes in the last operation, as "YES,NO,TIMEOUT". */
static const char *votes(const struct worker *w, char *buffer, size_t size)
{
	size_t length = 0;
	struct redlock_vote vote = {.size = sizeof vote};
	buffer[0] = '\0';
	for (unsigned i = 0; i < redlock_node_count(w->client) && length < size; i++) {
		if (redlock_lock_vote(w->lock, i, &vote) == 0)
			length += (size_t)snprintf(buffer + length, size - length, "%s%s", i == 0 ? "" : ",",
			                           redlock_vote_name(vote.code));
	}
	return buffer;
}

static void one_round(struct worker *w)
{
	char text[512];
	w->round++;
	history_line(history_now_ns(), "invoke round=%u", w->round);
	int error = redlock_acquire(w->lock);
	if (error < 0) {
		history_line(history_now_ns(), "refused round=%u error=%s votes=%s", w->round,
		             redlock_error_name(error), votes(w, text, sizeof text));
		sleep_ms(draw(w, 5, 30)); /* where waiting is hopeless, acquire returns at once */
		return;
	}
	log_grant(w);
	hold(w);
	look(w);
	history_line(history_now_ns(), "release round=%u", w->round);
	error = redlock_release(w->lock);
	history_line(history_now_ns(), "released round=%u result=%s", w->round, redlock_error_name(error));
	pull_notices(w);
	sleep_ms(draw(w, 1, 20));
}

/* ---- Start and end
 * --------------------------------------------------------------------------------------------- */

static int connect_all(struct worker *w, char **urls, int count)
{
	char why[256] = "";
	struct redlock_options options;
	struct redlock_lock_options lock_options;
	redlock_options_init(&options);
	options.urls = (const char *const *)urls;
	options.url_count = (size_t)count;
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_open(&options, &w->client);
	if (error < 0)
		goto out;
	redlock_lock_options_init(&lock_options);
	lock_options.ttl_ms = w->set.ttl_ms;
	lock_options.wait_ms = WAIT_MS;
	lock_options.renew_ms = w->set.mode == KEEPER ? w->set.ttl_ms / 3 : 0;
	error = kind_lock(w->set.kind, w->client, &lock_options, &w->lock);
	if (error == 0 && w->set.mode == KEEPER)
		error = redlock_keeper_start(w->client);
out:
	if (error < 0)
		fprintf(stderr, "faults-client: %s: %s\n", redlock_strerror(error), why);
	return error;
}

static void usage(void)
{
	fputs("usage: faults-client --history FILE --counter FILE [--ttl MS] [--mode plain|extend|keeper] "
	      "[--seed N]\n"
	      "           [--kind NAME] [--hold MIN-MAX] [--work MAX] [--careless] URL...\n",
	      stderr);
	exit(64);
}

static enum mode mode_of(const char *name)
{
	static const char *const names[] = {"plain", "extend", "keeper"};
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(name, names[i]) == 0)
			return (enum mode)i;
	}
	usage();
	return PLAIN;
}

static unsigned number(const char *text, char end, const char **ret_rest)
{
	char *rest;
	unsigned long value = strtoul(text, &rest, 10);
	if (rest == text || *rest != end || value > 1000000000)
		usage();
	if (ret_rest != NULL)
		*ret_rest = rest + 1;
	return (unsigned)value;
}

static struct settings parse(int argc, char **argv)
{
	static const struct option options[] = {
	    {"history", required_argument, NULL, 'l'}, {"counter", required_argument, NULL, 'c'},
	    {"ttl", required_argument, NULL, 't'},     {"mode", required_argument, NULL, 'm'},
	    {"kind", required_argument, NULL, 'k'},    {"seed", required_argument, NULL, 's'},
	    {"hold", required_argument, NULL, 'h'},    {"work", required_argument, NULL, 'w'},
	    {"careless", no_argument, NULL, 'x'},      {NULL, 0, NULL, 0}};
	struct settings set = {.ttl_ms = 1000,
	                       .kind = kind_named("alone"),
	                       .hold_min_ms = 10,
	                       .hold_max_ms = 200,
	                       .work_max_ms = 40,
	                       .seed = 1};
	const char *rest;
	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (option) {
		case 'l':
			set.history = optarg;
			break;
		case 'c':
			set.counter = optarg;
			break;
		case 't':
			set.ttl_ms = number(optarg, '\0', NULL);
			break;
		case 'm':
			set.mode = mode_of(optarg);
			break;
		case 'k':
			set.kind = kind_named(optarg);
			break;
		case 's':
			set.seed = number(optarg, '\0', NULL);
			break;
		case 'h':
			set.hold_min_ms = number(optarg, '-', &rest);
			set.hold_max_ms = number(rest, '\0', NULL);
			break;
		case 'w':
			set.work_max_ms = number(optarg, '\0', NULL);
			break;
		case 'x':
			set.careless = true;
			break;
		default:
			usage();
		}
	}
	if (set.history == NULL || set.counter == NULL || set.kind == NULL || optind == argc ||
	    set.hold_max_ms < set.hold_min_ms || set.work_max_ms < 5)
		usage();
	return set;
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {"plain", "extend", "keeper"};
	struct sigaction action = {.sa_handler = on_signal};
	struct worker w = {.set = parse(argc, argv)};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	history_open(w.set.history);
	w.counter_fd = open(w.set.counter, O_RDWR | O_CLOEXEC);
	if (w.counter_fd < 0) {
		perror(w.set.counter);
		return 1;
	}
	history_line(history_now_ns(), "start mode=%s ttl_ms=%" PRIu64, modes[w.set.mode], w.set.ttl_ms);
	if (connect_all(&w, argv + optind, argc - optind) < 0)
		return 1;
	while (!stopping)
		one_round(&w);
	redlock_lock_free(w.lock);
	int owed = redlock_drain(w.client, DRAIN_MS);
	history_line(history_now_ns(), "end owed=%d", owed);
	redlock_close(w.client);
	close(w.counter_fd);
	return 0;
}
