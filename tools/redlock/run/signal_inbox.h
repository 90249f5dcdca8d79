/* SPDX-License-Identifier: MIT */
/* Collects the signals that redlock gets while it runs a command, each with its sender. */
#ifndef REDLOCK_TOOL_RUN_SIGNAL_INBOX_H
#define REDLOCK_TOOL_RUN_SIGNAL_INBOX_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "words.h"

struct inbox {
	int fd;        /* readable while a signal waits */
	sigset_t mask; /* the signal mask before inbox_open(), for the command */
};

struct inbox_signal {
	int number;
	bool from_terminal; /* its whole foreground group got it, the command included */
	pid_t sender;
	enum run_event event;
};

/* Blocks and collects signals, except those that were ignored at the start (nohup(1), a script's background
 * jobs). Returns 0, or -1 with errno. */
int inbox_open(struct inbox *inbox);

/* Takes the next signal that is an event of the run. Returns false if no signal waits. */
bool inbox_next(const struct inbox *inbox, struct inbox_signal *ret);

/* A signal that was caught before inbox_open(): whether a terminal sent it is not known. */
struct inbox_signal inbox_early(int number);

/* Resets the signal to its default action and raises it. SIGQUIT leaves no core file. */
void inbox_default(int number);

/* Stops this process until SIGCONT, unless a SIGCONT is pending. In an orphaned process group, where nobody
 * could continue it, the kernel ignores the stop. */
void inbox_stop(int number);

void inbox_close(struct inbox *inbox);

#endif
