/* SPDX-License-Identifier: MIT */
/* The command, as `env` would start it: the signals, the mask and the descriptors that redlock was given. */
#ifndef REDLOCK_TOOL_RUN_LAUNCH_H
#define REDLOCK_TOOL_RUN_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../options.h"
#include "hold.h"
#include "runs.h"
#include "share.h"
#include "watch.h"

#define LAUNCH_ALSO_IS "REDLOCK_ALSO="

struct launch {
	char *const *argv;
	const char *name;
	const struct text_list *also; /* further names of the lock */
	const char *prefix;           /* of all of them; NULL: none */
	enum runs_kind kind;
	uint64_t birth;               /* of the guard */
	bool fenced;                  /* the command is told the number of the lock, */
	bool has_slot;                /* or of the slot */
	sigset_t mask;                /* as redlock found it */
	bool own_group;               /* else the group of redlock, which gets the signals of a terminal */
	pid_t group;                  /* that group */
	bool die_with_guard;          /* KILL from the kernel when the guard ends */
	const struct text_list *urls; /* of the nodes: the guard forgets their passwords, */
	char *password;               /* and this one; NULL: none */
	const struct hold *hold;      /* held instead of executing a command; NULL: none */
	const struct term *term;      /* run instead of executing a command; NULL: none */
	char **environment;           /* by launch_prepare() */
	char *runs;                   /* by runs_prepare() */
	char **runs_place;            /* and its place there */
};

/* Makes the command's environment: ours without REDLOCK_AUTH, and with REDLOCK_NAME, REDLOCK_TTL_MS, for
 * several names REDLOCK_ALSO (those after the first, each on a line) and, from the page, REDLOCK_TOKEN,
 * REDLOCK_FENCE and REDLOCK_SLOT; at last REDLOCK_RUNS. Ahead of need, because the new process would begin
 * with the page faults of snprintf() and setenv(), a dozen. False: out of memory. */
bool launch_prepare(struct launch *launch, struct run_share *share);

/* Behind the grant, in the guard: says in REDLOCK_RUNS what it told. */
void launch_complete(const struct launch *launch, struct run_share *share);

/* In the guard's child, which may share its memory (vfork). Executes the command, unless the watch says that
 * it is too late; then that is in the page. If it cannot be executed, errno is in the page and the process
 * ends with 127 (not found) or 126. */
_Noreturn void launch_command(const struct launch *launch, struct run_share *share, const struct watch *watch,
                              pid_t guard);

/* As launch_command(), for a launch with a term. */
_Noreturn void launch_term(const struct launch *launch, struct run_share *share, const struct watch *watch,
                           pid_t guard);

/* As launch_command(), for a launch with a hold. */
_Noreturn void launch_hold(const struct launch *launch, struct run_share *share, const struct watch *watch,
                           int proc, pid_t keeper, pid_t guard);

#endif
