/* SPDX-License-Identifier: MIT */
/* The signals that redlock gets while it runs a command. */
#include "signal_inbox.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../signals.h"

#define NOTHING RUN_EVENT_COUNT

static const struct {
	int number;
	enum run_event sent;          /* by a process */
	enum run_event from_terminal; /* or by the terminal */
} meanings[] = {
    {SIGTERM, RUN_ON_END_SIGNAL, NOTHING},          {SIGINT, RUN_ON_END_SIGNAL, RUN_ON_TTY_END},
    {SIGHUP, RUN_ON_END_SIGNAL, RUN_ON_TTY_END},    {SIGQUIT, RUN_ON_END_SIGNAL, RUN_ON_TTY_END},
    {SIGUSR1, RUN_ON_PASS_SIGNAL, NOTHING},         {SIGUSR2, RUN_ON_PASS_SIGNAL, NOTHING},
    {SIGWINCH, RUN_ON_PASS_SIGNAL, NOTHING},        {SIGCONT, RUN_ON_PASS_SIGNAL, NOTHING},
    {SIGTSTP, RUN_ON_STOP_SIGNAL, RUN_ON_TTY_STOP}, {SIGTTIN, RUN_ON_STOP_SIGNAL, RUN_ON_TTY_STOP},
    {SIGTTOU, RUN_ON_STOP_SIGNAL, RUN_ON_TTY_STOP},
};

enum { MEANINGS = sizeof meanings / sizeof meanings[0] };

int inbox_open(struct inbox *inbox)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	for (size_t i = 0; i < MEANINGS; i++)
		if (!signal_is_ignored(meanings[i].number))
			sigaddset(&wanted, meanings[i].number);
	inbox->fd = -1;
	if (sigprocmask(SIG_BLOCK, &wanted, &inbox->mask) < 0)
		return -1;
	inbox->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	return inbox->fd < 0 ? -1 : 0;
}

static enum run_event meaning(int number, bool from_terminal)
{
	for (size_t i = 0; i < MEANINGS; i++)
		if (meanings[i].number == number)
			return from_terminal ? meanings[i].from_terminal : meanings[i].sent;
	return NOTHING;
}

bool inbox_next(const struct inbox *inbox, struct inbox_signal *ret)
{
	struct signalfd_siginfo info;
	while (read(inbox->fd, &info, sizeof info) == (ssize_t)sizeof info) {
		ret->number = (int)info.ssi_signo;
		/* Only the kernel itself sends with this code: of these signals, on behalf of a terminal. */
		ret->from_terminal = info.ssi_code == SI_KERNEL;
		ret->sender = (pid_t)info.ssi_pid;
		ret->event = meaning(ret->number, ret->from_terminal);
		if (ret->event != NOTHING)
			return true;
	}
	return false;
}

struct inbox_signal inbox_early(int number)
{
	return (struct inbox_signal){.number = number, .event = meaning(number, false)};
}

void inbox_default(int number)
{
	const struct rlimit no_core = {0, 0};
	if (number == SIGQUIT)
		(void)setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, number);
	sigset_t old;
	sigprocmask(SIG_UNBLOCK, &only, &old);
	raise(number);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void inbox_stop(int number)
{
	sigset_t pending;
	if (sigpending(&pending) < 0 || !sigismember(&pending, SIGCONT))
		inbox_default(number);
}

void inbox_close(struct inbox *inbox)
{
	if (inbox->fd >= 0)
		close(inbox->fd);
}
