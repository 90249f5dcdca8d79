/* SPDX-License-Identifier: MIT */
#include "os/signals.h"

#include <stdbool.h>
#include <stddef.h>

#include "os/thread.h"

/* An ignored signal that came while it was blocked would end the next wait, although no handler runs. */
static bool is_ignored(int number)
{
	struct sigaction action;
	if (sigaction(number, NULL, &action) < 0 || action.sa_handler == SIG_IGN)
		return true;
	bool by_default = number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
	return by_default && action.sa_handler == SIG_DFL;
}

sigset_t rl_signals_hold(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t held, before;
	sigfillset(&held);
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
		sigdelset(&held, faults[i]);
	for (int number = 1; number < SIGRTMIN; number++) /* nobody ignores those of real time */
		if (sigismember(&held, number) && is_ignored(number))
			sigdelset(&held, number);
	rl_thread_mask(SIG_BLOCK, &held, &before);
	return before;
}

void rl_signals_let_go(const sigset_t *before)
{
	rl_thread_mask(SIG_SETMASK, before, NULL);
}
