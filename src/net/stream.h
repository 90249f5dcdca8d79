/* SPDX-License-Identifier: MIT */
/* A connection as a stream of bytes, plain or in TLS. */
#ifndef RL_NET_STREAM_H
#define RL_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/tls.h"
#include "os/socket.h"

struct rl_stream {
	int fd;             /* connected; -1: none */
	struct rl_tls *tls; /* NULL: plain */
};

/* Opens a stream over a socket that is connected, and goes on with it when the socket is ready: the
 * handshake, if there is a `context`. 0: the stream is open; -EAGAIN: not yet; else an error, of which
 * rl_stream_error() tells more. */
int rl_stream_go_on(struct rl_stream *stream, struct rl_tls_context *context, struct rl_tls_peer *peer);

/* Which readiness the stream waits for, besides what its user wants to send: while it is opened, and when TLS
 * has to write before it can read. */
bool rl_stream_wants_write(const struct rl_stream *stream);

/* As rl_socket_send() and rl_socket_receive(). */
ssize_t rl_stream_send(struct rl_stream *stream, const void *bytes, size_t size, bool more);
ssize_t rl_stream_receive(struct rl_stream *stream, void *bytes, size_t size);

/* A sentence for a negative result. */
const char *rl_stream_error(const struct rl_stream *stream, ssize_t error);

/* Three ways to close: in order; abortively, so that what the kernel has not sent yet is dropped; and in a
 * child process, without a word to the server. */
void rl_stream_close(struct rl_stream *stream);
void rl_stream_abort(struct rl_stream *stream);
void rl_stream_leave(struct rl_stream *stream);

#endif
