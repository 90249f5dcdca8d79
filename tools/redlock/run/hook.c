/* SPDX-License-Identifier: MIT */
#include "hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../signals.h"

void hook_ends(sigset_t *ret)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1};
	sigemptyset(ret);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		sigaddset(ret, ends[i]);
}

pid_t hook_start(const struct hook *hook)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		(void)setenv("REDLOCK_EVENT", hook->event, 1);
		signals_restore();
		sigprocmask(SIG_SETMASK, hook->mask, NULL);
		execl("/bin/sh", "sh", "-c", hook->line, (char *)NULL);
		_exit(EXIT_NOT_FOUND);
	}
	if (pid > 0)
		(void)setpgid(pid, pid); /* whichever of the two is first */
	return pid;
}

void hook_kill(pid_t pid)
{
	(void)kill(-pid, SIGKILL);
}

static bool is_ended(pid_t pid, int *ret_code)
{
	int status;
	if (waitpid(pid, &status, WNOHANG) != pid)
		return false;
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
	return true;
}

/* Waits for one of the signals until `end_ns`. */
static int await_signal(const sigset_t *signals, uint64_t end_ns)
{
	uint64_t now_ns = clock_ns(), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
	                        .tv_nsec = (long)(left_ns % 1000000000)};
	return sigtimedwait(signals, NULL, &left);
}

int hook_run(const struct hook *hook)
{
	sigset_t signals, ends;
	int code = HOOK_LATE;
	if (hook->line == NULL)
		return 0;
	hook_ends(&ends);
	sigemptyset(&signals);
	if (hook->breaks)
		signals = ends;
	sigaddset(&signals, SIGCHLD);
	pid_t pid = hook_start(hook);
	if (pid < 0)
		return HOOK_FAILED;
	uint64_t end_ns = clock_ns() + hook->limit_ms * 1000000;
	while (!is_ended(pid, &code)) {
		int number = await_signal(&signals, end_ns);
		bool broken = number > 0 && number != SIGCHLD;
		if (!broken && clock_ns() < end_ns)
			continue;
		hook_kill(pid);
		(void)waitpid(pid, NULL, 0);
		return broken ? HOOK_BROKEN : HOOK_LATE;
	}
	/* The signal that ends the term may have ended the line first. */
	return code != 0 && hook->breaks && await_signal(&ends, 0) > 0 ? HOOK_BROKEN : code;
}

const char *hook_why(int code, char *buffer, size_t size)
{
	if (code == HOOK_LATE)
		return "it took longer than --hook-timeout, and was killed";
	if (code == HOOK_FAILED)
		return "it could not be started";
	snprintf(buffer, size, "exit code %d", code);
	return buffer;
}
