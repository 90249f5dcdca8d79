/* SPDX-License-Identifier: MIT */
/* Node URLs: redis://[[user][:password]@]host[:port][/db], rediss:// for TLS, and
 * unix://[[user][:password]@]/path[?db=n]. */
#ifndef RL_NET_URL_H
#define RL_NET_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node as configured. All texts are owned, decoded, and never NULL after a success, but for user and
 * password. */
struct rl_endpoint {
	bool is_unix;
	bool tls;
	char *host; /* or the path of the Unix socket */
	uint16_t port;
	unsigned database;
	char *user;     /* NULL: the default user; it and the password are rl_secret_copy()'s */
	char *password; /* NULL: none */
	bool lent_user; /* not from the URL: it changes with redlock_set_credentials() */
	bool lent_password;
	char *address; /* for people: the URL without user and password */
};

/* Parses a URL. Returns 0, REDLOCK_E_URL with a sentence in `why` that does not repeat the password, or
 * REDLOCK_E_NOMEM; then `ret` is empty. */
int rl_url_parse(const char *url, struct rl_endpoint *ret, char *why, size_t why_size);

/* Whether connections to it begin with AUTH. */
static inline bool rl_url_logs_in(const struct rl_endpoint *endpoint)
{
	return endpoint->user != NULL || endpoint->password != NULL;
}

/* Frees and wipes. An empty endpoint is allowed. */
void rl_url_free(struct rl_endpoint *endpoint);

/* Whether both are the same address, whatever the database: two databases of one server are one server. */
bool rl_url_same_address(const struct rl_endpoint *a, const struct rl_endpoint *b);

#endif
