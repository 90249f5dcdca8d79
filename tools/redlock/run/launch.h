/* SPDX-License-Identifier: MIT */
/* The command, as `env` would start it: the signals, the mask and the descriptors that redlock was given. */
#ifndef REDLOCK_TOOL_RUN_LAUNCH_H
#define REDLOCK_TOOL_RUN_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "share.h"

struct launch {
	char *const *argv;
	const char *name;
	uint64_t ttl_ms;
	sigset_t mask;       /* as redlock found it */
	bool own_group;      /* else the group of redlock, which gets the signals of a terminal */
	pid_t group;         /* that group */
	bool die_with_guard; /* KILL from the kernel when the guard ends */
};

/* In the guard's child, which may share its memory (vfork). Puts REDLOCK_NAME, REDLOCK_TOKEN and
 * REDLOCK_TTL_MS into the environment and executes the command. If that fails, errno is in the page and the
 * process ends with 127 (not found) or 126. */
_Noreturn void launch_command(const struct launch *launch, struct run_share *share, pid_t guard);

#endif
