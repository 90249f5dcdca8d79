/* SPDX-License-Identifier: MIT */
/*
 * Signals that end a blocking call. They are blocked while the call works, and let in while it waits, as
 * ppoll(2) and epoll_pwait(2) do it: a signal that comes between two waits ends the next one, and none is
 * lost. Faults (SIGSEGV and the like) are never blocked.
 */
#ifndef RL_OS_SIGNALS_H
#define RL_OS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct rl_signals {
	sigset_t before; /* what the thread blocked before the call */
	bool held;
};

struct rl_signals rl_signals_hold(bool wanted);
void rl_signals_let_go(const struct rl_signals *signals);

/* Holds signals until the function that has this among its variables returns. */
#define RL_HOLD_SIGNALS(wanted)                                                                              \
	struct rl_signals rl_held __attribute__((cleanup(rl_signals_let_go))) = rl_signals_hold(wanted)

/* The signals that are to be blocked during a wait; NULL: no signal ends it. */
#define RL_SIGNALS_WAIT (rl_held.held ? &rl_held.before : NULL)

#endif
