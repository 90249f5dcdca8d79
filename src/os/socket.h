/* SPDX-License-Identifier: MIT */
/* Non-blocking stream sockets. Every call returns at once; errors are negative errno values. */
#ifndef RL_OS_SOCKET_H
#define RL_OS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#define RL_ADDRESS_MAX 128

/* A resolved address: a struct sockaddr of any family, as bytes. */
struct rl_address {
	unsigned length; /* 0: not resolved */
	_Alignas(8) unsigned char bytes[RL_ADDRESS_MAX];
};

static inline bool rl_socket_same_address(const struct rl_address *a, const struct rl_address *b)
{
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Starts to connect. Writes the descriptor; the connection is made, or has failed, when it is writable.
 * TCP connections are set to no delay and to keepalive, so that a peer that vanished is found dead while the
 * connection is idle. Descriptors are close-on-exec. Returns 0 or -errno. */
int rl_socket_connect(const struct rl_address *address, int *ret_fd);

/* The outcome of a connect whose descriptor became writable: 0 or -errno. */
int rl_socket_connected(int fd);

/* Sends or receives what is possible now. Returns the bytes moved, 0 at the end of the stream (receive only),
 * -EAGAIN when nothing can be moved now, else -errno. `more`: another send follows at once, and the bytes of
 * both may leave together. */
ssize_t rl_socket_send(int fd, const void *bytes, size_t size, bool more);
ssize_t rl_socket_receive(int fd, void *bytes, size_t size);

/* Closes in order: what was sent is still delivered. */
void rl_socket_close(int fd);

/* Closes abortively: what the kernel has not sent yet is dropped (SO_LINGER 0, see socket(7)). */
void rl_socket_abort(int fd);

#endif
