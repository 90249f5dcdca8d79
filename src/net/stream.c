/* SPDX-License-Identifier: MIT */
#include "net/stream.h"

#include <errno.h>
#include <string.h>

int rl_stream_go_on(struct rl_stream *s, struct rl_tls_context *context, struct rl_tls_peer *peer)
{
	if (context == NULL)
		return 0;
	if (s->tls == NULL)
		s->tls = rl_tls_new(context, peer, s->fd);
	return s->tls != NULL ? rl_tls_handshake(s->tls) : -ENOMEM;
}

bool rl_stream_wants_write(const struct rl_stream *s)
{
	return s->tls != NULL ? rl_tls_wants_write(s->tls) : false;
}

ssize_t rl_stream_send(struct rl_stream *s, const void *bytes, size_t size, bool more)
{
	return s->tls != NULL ? rl_tls_send(s->tls, bytes, size) : rl_socket_send(s->fd, bytes, size, more);
}

ssize_t rl_stream_receive(struct rl_stream *s, void *bytes, size_t size)
{
	return s->tls != NULL ? rl_tls_receive(s->tls, bytes, size) : rl_socket_receive(s->fd, bytes, size);
}

const char *rl_stream_error(const struct rl_stream *s, ssize_t error)
{
	bool of_tls = error == -EPROTO || error == -EKEYREJECTED || error == -EPROTONOSUPPORT;
	return s->tls != NULL && of_tls ? rl_tls_error(s->tls) : strerror((int)-error);
}

static void forget(struct rl_stream *s, bool orderly)
{
	rl_tls_free(s->tls, orderly);
	*s = (struct rl_stream){.fd = -1};
}

void rl_stream_close(struct rl_stream *s)
{
	int fd = s->fd;
	forget(s, true);
	if (fd >= 0)
		rl_socket_close(fd);
}

void rl_stream_abort(struct rl_stream *s)
{
	int fd = s->fd;
	forget(s, false);
	if (fd >= 0)
		rl_socket_abort(fd);
}

void rl_stream_leave(struct rl_stream *s)
{
	int fd = s->fd;
	forget(s, false);
	if (fd >= 0)
		rl_socket_close(fd);
}
