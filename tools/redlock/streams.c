/* SPDX-License-Identifier: MIT */
/* The standard streams. */
#include "streams.h"

#include <fcntl.h>
#include <poll.h>
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
