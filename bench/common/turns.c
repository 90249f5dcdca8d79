/* SPDX-License-Identifier: MIT */
/* See turns.h. */
#include "turns.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "result.h"

enum { CAPACITY = 1 << 18 };

struct worker {
	pthread_t id;
	void *claimant;
	struct turn *turns;
	_Atomic uint64_t *count;
};

atomic_bool turns_stopping;
static struct options options;
static const struct turns_kind *kind;
static struct turns_file *file;

/* Untouched pages of the file are not there. */
static void map_file(void)
{
	size_t size = sizeof *file + options.count * (sizeof(uint64_t) + CAPACITY * sizeof(struct turn));
	int fd = options.samples_path != NULL ? open(options.samples_path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		die("file of -o");
	file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		die("mmap");
	close(fd);
	file->threads = options.count;
	file->capacity = CAPACITY;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	for (struct turn *t = w->turns; !turns_stopping && *w->count < CAPACITY; t++) {
		t->asked_ns = clock_now();
		++*w->count;
		if (!kind->acquire(w->claimant))
			break;
		t->granted_ns = clock_now();
		if (options.hold_us > 0)
			sleep_until(t->granted_ns + options.hold_us * 1000);
		t->releasing_ns = clock_now();
		kind->release(w->claimant);
		t->released_ns = clock_now();
		if (options.rest_ms > 0)
			sleep_until(t->released_ns + (uint64_t)options.rest_ms * 1000000u);
	}
	return NULL;
}

static void wait_at_gate(void)
{
	char line[16];
	fputs("READY\n", stderr);
	if (fgets(line, sizeof line, stdin) == NULL)
		die("gate");
}

/* A claimant that asks only now is not stopped, and gets its turn: all the others end. */
static void run(struct worker *workers)
{
	uint64_t end_ns = clock_now() + (uint64_t)(options.seconds * 1e9);
	for (unsigned i = 0; i < options.count; i++)
		if (pthread_create(&workers[i].id, NULL, work, &workers[i]) != 0)
			die("pthread_create");
	sleep_until(end_ns);
	turns_stopping = true;
	for (unsigned i = 0; i < options.count && kind->stop != NULL; i++)
		kind->stop(workers[i].claimant);
	for (unsigned i = 0; i < options.count; i++)
		pthread_join(workers[i].id, NULL);
}

int turns_main(int argc, char **argv, const struct turns_kind *of)
{
	kind = of;
	options = options_parse(argc, argv);
	struct worker *workers = calloc(options.count, sizeof *workers);
	if (workers == NULL)
		die("calloc");
	prctl(PR_SET_TIMERSLACK, 1ul); /* else a millisecond is 1.05 */
	map_file();
	kind->open(&options, &file->attempts);
	for (unsigned i = 0; i < options.count; i++) {
		workers[i].claimant = kind->claimant(&options);
		workers[i].turns = (struct turn *)(void *)&file->counts[options.count] + (size_t)i * CAPACITY;
		workers[i].count = &file->counts[i];
	}
	file->attempts = 0; /* those to connect */
	wait_at_gate();
	run(workers);
	kind->close();
	free(workers);
	return 0;
}
