/* SPDX-License-Identifier: MIT */
/* From the guard's child to the command. */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../exit_codes.h"
#include "../signals.h"

static bool set_environment(const struct launch *launch, const struct run_share *share)
{
	char ttl[24];

	snprintf(ttl, sizeof(ttl), "%llu", (unsigned long long)launch->ttl_ms);
	return setenv("REDLOCK_NAME", launch->name, 1) == 0 && setenv("REDLOCK_TOKEN", share->token, 1) == 0 &&
	       setenv("REDLOCK_TTL_MS", ttl, 1) == 0;
}

_Noreturn void launch_command(const struct launch *launch, struct run_share *share, pid_t guard)
{
	/* The group of redlock cannot be joined when redlock has just ended: the guard knows it too, and acts. */
	(void)setpgid(0, launch->own_group ? 0 : launch->group);
	if (launch->die_with_guard && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != guard)
		_exit(EXIT_INTERNAL);
	if (set_environment(launch, share)) {
		signals_restore();
		sigprocmask(SIG_SETMASK, &launch->mask, NULL);
		execvp(launch->argv[0], launch->argv);
	}
	atomic_store(&share->exec_error, errno);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}
