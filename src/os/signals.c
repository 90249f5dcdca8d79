/* SPDX-License-Identifier: MIT */
#include "os/signals.h"

#include <stddef.h>

struct rl_signals rl_signals_hold(bool wanted)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	struct rl_signals signals = {.held = wanted};
	sigset_t all;
	if (!wanted)
		return signals;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &signals.before);
	return signals;
}

void rl_signals_let_go(const struct rl_signals *signals)
{
	if (signals->held)
		pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
