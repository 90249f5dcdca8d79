/* SPDX-License-Identifier: MIT */
/*
 * URLs of nodes, taken apart as redlock_open() does: for programs that show or compare them. redlock.h does
 * not include this header: no lock needs it.
 */
#ifndef REDLOCK_URL_H
#define REDLOCK_URL_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a node's URL, without its secrets. */
struct redlock_url {
	size_t size;        /* the caller's: sizeof(struct redlock_url) */
	const char *scheme; /* "redis", "rediss" or "unix", or the first two with "+sentinel" or "+cluster":
	                       valkey means redis. A constant, never freed */
	int tls;            /* 1: rediss, as above */
	char host[256];     /* name or address, IPv6 without brackets; "" of a Unix socket; of +sentinel and
	                       +cluster the Sentinels or servers, each with its port, and commas between them */
	unsigned port;      /* 0 of a Unix socket, of +sentinel, and of +cluster */
	char path[256];     /* of a Unix socket, else "". Decoded; a longer path is cut, and cannot be used */
	unsigned database;
	int has_user;
	int has_password;
	char address[320]; /* as messages and redlock_node_status() show it: without user and password */
	char master[64];   /* the name that the Sentinels of +sentinel know the master by; else "" */
};

/*
 * Parses the URL of a node as redlock_open() does. Looks nothing up. On failure error_text receives a
 * sentence that says what is wrong and never repeats the password; it may be NULL. Any thread. Errors: URL,
 * INVAL, NOMEM.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_url_parse(const char *url, char *error_text,
                                                     size_t error_text_size, struct redlock_url *ret_url);

/*
 * 1: two URLs name the same server, 0: they do not. Host (in upper or lower case) and port, or path, are
 * compared; user, password, database and TLS may differ. Any thread. Errors: as redlock_url_parse().
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_url_same_server(const char *url, const char *other);

#ifdef __cplusplus
}
#endif

#endif
