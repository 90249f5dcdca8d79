/* SPDX-License-Identifier: MIT */
/* One server of the local cluster: its files, its process, and how to tell that process from any other. */
#ifndef REDLOCK_TOOL_CLUSTER_SERVER_H
#define REDLOCK_TOOL_CLUSTER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum { CLUSTER_SOCKET_MAX = 108, CLUSTER_URL_MAX = 3 * CLUSTER_SOCKET_MAX + 16 };

struct cluster_server {
	unsigned number; /* from 1 */
	int cluster_fd;  /* the cluster's directory, lent; the names of files are relative to it */
	char dir[16];    /* its files, and its working directory */
	char socket[CLUSTER_SOCKET_MAX]; /* with the whole path */
	pid_t pid;                       /* 0: no process */
	bool up;                         /* answers */
	char refusal[128];               /* an error that it answers instead; "": none */
};

void cluster_server_init(struct cluster_server *server, int cluster_fd, const char *cluster_path,
                         unsigned number);

/* Writes the server's address, for redlock_open(). */
void cluster_server_url(const struct cluster_server *server, char *buffer, size_t size);

/* Finds out its pid and whether it is up. */
void cluster_server_look(struct cluster_server *server);

/* Opens one of its files, with the flags of open(2). */
FILE *cluster_server_file(const struct cluster_server *server, const char *name, int flags);

/* Writes the configuration and starts the process. False after it has said what is wrong. */
bool cluster_server_spawn(struct cluster_server *server, const char *program);

/* Ends the process: asked first, killed when it does not go. False when it is still there. */
void cluster_server_ask_to_end(const struct cluster_server *server);
bool cluster_server_end(struct cluster_server *server);

/* Removes its files and its directory. */
void cluster_server_remove(const struct cluster_server *server);

/* Says on stderr why it did not start: the last line of its log. */
void cluster_server_complain(const struct cluster_server *server);

#endif
