/* SPDX-License-Identifier: MIT */
/* Node URLs: redis://[[user][:password]@]host[:port][/db], rediss:// for TLS,
 * unix://[[user][:password]@]/path[?db=n], and
 * redis+sentinel://[[user][:password]@]host[:port][,...]/NAME[/db] for the master that these Sentinels call
 * NAME, and redis+cluster://[[user][:password]@]host[:port][,...][/] for a Redis Cluster that these servers
 * belong to. After ? are parameters, with & between them. */
#ifndef RL_NET_URL_H
#define RL_NET_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_URL_MAX_DATABASE 99999
#define RL_URL_DIGITS_OF(number) #number
#define RL_URL_DIGITS(number) RL_URL_DIGITS_OF(number)
#define RL_URL_BAD_DATABASE "the database must be a number from 0 to " RL_URL_DIGITS(RL_URL_MAX_DATABASE)

/*
 * The parameters of URLs: X(field of the endpoint, name, unit after the number, most, "" or where alone it
 * may be, what is wrong with another value). All are numbers, and 0 where the URL does not have them. To add
 * a parameter, add a line here, and use the field.
 */
#define RL_URL_UNIX " after a Unix path"
#define RL_URL_OF_SENTINELS " of +sentinel"
#define RL_URL_PARAMETER_MAP(X)                                                                              \
	X(replicas, "replicas", "", 31, "", "replicas must be a number from 0 to 31")                            \
	X(database, "db", "", RL_URL_MAX_DATABASE, RL_URL_UNIX, RL_URL_BAD_DATABASE)                             \
	X(sentinel_plain, "sentinel_plain", "", 1, RL_URL_OF_SENTINELS, "sentinel_plain must be 0 or 1")

#define RL_URL_SENTINELS 7            /* the most of one node, */
#define RL_URL_SEEDS RL_URL_SENTINELS /* and of the servers of a cluster */
#define RL_URL_MASTER 63              /* bytes of the longest name of a master, */
#define RL_URL_HOSTS 200              /* and of the list of its Sentinels or servers */

/* A node as configured. All texts are owned, decoded, and never NULL after a success, but for user and
 * password. */
struct rl_endpoint {
	bool is_unix;
	bool tls;
	bool is_cluster;
	char *host; /* or the path of the Unix socket, or a comma list of Sentinels or of servers of a cluster,
	             * each with its port */
	uint16_t port;
	char *master;        /* the Sentinels' name of it; NULL: the node has an address of its own */
	char *sentinel_user; /* as `user` and `password`, for the Sentinels */
	char *sentinel_password;
#define RL_URL_FIELD(field, name, unit, most, where, bad) unsigned field;
	RL_URL_PARAMETER_MAP(RL_URL_FIELD)
#undef RL_URL_FIELD
	char *user;     /* NULL: the default user; it and the password are rl_secret_copy()'s */
	char *password; /* NULL: none */
	bool lent_user; /* not from the URL: it changes with redlock_set_credentials() */
	bool lent_password;
	char *address; /* for people: the URL without user and password */
};

/* Parses a URL. Returns 0, REDLOCK_E_URL with a sentence in `why` that does not repeat the password, or
 * REDLOCK_E_NOMEM; then `ret` is empty. */
int rl_url_parse(const char *url, struct rl_endpoint *ret, char *why, size_t why_size);

/* Copies all of it. False: out of memory, and `ret` is empty. */
bool rl_url_copy(const struct rl_endpoint *endpoint, struct rl_endpoint *ret);

/* Whether connections to it begin with AUTH. */
static inline bool rl_url_logs_in(const struct rl_endpoint *endpoint)
{
	return endpoint->user != NULL || endpoint->password != NULL;
}

/* How many hosts the list of Sentinels or servers has. */
unsigned rl_url_count_hosts(const struct rl_endpoint *endpoint);

/* The endpoint of a server of the cluster: one of the list, or any other. False: out of memory, `ret` is
 * empty. */
bool rl_url_seed(const struct rl_endpoint *endpoint, unsigned index, struct rl_endpoint *ret);
bool rl_url_server(const struct rl_endpoint *endpoint, const char *host, uint16_t port,
                   struct rl_endpoint *ret);

/* The endpoint of one of the Sentinels. False: out of memory, `ret` is empty. */
bool rl_url_sentinel(const struct rl_endpoint *endpoint, unsigned index, struct rl_endpoint *ret);

/* Frees and wipes. An empty endpoint is allowed. */
void rl_url_free(struct rl_endpoint *endpoint);

/* Whether both are the same address, whatever the database: two databases of one server are one server. A
 * master of Sentinels is the same if its name and their list are. */
bool rl_url_same_address(const struct rl_endpoint *a, const struct rl_endpoint *b);

#endif
