/* SPDX-License-Identifier: MIT */
/* Signals as a flag and a readable descriptor (the self-pipe trick). */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* Signal handlers have no argument for state: these are the only writable globals of the command. */
static volatile sig_atomic_t caught;
static int pipe_fds[2] = {-1, -1};

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

int signals_catch(void)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction old;

		if (sigaction(numbers[i], NULL, &old) < 0)
			return -1;
		if (old.sa_handler != SIG_IGN && sigaction(numbers[i], &action, NULL) < 0)
			return -1;
	}
	return 0;
}

int signals_caught(void)
{
	return caught;
}

int signals_fd(void)
{
	return pipe_fds[0];
}
