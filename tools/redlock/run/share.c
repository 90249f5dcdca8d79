/* SPDX-License-Identifier: MIT */
/* Messages between supervisor and guard: packets on a socket pair. */
#include "share.h"

#include <errno.h>
#include <sys/socket.h>

void link_send(int fd, enum link_kind kind, int value)
{
	const struct link_message message = {.kind = (int32_t)kind, .value = value};

	(void)send(fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int link_receive(int fd, struct link_message *ret_message)
{
	ssize_t got;

	do
		got = recv(fd, ret_message, sizeof(*ret_message), MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof(*ret_message))
		return 1;
	return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}
