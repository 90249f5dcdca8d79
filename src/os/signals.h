/* SPDX-License-Identifier: MIT */
/*
 * Signals that end a blocking call. They are blocked while the call works, and let in while it waits, as
 * the waits of poller.c and wake.c do: a signal that comes between two waits ends the next one, and none is
 * lost. Faults (SIGSEGV and the like) are never blocked, nor what the process ignores.
 */
#ifndef RL_OS_SIGNALS_H
#define RL_OS_SIGNALS_H

#include <signal.h>

/* Returns what the thread blocked before: the signals that are to be blocked during a wait. */
sigset_t rl_signals_hold(void);
void rl_signals_let_go(const sigset_t *before);

/* Holds signals until the function that has this variable returns. */
#define RL_HOLD_SIGNALS(before)                                                                              \
	sigset_t before __attribute__((cleanup(rl_signals_let_go))) = rl_signals_hold()

#endif
