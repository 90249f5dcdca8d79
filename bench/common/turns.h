/* SPDX-License-Identifier: MIT */
/*
 * One name, and claimants of it in many processes: -c threads of this one ask for it, hold it for -h, release
 * it, rest for -r and ask again, for -t seconds after the gate opens. The times of their actions go into the
 * file of -o, which is shared memory: the program that runs the crowd sees which claimants wait and hold,
 * also of a process that was killed. A program brings a kind of lock; bench/turns.py reads the files.
 */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include <stdatomic.h>

#include "options.h"

#define TURNS_NAME "bench-contended"

/* CLOCK_MONOTONIC; 0: not yet. */
struct turn {
	_Atomic uint64_t asked_ns;
	_Atomic uint64_t granted_ns;
	_Atomic uint64_t releasing_ns; /* when the release was called */
	_Atomic uint64_t released_ns;
};

/* The file: this, the turns that each thread began, and then room for `capacity` turns of each thread. */
struct turns_file {
	uint64_t threads;
	uint64_t capacity;
	_Atomic uint64_t attempts; /* that were made, where the kind of lock counts them */
	_Atomic uint64_t counts[];
};

struct turns_kind {
	/* Once; `attempts` may be counted up. */
	void (*open)(const struct options *options, _Atomic uint64_t *attempts);
	/* Makes the claimant of one thread; ready to ask, as far as it can be. */
	void *(*claimant)(const struct options *options);
	/* Waits for the lock. False when stopped. */
	bool (*acquire)(void *claimant);
	void (*release)(void *claimant);
	/* Ends a wait, from another thread; `turns_stopping` is true by then. NULL: acquire looks for itself. */
	void (*stop)(void *claimant);
	void (*close)(void);
};

extern atomic_bool turns_stopping;

int turns_main(int argc, char **argv, const struct turns_kind *kind);

#endif
