/* SPDX-License-Identifier: MIT */
/* The standard streams. */
#include "streams.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"

void streams_drop(int last)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= last && null >= 0; fd++)
		(void)dup2(null, fd);
	if (null > last)
		close(null);
}

bool streams_take_errors(void)
{
	struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};
	return poll(&errors, 1, 0) == 1 && (errors.revents & POLLOUT) != 0;
}

/* Writes what there is room for, and never waits: another writer may have filled the pipe since poll(2).
 * O_NONBLOCK on stderr itself would also apply to the shell, which shares it, so a pipe or terminal is opened
 * anew. Where that is not permitted, or has no sense, poll(2) has to do. */
static ssize_t write_errors(const char *text, size_t length)
{
	struct stat status = {0};
	int anew = -1;
	(void)fstat(STDERR_FILENO, &status);
	if (S_ISSOCK(status.st_mode))
		return send(STDERR_FILENO, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))
		anew = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t written = write(anew >= 0 ? anew : STDERR_FILENO, text, length);
	int error = errno;
	if (anew >= 0)
		close(anew);
	errno = error;
	return written;
}

/* A signal that is blocked stays pending for the code that waits for it elsewhere. */
static bool await_errors(int timeout_ms)
{
	struct pollfd watched[] = {{.fd = STDERR_FILENO, .events = POLLOUT},
	                           {.fd = signals_fd(), .events = POLLIN}};
	(void)poll(watched, 2, timeout_ms);
	return watched[0].revents != 0;
}

bool streams_put_errors(const char *text, unsigned patience_ms)
{
	uint64_t end_ns = clock_ns() + patience_ms * UINT64_C(1000000);
	size_t left = strlen(text);
	while (left > 0) {
		uint64_t now_ns = clock_ns();
		int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1 : 0;
		if (!await_errors(left_ms))
			return false;
		ssize_t written = write_errors(text, left < PIPE_BUF ? left : PIPE_BUF);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return true; /* nobody is there: nothing is gained by a wait */
		text += written > 0 ? written : 0;
		left -= written > 0 ? (size_t)written : 0;
	}
	return true;
}

void streams_close_by_flag(int flags)
{
	DIR *directory = opendir("/proc/self/fd");
	for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (fd > STDERR_FILENO && fd != dirfd(directory) && fcntl(fd, F_GETFD) == flags)
			close(fd);
	}
	if (directory != NULL)
		closedir(directory);
}
