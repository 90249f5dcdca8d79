/* SPDX-License-Identifier: MIT */
/* The signals that redlock gets while it runs a command, one by one, and who sent them. */
#ifndef REDLOCK_TOOL_RUN_SIGNAL_INBOX_H
#define REDLOCK_TOOL_RUN_SIGNAL_INBOX_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "words.h"

struct inbox {
	int fd;        /* readable when there is one */
	sigset_t mask; /* as it was before */
};

struct inbox_signal {
	int number;
	bool from_terminal; /* its whole foreground group got it, the command included */
	pid_t sender;
	enum run_event event;
};

/* Blocks and collects the signals, but for those that are ignored: nohup(1) and background jobs of a script.
 * Returns 0, or -1 with errno. */
int inbox_open(struct inbox *inbox);

/* The next signal that means something. False: none. */
bool inbox_next(const struct inbox *inbox, struct inbox_signal *ret);

/* A signal that was caught before inbox_open(): whether a terminal sent it is not known. */
struct inbox_signal inbox_early(int number);

/* Does what the signal does by default, now. */
void inbox_default(int number);

/* Stops this process until SIGCONT, unless that has come already. A stop that nobody could end, in an
 * orphaned process group, is ignored by the kernel. */
void inbox_stop(int number);

void inbox_close(struct inbox *inbox);

#endif
