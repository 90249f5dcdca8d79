/* SPDX-License-Identifier: MIT */
/* Runs many seeds. The processes share a counter of seeds, and have a place each for what happened. */
#include "runner.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

#define MAX_JOBS 256

const struct break_row breaks[BREAK_COUNT] = {
#define SIM_BREAK_ROW(name, option, violation, text) [BREAK_##name] = {option, text, VIOLATION_##violation},
    SIM_BREAK_MAP(SIM_BREAK_ROW)
#undef SIM_BREAK_ROW
};

struct job {
	uint64_t seed; /* that is being run */
	uint64_t seeds;
	bool told; /* why it failed */
	struct cover cover;
};

struct shared {
	_Atomic uint64_t next_seed;
	_Atomic uint64_t operations;
	_Atomic bool stop;
	struct job jobs[MAX_JOBS];
};

static void print_failure(const struct arguments *a, uint64_t seed, const char *what)
{
	bool broken = a->broken != BREAK_NONE;
	printf("seed %" PRIu64 " failed: %s\n", seed, what);
	printf("replay it with: %s%s%s --seed %" PRIu64 " --trace\n", a->program, broken ? " --break " : "",
	       broken ? breaks[a->broken].option : "", seed);
	fflush(stdout);
}

/* ---- one seed ---- */

/* 0, or EXIT_FOUND after it was told why. */
static int run_seed(const struct arguments *a, uint64_t seed, struct cover *cover)
{
	struct outcome outcome;
	scenario_run(seed, BREAK_NONE, a->trace || a->hash, a->trace, cover, &outcome);
	if (a->hash)
		printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", seed, outcome.trace_hash, outcome.trace_lines);
	if (outcome.failed)
		print_failure(a, seed, outcome.first);
	return outcome.failed ? EXIT_FOUND : 0;
}

/* ---- many ---- */

static int work(const struct arguments *a, struct shared *shared, struct job *job)
{
	int status = 0;
	while (status == 0 && !shared->stop && shared->operations < a->operations) {
		job->seed = atomic_fetch_add(&shared->next_seed, 1);
		if (job->seed > a->last)
			break;
		uint64_t before = job->cover.operations;
		status = run_seed(a, job->seed, &job->cover);
		atomic_fetch_add(&shared->operations, job->cover.operations - before);
		job->seeds++;
	}
	job->told = status != 0;
	if (status != 0)
		shared->stop = true;
	return status;
}

/* Takes the result of a process that ended. A process that did not say why has been killed, or stopped by a
 * sanitizer. */
static int reap(const struct arguments *a, struct shared *shared, const struct job *job, pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			perror("redlock-sim: waitpid");
			return EXIT_FOUND;
		}
	if (job->told || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return job->told ? EXIT_FOUND : 0;
	char what[64];
	snprintf(what, sizeof what, "the simulator died, %s %d", WIFEXITED(status) ? "status" : "signal",
	         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	print_failure(a, job->seed, what);
	shared->stop = true;
	return EXIT_FOUND;
}

static int run_jobs(const struct arguments *a, struct shared *shared, unsigned count)
{
	pid_t pids[MAX_JOBS];
	int status = 0;
	fflush(stdout);
	for (unsigned i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(work(a, shared, &shared->jobs[i])); /* not _exit(): the leak checker wants its turn */
		}
		if (pids[i] < 0) {
			perror("redlock-sim: fork");
			shared->stop = true;
			count = i;
			status = EXIT_FOUND;
		}
	}
	for (unsigned i = 0; i < count; i++)
		status |= reap(a, shared, &shared->jobs[i], pids[i]);
	return status;
}

int run_seeds(const struct arguments *a, struct cover *cover, uint64_t *ret_seeds)
{
	unsigned jobs = a->jobs < MAX_JOBS ? a->jobs : MAX_JOBS;
	struct shared *shared =
	    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("redlock-sim: mmap");
		return EXIT_FOUND;
	}
	shared->next_seed = a->first;
	int status = jobs > 1 ? run_jobs(a, shared, jobs) : work(a, shared, &shared->jobs[0]);
	*ret_seeds = 0;
	for (unsigned i = 0; i < jobs; i++) {
		cover_add(cover, &shared->jobs[i].cover);
		*ret_seeds += shared->jobs[i].seeds;
	}
	munmap(shared, sizeof *shared);
	return status;
}

/* ---- negative controls ---- */

static bool is_found(const struct arguments *a, const struct outcome *o,
                     const uint64_t found[VIOLATION_COUNT])
{
	return a->proof >= 0 ? o->refused[a->proof][0] != '\0' : found[breaks[a->broken].finds] != 0;
}

int run_broken(const struct arguments *a)
{
	uint64_t found[VIOLATION_COUNT] = {0};
	enum violation wanted = a->proof >= 0 ? VIOLATION_PROOF : breaks[a->broken].finds;
	uint64_t seed = a->first;
	struct outcome outcome;
	struct cover cover = {0};
	for (;; seed++) {
		scenario_run(seed, a->broken, a->trace, a->trace, &cover, &outcome);
		for (int i = 0; i < VIOLATION_COUNT; i++)
			found[i] += outcome.found[i];
		if (is_found(a, &outcome, found) || seed == a->last)
			break;
	}
	for (int i = 0; i < VIOLATION_COUNT; i++)
		if (found[i] != 0)
			printf("  %-12s %8" PRIu64 "  %s\n", violations[i].name, found[i], violations[i].text);
	for (unsigned t = 0; t < PROOF_THEOREMS; t++)
		if (outcome.refused[t][0] != '\0')
			printf("the theorem %s refuses %s\n", proof_theorems[t], outcome.refused[t]);
	if (!is_found(a, &outcome, found)) {
		printf("not found, although %s: %s\n", breaks[a->broken].text, violations[wanted].text);
		return EXIT_FOUND;
	}
	printf("found, as it must be when %s, in seed %" PRIu64 ": %s\n", breaks[a->broken].text, seed,
	       violations[wanted].text);
	printf("replay it with: %s --break %s --seed %" PRIu64 " --trace\n", a->program, breaks[a->broken].option,
	       seed);
	return 0;
}
