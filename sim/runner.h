/* SPDX-License-Identifier: MIT */
/* Runs many seeds, on all cores. */
#ifndef SIM_RUNNER_H
#define SIM_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"
#include "plan.h"

enum { EXIT_FOUND = 1, EXIT_USAGE = 64 };

struct arguments {
	const char *program; /* as it was typed */
	uint64_t first;
	uint64_t last;       /* UINT64_MAX: no end */
	uint64_t operations; /* stop after so many; UINT64_MAX: no limit */
	unsigned jobs;       /* processes */
	enum sim_break broken;
	bool trace;
	bool cover;
	bool hash;
	int proof; /* with a rule broken: this theorem must refuse a step; -1: none need */
};

/* The assumptions that can be broken on purpose: name, description, and the violation that must be found. */
extern const struct break_row {
	const char *option, *text;
	enum violation finds;
} breaks[BREAK_COUNT];

/* Runs the seeds until one fails, and adds up what happened in `cover`. An exit status. */
int run_seeds(const struct arguments *a, struct cover *cover, uint64_t *ret_seeds);

/* A negative control: an assumption is broken, and the consequence must be found. An exit status. */
int run_broken(const struct arguments *a);

#endif
