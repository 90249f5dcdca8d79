/* SPDX-License-Identifier: MIT */
/* redlock-sim: runs seeds of the simulator, or replays one. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "proof.h"
#include "runner.h"

static void print_usage(FILE *out)
{
	fputs("usage: redlock-sim --seed N [--trace]\n"
	      "       redlock-sim --seeds A..B [--jobs N] [--cover] [--hash]\n"
	      "       redlock-sim --operations N [--seeds A..] [--jobs N] [--cover]\n"
	      "       redlock-sim --seeds A..B --break ASSUMPTION\n"
	      "\n"
	      "  --seed N        run one seed\n"
	      "  --seeds A..B    run a range of seeds, until one fails\n"
	      "  --operations N  run seeds until the applications have started N operations; 1e8 takes a night\n"
	      "  --jobs N        in so many processes; as many as there are processors otherwise\n"
	      "  --trace         print what happens, line by line\n"
	      "  --hash          print the hash of every seed's trace\n"
	      "  --cover         fail if a kind of what is counted never happened\n"
	      "  --proof THEOREM with --break: succeed only if the theorem refuses a step\n"
	      "  --break ASSUMPTION  break an assumption: succeed only if the consequence is found\n",
	      out);
	for (int i = 1; i < BREAK_COUNT; i++)
		fprintf(out, "      %-12s %s\n", breaks[i].option, breaks[i].text);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- reports ---- */

static void print_summary(const struct cover *cover, uint64_t seeds, double took)
{
	printf("%" PRIu64 " seeds in %.1f s: %.0f seeds/s, %.0f operations/s, %.0f events/s\n", seeds, took,
	       (double)seeds / took, (double)cover->operations / took, (double)cover->events / took);
	printf("%" PRIu64 " operations, %" PRIu64 " grants, %" PRIu64
	       " commands on nodes, %.0f s of virtual time\n",
	       cover->operations, cover->hits[COVER_GRANTED] + cover->hits[COVER_TAKEN], cover->commands,
	       (double)cover->world_ns / 1e9);
	printf("after the faults every lock was acquired within %.3f s; a client never had more than %" PRIu64
	       " bytes\n",
	       (double)cover->slowest_heal_ns / 1e9, cover->most_memory);
	puts("a lock was free although somebody waited, but for round trips:");
	for (unsigned i = 0; i <= SIM_TROUBLES; i++)
		printf("  %.3f s with %s\n", (double)cover->idle_ns[i] / 1e9, crowd_name(i));
	printf("faults, acts, events, answers of nodes:\n");
	cover_print(cover, false);
	proof_print(cover);
	printf("transitions of the core (and why no others follow):\n");
	transitions_print(&cover->transitions);
}

/* ---- arguments ---- */

/* N, A..B, or A.. */
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
			a->last = UINT64_MAX;
	}
	return *end == '\0' && a->first <= a->last;
}

/* 100000000 or 1e8 */
static bool parse_count(const char *text, uint64_t *ret)
{
	char *end;
	double number = strtod(text, &end);
	if (end == text || *end != '\0' || !(number >= 1) || number > 1e18)
		return false;
	*ret = (uint64_t)number;
	return true;
}

static bool parse_break(const char *text, struct arguments *a)
{
	for (int i = 1; i < BREAK_COUNT; i++)
		if (strcmp(text, breaks[i].option) == 0)
			a->broken = (enum sim_break)i;
	return a->broken != BREAK_NONE;
}

static bool parse_proof(const char *text, struct arguments *a)
{
	for (int i = 0; i < PROOF_THEOREMS; i++)
		if (strcmp(text, proof_theorems[i]) == 0)
			a->proof = i;
	return a->proof >= 0;
}

static bool parse_option(int option, const char *value, struct arguments *a)
{
	uint64_t jobs = 0;
	switch (option) {
	case 's':
		return parse_range(value, a);
	case 'o':
		return parse_count(value, &a->operations);
	case 'b':
		return parse_break(value, a);
	case 'j':
		if (!parse_count(value, &jobs) || jobs > 1000)
			return false;
		a->jobs = (unsigned)jobs;
		return true;
	case 't':
		return a->trace = true;
	case 'p':
		return parse_proof(value, a);
	case 'c':
		return a->cover = true;
	case 'x':
		return a->hash = true;
	case 'h':
		print_usage(stdout);
		exit(EXIT_SUCCESS);
	default:
		return false;
	}
}

static bool parse(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
	    {"seed", required_argument, NULL, 's'},
	    {"seeds", required_argument, NULL, 's'},
	    {"operations", required_argument, NULL, 'o'},
	    {"jobs", required_argument, NULL, 'j'},
	    {"trace", no_argument, NULL, 't'},
	    {"cover", no_argument, NULL, 'c'},
	    {"hash", no_argument, NULL, 'x'},
	    {"break", required_argument, NULL, 'b'},
	    {"proof", required_argument, NULL, 'p'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	int option;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		if (!parse_option(option, optarg, a))
			return false;
	if (a->first == 0 && a->last == 0 && a->operations != UINT64_MAX) {
		a->first = 1;
		a->last = UINT64_MAX;
	}
	bool endless = a->last == UINT64_MAX && a->operations == UINT64_MAX;
	bool ordered = a->trace || a->hash; /* what is printed must not be mixed */
	if (ordered || a->first == a->last)
		a->jobs = 1;
	return optind == argc && a->last != 0 && !endless;
}

int main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct arguments a = {.program = argv[0],
	                      .proof = -1,
	                      .operations = UINT64_MAX,
	                      .jobs = processors > 1 ? (unsigned)processors : 1};
	struct cover cover = {0};
	uint64_t seeds;
	if (!parse(argc, argv, &a)) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (a.broken != BREAK_NONE)
		return run_broken(&a);
	double began = seconds();
	int status = run_seeds(&a, &cover, &seeds);
	if (!a.trace && !a.hash)
		print_summary(&cover, seeds, seconds() - began);
	if (status == 0 && a.cover)
		status = cover_print(&cover, true) + transitions_missing(&cover.transitions) > 0 ? EXIT_FOUND : 0;
	return status;
}
