/* SPDX-License-Identifier: MIT */
/* TERM INT HUP QUIT end a wait instead of the process, so that partial votes can be given back. */
#ifndef REDLOCK_TOOL_SIGNALS_H
#define REDLOCK_TOOL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Installs the handlers, and ignores SIGPIPE. A signal that is ignored at the start (nohup, background jobs)
 * stays ignored. Returns 0, or -1 with errno. */
int signals_catch(void);

/* In a child: makes the signals what they were when redlock was started. */
void signals_restore(void);

bool signal_is_ignored(int number);

/* The first signal that arrived, 0: none. */
int signals_caught(void);

/* Lets the signals arrive in a call that watches signals_fd(). Returns the mask to be set afterwards. */
sigset_t signals_permit(void);

/* A descriptor that is readable once a signal has arrived. */
int signals_fd(void);

/* Waits until the descriptor is ready for the events of poll(2). False: it is not, and a signal has arrived,
 * also one that is blocked otherwise, or the time is over; -1: no limit. */
bool signals_await_fd(int fd, short events, int timeout_ms);

/* Sleeps until that time of clock_ns(). False: a signal has arrived, which ends the sleep. */
bool signals_sleep_until(uint64_t until_ns);

#endif
