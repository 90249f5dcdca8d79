/* SPDX-License-Identifier: MIT */
/* Signals as a flag and a readable descriptor (the self-pipe trick). */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

/* Signal handlers have no argument for state: they are globals. */
static volatile sig_atomic_t caught;
static int pipe_fds[2] = {-1, -1};
static bool restore_pipe_signal, restore_child_signal;

static void handler(int number)
{
	int saved = errno;
	/* The first one counts: timeout(1), for one, sends TERM twice. */
	if (!caught)
		caught = number;
	/* The pipe is non-blocking; when it is full it is readable already. */
	if (write(pipe_fds[1], "", 1) < 0)
		errno = saved;
	errno = saved;
}

bool signal_is_ignored(int number)
{
	struct sigaction action;
	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_catch(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (!signal_is_ignored(numbers[i]) && sigaction(numbers[i], &action, NULL) < 0)
			return -1;
	/* A closed pipe must not end the process while it holds a lock: writing fails instead. */
	restore_pipe_signal = !signal_is_ignored(SIGPIPE);
	/* Where it is ignored the kernel throws the exit codes of children away. */
	restore_child_signal = signal_is_ignored(SIGCHLD);
	if (restore_child_signal)
		signal(SIGCHLD, SIG_DFL);
	return sigaction(SIGPIPE, &ignore, NULL);
}

void signals_restore(void)
{
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (!signal_is_ignored(numbers[i]))
			signal(numbers[i], SIG_DFL);
	if (restore_pipe_signal)
		signal(SIGPIPE, SIG_DFL);
	if (restore_child_signal)
		signal(SIGCHLD, SIG_IGN);
}

int signals_caught(void)
{
	return caught;
}

sigset_t signals_permit(void)
{
	sigset_t ours, before;
	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		sigaddset(&ours, numbers[i]);
	sigprocmask(SIG_UNBLOCK, &ours, &before);
	return before;
}

int signals_fd(void)
{
	return pipe_fds[0];
}

bool signals_await_fd(int fd, short events, int timeout_ms)
{
	struct pollfd watched[] = {{.fd = fd, .events = events}, {.fd = pipe_fds[0], .events = POLLIN}};
	const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
	sigset_t mask;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		sigdelset(&mask, numbers[i]);
	while (ppoll(watched, 2, timeout_ms < 0 ? NULL : &timeout, &mask) < 0 && errno == EINTR)
		;
	return watched[0].revents != 0;
}

bool signals_sleep_until(uint64_t until_ns)
{
	enum { PART_MS = 60000 }; /* poll(2) has no longer times */
	for (uint64_t now_ns = clock_ns(); now_ns < until_ns && !signals_caught(); now_ns = clock_ns()) {
		uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;
		(void)signals_await_fd(-1, 0, left_ms < PART_MS ? (int)left_ms : PART_MS);
	}
	return !signals_caught();
}
