/* SPDX-License-Identifier: MIT */
#include "os/signals.h"

#include <stddef.h>

#include "os/thread.h"

sigset_t rl_signals_hold(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t all, before;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
		sigdelset(&all, faults[i]);
	rl_thread_mask(SIG_BLOCK, &all, &before);
	return before;
}

void rl_signals_let_go(const sigset_t *before)
{
	rl_thread_mask(SIG_SETMASK, before, NULL);
}
