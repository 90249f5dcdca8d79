/* SPDX-License-Identifier: MIT */
#include "os/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void set_option(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof value); /* each is a help, none is needed */
}

/* A peer that is gone without a word (power, NAT) is found out within about 30 s while idle, and within 10 s
 * when data is unacknowledged. TCP_KEEPCNT would do nothing: TCP_USER_TIMEOUT ends the probes too. tcp(7). */
static void tune_tcp(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 10000);
}

int rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	struct sockaddr_storage storage = {0};
	memcpy(&storage, address->bytes, address->length);
	int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (storage.ss_family != AF_UNIX)
		tune_tcp(fd);
	/* EAGAIN on a Unix socket: the server's accept queue is full. That is a failed connect, no slow one. */
	if (connect(fd, (const struct sockaddr *)&storage, address->length) < 0 && errno != EINPROGRESS) {
		int error = -errno;
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

int rl_socket_connected(int fd)
{
	int error = 0;
	socklen_t size = sizeof error;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

static ssize_t result(ssize_t moved)
{
	if (moved >= 0)
		return moved;
	return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

ssize_t rl_socket_send(int fd, const void *bytes, size_t size, bool more)
{
	return result(send(fd, bytes, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0)));
}

ssize_t rl_socket_receive(int fd, void *bytes, size_t size)
{
	return result(recv(fd, bytes, size, 0));
}

void rl_socket_close(int fd)
{
	close(fd);
}

void rl_socket_abort(int fd)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}
