/* SPDX-License-Identifier: MIT */
/*
 * TLS over one of our sockets, never blocking. OpenSSL sees the socket only through os/socket.h: no SIGPIPE,
 * and the simulator's sockets would do as well. Errors are taken out of OpenSSL's queue at once, since the
 * thread may use OpenSSL for other things.
 */
#ifndef RL_NET_TLS_H
#define RL_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct rl_tls_options {
	const char *ca_file;   /* the authorities for servers' certificates; with neither: the system's */
	const char *ca_dir;    /* the same, a directory by hash */
	const char *cert_file; /* our own certificate with its chain, for servers that ask; NULL: none */
	const char *key_file;  /* its key; NULL: in cert_file */
	const char *name;      /* the name that certificates must have, instead of the URL's host; NULL */
	bool insecure;         /* any certificate will do */
};

/* The state that all connections of a client share. */
struct rl_tls_context;

/* The state that the connections to one server share: the session, which saves a round of cryptography. */
struct rl_tls_peer {
	const char *host;
	void *session;
};

/* One connection. */
struct rl_tls;

/* Loads OpenSSL, certificates and keys. NULL: `why` says what is wrong. If it is about a file of the options,
 * it begins with that path and a colon. */
struct rl_tls_context *rl_tls_context_new(const struct rl_tls_options *options, char *why, size_t why_size);
void rl_tls_context_free(struct rl_tls_context *context);

/* Forgets the session. */
void rl_tls_peer_free(struct rl_tls_peer *peer);

/* TLS on a connected socket, which stays the caller's. NULL: out of memory. */
struct rl_tls *rl_tls_new(struct rl_tls_context *context, struct rl_tls_peer *peer, int fd);

/* Goes on with the handshake. 0: done; -EAGAIN: call again when the socket is ready; -EPROTO: it has failed,
 * see rl_tls_error(); -EKEYREJECTED: because the server does not accept our certificate; other values: the
 * socket has. */
int rl_tls_handshake(struct rl_tls *tls);

/* As rl_socket_send() and rl_socket_receive(); -EPROTO and -EKEYREJECTED as above. */
ssize_t rl_tls_send(struct rl_tls *tls, const void *bytes, size_t size);
ssize_t rl_tls_receive(struct rl_tls *tls, void *bytes, size_t size);

/* Whether the last call waits for the socket to be writable, not readable. */
bool rl_tls_wants_write(const struct rl_tls *tls);

/* A sentence about the last -EPROTO or -EKEYREJECTED. */
const char *rl_tls_error(const struct rl_tls *tls);

/* Frees. `orderly`: tells the server that nothing more will come, if that can be sent at once. */
void rl_tls_free(struct rl_tls *tls, bool orderly);

#endif
