/* SPDX-License-Identifier: MIT */
/* In the place of tls.c and openssl.c where the library is built without OpenSSL. */
#include <errno.h>
#include <stdio.h>

#include "net/tls.h"

struct rl_tls_context *rl_tls_context_new(const struct rl_tls_options *options, char *why, size_t why_size)
{
	(void)options;
	snprintf(why, why_size,
	         "TLS (rediss://, valkeys://) is not built in: this library was built without OpenSSL");
	return NULL;
}

void rl_tls_context_free(struct rl_tls_context *context)
{
	(void)context;
}

void rl_tls_peer_free(struct rl_tls_peer *peer)
{
	(void)peer;
}

struct rl_tls *rl_tls_new(struct rl_tls_context *context, struct rl_tls_peer *peer, int fd)
{
	(void)context;
	(void)peer;
	(void)fd;
	return NULL;
}

int rl_tls_handshake(struct rl_tls *tls)
{
	(void)tls;
	return -EPROTO;
}

ssize_t rl_tls_send(struct rl_tls *tls, const void *bytes, size_t size)
{
	(void)tls;
	(void)bytes;
	(void)size;
	return -EPROTO;
}

ssize_t rl_tls_receive(struct rl_tls *tls, void *bytes, size_t size)
{
	(void)tls;
	(void)bytes;
	(void)size;
	return -EPROTO;
}

bool rl_tls_wants_write(const struct rl_tls *tls)
{
	(void)tls;
	return false;
}

const char *rl_tls_error(const struct rl_tls *tls)
{
	(void)tls;
	return "";
}

void rl_tls_free(struct rl_tls *tls, bool orderly)
{
	(void)tls;
	(void)orderly;
}
