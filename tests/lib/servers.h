/* SPDX-License-Identifier: MIT */
/*
 * Real redis-server processes for one test program: each on a Unix socket and a loopback TCP port of its own,
 * without persistence, in a temporary directory. They end with the test, also when it is killed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "raw.h"

enum { SERVERS_MAX = 9 };

struct server {
	pid_t pid; /* 0: not running */
	bool paused;
	int port;
	int port_fd;       /* keeps the port ours while no server listens on it */
	char dir[96];      /* its working directory */
	char socket[104];  /* the path of its Unix socket */
	char url[128];     /* unix://... */
	char tcp_url[64];  /* redis://127.0.0.1:port */
	char password[64]; /* what the oracle authenticates with as the default user; "": nothing */
	const char *const *extra;
};

struct servers {
	unsigned count;
	char dir[64];
	int janitor_fd;                    /* open while the directory is needed */
	const char *urls[SERVERS_MAX];     /* Unix sockets */
	const char *tcp_urls[SERVERS_MAX]; /* TCP */
	struct server server[SERVERS_MAX];
};

/* Starts `count` servers and waits until each answers. `extra` are further arguments for each, ended by NULL,
 * which must stay valid; NULL: none. Ends the process when it cannot. */
void servers_start(struct servers *servers, unsigned count, const char *const *extra);

/* Ends all servers and removes their directory. */
void servers_stop(struct servers *servers);

/* Continues paused servers, restarts dead ones, and empties all. */
void servers_heal(struct servers *servers);

void server_pause(struct server *server);   /* SIGSTOP */
void server_resume(struct server *server);  /* SIGCONT */
void server_kill(struct server *server);    /* SIGKILL */
void server_restart(struct server *server); /* the same addresses, an empty data set */

/* Sets the server's wall clock off by as much from now on; INT64_MIN: it stands still. Works only where
 * $REDLOCK_CLOCK names the library that is loaded into servers for that. */
void server_set_clock(const struct server *server, int64_t off_ns);

/* Sends one command over a fresh connection and returns the reply's text, "" without one. */
const char *server_call(const struct server *server, const struct raw_arg *args, size_t count,
                        struct raw_reply *ret_reply);

/* As server_call(), for words; the list ends with NULL. */
const char *server_ask(const struct server *server, struct raw_reply *ret_reply, const char *word, ...)
    __attribute__((sentinel));

/* Sends a command of words and needs this answer, or ends the process: for preparing a scene. */
void server_must(const struct server *server, const char *answer, const char *word, ...)
    __attribute__((sentinel));

bool server_has(const struct server *server, const char *key);
bool server_has_value(const struct server *server, const char *key, const char *value);
long long server_pttl(const struct server *server, const char *key); /* -2: no key, -1: no expiry */

/* In database 0, but for what is remembered of offers: it ends by itself, a minute later. */
long long server_key_count(const struct server *server);

/* On how many of the first `count` servers (those that run) is the key? */
unsigned servers_with_key(const struct servers *servers, unsigned count, const char *key);
unsigned servers_with_value(const struct servers *servers, unsigned count, const char *key,
                            const char *value);
