/* SPDX-License-Identifier: MIT */
#include "os/bell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int rl_bell_open(void)
{
	return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void rl_bell_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void rl_bell_ring(int fd)
{
	uint64_t one = 1;
	while (fd >= 0 && write(fd, &one, sizeof one) < 0 && errno == EINTR)
		continue;
}

void rl_bell_silence(int fd)
{
	uint64_t count;
	while (fd >= 0 && read(fd, &count, sizeof count) < 0 && errno == EINTR)
		continue;
}
