/* SPDX-License-Identifier: MIT */
/* The standard streams. */
#include "streams.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

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
