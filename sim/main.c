/* SPDX-License-Identifier: MIT */
/* redlock-sim: runs seeds of the simulator, or replays one. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scenario.h"

enum { EXIT_FOUND = 1, EXIT_USAGE = 64 };

struct arguments {
	uint64_t first;
	uint64_t last;
	enum sim_break broken;
	bool trace;
	bool twice;
	bool cover;
	bool hash;
};

static const char *const break_options[BREAK_COUNT] = {
#define SIM_BREAK_OPTION(name, option, text) [BREAK_##name] = option,
    SIM_BREAK_MAP(SIM_BREAK_OPTION)
#undef SIM_BREAK_OPTION
};

static const char *const break_texts[BREAK_COUNT] = {
#define SIM_BREAK_TEXT(name, option, text) [BREAK_##name] = text,
    SIM_BREAK_MAP(SIM_BREAK_TEXT)
#undef SIM_BREAK_TEXT
};

static void print_usage(FILE *out)
{
	fputs("usage: redlock-sim --seed N [--trace]\n"
	      "       redlock-sim --seeds A..B [--cover] [--twice] [--break ASSUMPTION]\n"
	      "\n"
	      "  --seed N      run one seed\n"
	      "  --seeds A..B  run a range of seeds, until one fails\n"
	      "  --trace       print what happens, line by line\n"
	      "  --hash        print the hash of every seed's trace\n"
	      "  --twice       run every seed twice: the traces must be the same\n"
	      "  --cover       fail if a kind of fault or act never happened\n"
	      "  --break ASSUMPTION  break an assumption: succeed only if two holders overlap\n",
	      out);
	for (int i = 1; i < BREAK_COUNT; i++)
		fprintf(out, "      %-12s %s\n", break_options[i], break_texts[i]);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- reports ---- */

static void print_counts(const struct cover *cover, int from, int to)
{
	for (int i = from; i < to; i++)
		printf("  %-15s %10" PRIu64 "  %s\n", cover_name((enum sim_cover)i), cover->hits[i],
		       cover_text((enum sim_cover)i));
}

static void print_summary(const struct cover *cover, uint64_t seeds, double took)
{
	printf("%" PRIu64 " seeds in %.1f s: %.0f seeds/s, %.0f operations/s, %.0f events/s\n", seeds, took,
	       (double)seeds / took, (double)cover->operations / took, (double)cover->events / took);
	printf("%" PRIu64 " operations, %" PRIu64 " grants, %" PRIu64
	       " commands on nodes, %.0f s of virtual time\n",
	       cover->operations, cover->hits[COVER_GRANTED] + cover->hits[COVER_TAKEN], cover->commands,
	       (double)cover->world_ns / 1e9);
	printf("faults:\n");
	print_counts(cover, 0, COVER_FAULTS);
	printf("acts:\n");
	print_counts(cover, COVER_FAULTS, COVER_COUNT);
}

static int check_cover(const struct cover *cover)
{
	int missing = 0;
	for (int i = 0; i < COVER_COUNT; i++)
		if (cover->hits[i] == 0) {
			printf("never happened: %s, %s\n", cover_name((enum sim_cover)i), cover_text((enum sim_cover)i));
			missing = EXIT_FOUND;
		}
	return missing;
}

static void print_failure(uint64_t seed, const char *what)
{
	printf("seed %" PRIu64 " failed: %s\n", seed, what);
	printf("replay it with: redlock-sim --seed %" PRIu64 " --trace\n", seed);
}

/* ---- runs ---- */

static int run_twice(const struct arguments *a, uint64_t seed, const struct outcome *once)
{
	struct cover unused = {0};
	struct outcome again;
	scenario_run(seed, a->broken, true, false, &unused, &again);
	if (again.trace_hash == once->trace_hash && again.trace_lines == once->trace_lines)
		return 0;
	print_failure(seed, "two runs differ");
	return EXIT_FOUND;
}

static int run_range(const struct arguments *a, struct cover *cover)
{
	for (uint64_t seed = a->first; seed <= a->last; seed++) {
		struct outcome outcome;
		scenario_run(seed, BREAK_NONE, a->trace || a->twice || a->hash, a->trace, cover, &outcome);
		if (a->hash)
			printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", seed, outcome.trace_hash, outcome.trace_lines);
		if (outcome.failed) {
			print_failure(seed, outcome.first);
			return EXIT_FOUND;
		}
		if (a->twice && run_twice(a, seed, &outcome) != 0)
			return EXIT_FOUND;
	}
	return 0;
}

/* A negative control: the checkers are worth something only if they can fail. */
static int run_broken(const struct arguments *a, struct cover *cover)
{
	uint64_t found[VIOLATION_COUNT] = {0};
	uint64_t overlap_seed = 0;
	for (uint64_t seed = a->first; seed <= a->last && found[VIOLATION_OVERLAP] == 0; seed++) {
		struct outcome outcome;
		scenario_run(seed, a->broken, a->trace, a->trace, cover, &outcome);
		for (int i = 0; i < VIOLATION_COUNT; i++)
			found[i] += outcome.found[i];
		overlap_seed = seed;
	}
	for (int i = 0; i < VIOLATION_COUNT; i++)
		if (found[i] != 0)
			printf("  %-12s %8" PRIu64 "  %s\n", violation_name((enum violation)i), found[i],
			       violation_text((enum violation)i));
	if (found[VIOLATION_OVERLAP] == 0) {
		printf("no overlap was found although this is broken: %s\n", break_texts[a->broken]);
		return EXIT_FOUND;
	}
	printf("found, as it must be, in seed %" PRIu64 ": holders overlap with %s\n", overlap_seed,
	       break_texts[a->broken]);
	return 0;
}

static bool parse_range(const char *text, struct arguments *a)
{
	char *end;
	a->first = a->last = strtoull(text, &end, 10);
	if (end == text)
		return false;
	if (strncmp(end, "..", 2) == 0) {
		const char *second = end + 2;
		a->last = strtoull(second, &end, 10);
		if (end == second)
			return false;
	}
	return *end == '\0' && a->first <= a->last && a->last < UINT64_MAX;
}

static bool parse_break(const char *text, struct arguments *a)
{
	for (int i = 1; i < BREAK_COUNT; i++)
		if (strcmp(text, break_options[i]) == 0)
			a->broken = (enum sim_break)i;
	return a->broken != BREAK_NONE;
}

static bool parse(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
	    {"seed", required_argument, NULL, 's'},
	    {"seeds", required_argument, NULL, 's'},
	    {"trace", no_argument, NULL, 't'},
	    {"twice", no_argument, NULL, '2'},
	    {"cover", no_argument, NULL, 'c'},
	    {"hash", no_argument, NULL, 'x'},
	    {"break", required_argument, NULL, 'b'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	bool seeds = false;
	int option;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			print_usage(stdout);
			exit(EXIT_SUCCESS);
		} else if (option == 's') {
			seeds = parse_range(optarg, a);
		} else if (option == 'b') {
			if (!parse_break(optarg, a))
				return false;
		} else if (option == '?') {
			return false;
		}
		a->trace |= option == 't';
		a->twice |= option == '2';
		a->cover |= option == 'c';
		a->hash |= option == 'x';
	}
	return seeds && optind == argc;
}

int main(int argc, char **argv)
{
	struct arguments a = {0};
	struct cover cover = {0};
	if (!parse(argc, argv, &a)) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	double began = seconds();
	int status = a.broken != BREAK_NONE ? run_broken(&a, &cover) : run_range(&a, &cover);
	if (!a.trace && !a.hash && a.broken == BREAK_NONE && status == 0)
		print_summary(&cover, a.last - a.first + 1, seconds() - began);
	if (status == 0 && a.cover)
		status = check_cover(&cover);
	return status;
}
