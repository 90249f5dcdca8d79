/* SPDX-License-Identifier: MIT */
/* Makes the keeper, and waits until it holds the lock or cannot. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../exit_codes.h"
#include "../message.h"
#include "../signals.h"
#include "../streams.h"
#include "family.h"
#include "flocks.h"
#include "hold.h"

enum { RELEASE_MS = 10000 }; /* a keeper that takes longer to release is stopped, or has lost the nodes */

/* ---- a lock that is there ---- */

/* The waiter that has locked the description; 0: none. */
static pid_t waiter_of(int fd, bool *ret_shared)
{
	char name[32];
	pid_t locker = flocks_locker(fd, ret_shared);
	bool known = locker > 0 && family_name(locker, name, sizeof name);
	return known && strcmp(name, WAITER_PROCESS) == 0 ? locker : 0;
}

enum keeper_finding keeper_find(int fd, bool shared)
{
	bool is_shared;
	if (waiter_of(fd, &is_shared) == 0)
		return KEEPER_NONE;
	return is_shared == shared ? KEEPER_SAME : KEEPER_OTHER;
}

void keeper_unlock(int fd)
{
	bool shared;
	int proc = family_open();
	pid_t waiter = waiter_of(fd, &shared);
	pid_t keeper = waiter > 0 ? family_parent(proc, family_parent(proc, waiter)) : 0;
	struct pollfd ended = {.fd = keeper > 1 ? (int)syscall(SYS_pidfd_open, keeper, 0) : -1, .events = POLLIN};
	(void)flock(fd, LOCK_UN);
	if (ended.fd >= 0) {
		(void)poll(&ended, 1, RELEASE_MS);
		close(ended.fd);
	}
	if (proc >= 0)
		close(proc);
}

/* ---- the keeper ---- */

/* In a session of its own: what the terminal and its shell signal is the caller. The end of the caller ends
 * the wait, and nothing after it. */
static int be_keeper(const struct settings *settings, const struct run_order *order, pid_t caller)
{
	(void)setsid();
	/* The caller's descriptors stay its own, all copies too: a keeper that kept them open would keep the
	 * caller's pipes and locks alive. Descriptors of redlock itself are closed by an exec. */
	streams_close_by_flag(0);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != caller)
		return EXIT_INTERNAL;
	return run_supervise(settings, order);
}

/* Messages of a keeper go where the caller's go. Otherwise somebody reads this call's messages alone, and
 * waits for their end. */
static bool may_keep_errors(const struct hold *hold)
{
	char path[64];
	struct stat caller, ours, file;
	snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)getppid());
	if (stat(path, &caller) < 0 || fstat(STDERR_FILENO, &ours) < 0 || fstat(hold->fd, &file) < 0)
		return false;
	bool is_file = ours.st_dev == file.st_dev && ours.st_ino == file.st_ino; /* 2 may be a copy of it */
	return ours.st_dev == caller.st_dev && ours.st_ino == caller.st_ino && !is_file;
}

/* ---- the caller's wait ---- */

struct wait {
	pid_t keeper;
	int ready;
	int signals;
	int signal;         /* the last one that was to end the wait; 0: none */
	bool from_terminal; /* it, which has sent it to the shell as well */
};

static void stop_together(const struct wait *wait)
{
	(void)kill(wait->keeper, SIGSTOP);
	inbox_default(SIGTSTP);
	(void)kill(wait->keeper, SIGCONT);
}

static void take_signals(struct wait *wait)
{
	struct signalfd_siginfo info;
	while (read(wait->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGTSTP)
			stop_together(wait);
		else if (info.ssi_signo != SIGCHLD) {
			wait->signal = (int)info.ssi_signo;
			wait->from_terminal = info.ssi_code == SI_KERNEL;
			(void)kill(wait->keeper, wait->signal);
		}
	}
}

static bool is_held(const struct wait *wait)
{
	char byte;
	return read(wait->ready, &byte, 1) == 1;
}

static int code_of(const struct wait *wait, int status)
{
	if (WIFSIGNALED(status)) {
		complain(MSG(RFLOCK_KEEPER));
		return EXIT_INTERNAL;
	}
	if (wait->from_terminal && WEXITSTATUS(status) == EXIT_SIGNAL + wait->signal)
		inbox_default(wait->signal); /* so that a shell's loop around it ends as well */
	return WEXITSTATUS(status);
}

static int await_keeper(struct wait *wait)
{
	int status;
	for (;;) {
		struct pollfd watched[] = {{.fd = wait->ready, .events = POLLIN},
		                           {.fd = wait->signals, .events = POLLIN}};
		(void)poll(watched, 2, -1);
		if (is_held(wait))
			return EXIT_OK;
		take_signals(wait);
		bool ended =
		    waitpid(wait->keeper, &status, watched[0].revents & POLLHUP ? 0 : WNOHANG) == wait->keeper;
		if (ended)
			return is_held(wait) ? EXIT_OK : code_of(wait, status);
	}
}

static void block_signals(sigset_t *ret_wanted, sigset_t *ret_old)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGCHLD};
	sigemptyset(ret_wanted);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (!signal_is_ignored(numbers[i]))
			sigaddset(ret_wanted, numbers[i]);
	sigprocmask(SIG_BLOCK, ret_wanted, ret_old);
}

static int cannot_start(void)
{
	complain(MSG(START), strerror(errno));
	return EXIT_INTERNAL;
}

int keeper_start(const struct settings *settings, struct run_order *order, struct hold *hold)
{
	int ready[2];
	sigset_t wanted, old;
	pid_t caller = getpid();
	if (pipe2(ready, O_CLOEXEC | O_NONBLOCK) < 0)
		return cannot_start();
	hold->ready = ready[1];
	hold->has_errors = may_keep_errors(hold);
	order->hold = hold;
	block_signals(&wanted, &old);
	struct wait wait = {.ready = ready[0], .signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK)};
	wait.keeper = wait.signals >= 0 ? fork() : -1;
	if (wait.keeper < 0)
		return cannot_start();
	if (wait.keeper > 0) {
		close(ready[1]);
		return await_keeper(&wait);
	}
	close(ready[0]);
	close(wait.signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return be_keeper(settings, order, caller);
}
