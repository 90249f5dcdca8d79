/* SPDX-License-Identifier: MIT */
/*
 * Loaded into redlock by LD_PRELOAD: a process stops itself (SIGSTOP) at the step of a launch that FREEZE_AT
 * names. The test decides what happens meanwhile. At the steps "refused" and "unready" nothing stops: the
 * kernel has no memory for the message to the guard, or for its own that it is ready.
 *
 *   ready  the guard is about to say that it is ready
 *   send   the supervisor has the lock, and is about to tell the guard
 *   got    the guard has heard
 *   born   the guard's child is there, and begins to become the command
 *   clock  the child is about to look at the clock
 *   told   the supervisor has told the guard of a loss
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "run/share.h"

static pid_t child;       /* of the guard */
static unsigned in_group; /* calls of setpgid: none by the supervisor; by the guard, then by its child */

static int is_step(const char *step)
{
	const char *at = getenv("FREEZE_AT");

	return at && strcmp(at, step) == 0;
}

static void freeze(const char *step)
{
	if (is_step(step))
		(void)raise(SIGSTOP);
}

static int is_a(enum link_kind kind, const void *message, ssize_t length)
{
	return length == sizeof(struct link_message) && ((const struct link_message *)message)->kind == (int)kind;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int) =
	    (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");

	if (is_a(LINK_READY, bytes, (ssize_t)length))
		freeze("ready");
	if (is_a(LINK_LAUNCH, bytes, (ssize_t)length))
		freeze("send");
	if ((is_step("refused") && is_a(LINK_LAUNCH, bytes, (ssize_t)length)) ||
	    (is_step("unready") && is_a(LINK_READY, bytes, (ssize_t)length))) {
		errno = ENOBUFS;
		return -1;
	}
	ssize_t sent = next(fd, bytes, length, flags);
	if (in_group == 0 && is_a(LINK_LOOK, bytes, sent))
		freeze("told");
	return sent;
}

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
	ssize_t (*next)(int, void *, size_t, int) =
	    (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	ssize_t got = next(fd, bytes, size, flags);

	if (is_a(LINK_LAUNCH, bytes, got))
		freeze("got");
	return got;
}

int setpgid(pid_t pid, pid_t group)
{
	int (*next)(pid_t, pid_t) = (int (*)(pid_t, pid_t))dlsym(RTLD_NEXT, "setpgid");

	if (++in_group == 2) {
		child = getpid();
		freeze("born");
	}
	return next(pid, group);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*next)(clockid_t, struct timespec *);

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (child != 0 && getpid() == child) {
		child = 0; /* once */
		freeze("clock");
	}
	return next(clock, ret);
}
