/* SPDX-License-Identifier: MIT */
#include "os/bell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/thread.h"

int rl_bell_open(void)
{
	return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void rl_bell_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

int rl_bell_join(const int *bells, unsigned count)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	for (unsigned i = 0; i < count && fd >= 0; i++)
		if (epoll_ctl(fd, EPOLL_CTL_ADD, bells[i], &event) < 0) {
			close(fd);
			fd = -1;
		}
	return fd;
}

void rl_bell_ring(int fd)
{
	uint64_t one = 1;
	if (fd < 0)
		return;
	RL_NO_CANCEL;
	while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
		continue;
}

void rl_bell_silence(int fd)
{
	uint64_t count;
	if (fd < 0)
		return;
	RL_NO_CANCEL;
	while (read(fd, &count, sizeof count) < 0 && errno == EINTR)
		continue;
}
