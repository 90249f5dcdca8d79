/* SPDX-License-Identifier: MIT */
/* A shell line of `redlock elect`, run in a process group of its own, and killed when its time is over. All
 * signals that the caller waits for must be blocked, SIGCHLD too. */
#ifndef REDLOCK_TOOL_RUN_HOOK_H
#define REDLOCK_TOOL_RUN_HOOK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hook {
	const char *line;     /* NULL: nothing is run */
	const char *event;    /* REDLOCK_EVENT of the line: "gain", "loss", "change" */
	uint64_t limit_ms;    /* then KILL */
	const sigset_t *mask; /* of signals, for the line */
	bool breaks;          /* a signal that ends a term kills the line as well */
};

enum { HOOK_LATE = -1, HOOK_BROKEN = -2, HOOK_FAILED = -3 };

/* The signals that end a term of leadership. */
void hook_ends(sigset_t *ret);

/* Starts the line. -1: it cannot be. */
pid_t hook_start(const struct hook *hook);

/* Kills the line and all that is still in its group. */
void hook_kill(pid_t pid);

/* Runs the line to its end. Returns its exit code, 128+n for a signal, 0 without a line, or HOOK_. */
int hook_run(const struct hook *hook);

/* "it took longer than --hook-timeout", "exit code 3". Returns `buffer`. */
const char *hook_why(int code, char *buffer, size_t size);

#endif
