/* SPDX-License-Identifier: MIT */
/* Messages between supervisor and guard: packets on a socket pair. */
#include "share.h"

#include <errno.h>
#include <sys/socket.h>

bool link_send(int fd, enum link_kind kind, int value)
{
	const struct link_message message = {.kind = (int32_t)kind, .value = value};
	return send(fd, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

int link_receive(int fd, struct link_message *ret_message)
{
	ssize_t got;
	do
		got = recv(fd, ret_message, sizeof *ret_message, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof *ret_message)
		return 1;
	return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}
