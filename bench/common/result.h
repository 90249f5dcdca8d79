/* SPDX-License-Identifier: MIT */
/* The measurements of a program of bench/: times of pairs, processor time, memory; printed as one line of
 * JSON. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "options.h"

/* Times in nanoseconds, at most 4.29 s each. */
struct samples {
	uint32_t *ns;
	size_t count;
	size_t capacity;
};

struct result {
	struct samples acquire;
	struct samples pair;
	uint64_t failed;
	uint64_t begin_ns;
	uint64_t end_ns; /* when to stop; UINT64_MAX: at the number of pairs */
	double begin_cpu_s;
	long begin_kb;
};

/* CLOCK_MONOTONIC. */
uint64_t clock_now(void);

/* Begins to measure. Memory for the samples is taken, and written to where their number is known, so that it
 * is not taken for growth. With -g this waits for the word to go on. */
void result_begin(struct result *result, const struct options *options);

void samples_add(struct samples *samples, uint64_t ns);

/* Adds the samples of `from`. */
void samples_join(struct samples *to, const struct samples *from);

/* True when no more pairs should be begun, `running` being under way. */
bool result_over(const struct result *result, const struct options *options, uint64_t running);

/* Prints the line and writes the file of -o. `more`: further members of the object, "" or ",\"key\":value".
 */
void result_print(struct result *result, const struct options *options, const char *more);

/* Frees the samples. */
void result_close(struct result *result);

#endif
