/* SPDX-License-Identifier: MIT */
/* One connection through the proxy: two sockets and a queue of bytes for each direction. */
#ifndef TEST_RELAY_H
#define TEST_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy.h"

/* The end a direction reads from: up is what the client says, down what the server says. */
enum { RELAY_UP = 0, RELAY_DOWN = 1 };

struct relay_chunk {
	struct relay_chunk *next;
	uint64_t due_ns; /* not passed before */
	size_t at, end;
	unsigned char bytes[4096];
};

struct relay_queue {
	struct relay_chunk *first, *last;
	size_t size;
	bool ended;       /* nothing more comes in */
	uint64_t next_ns; /* trickle: the next byte not before */
};

struct relay {
	bool open;
	int fd[2]; /* [RELAY_UP] the client, -1 if abandoned; [RELAY_DOWN] the server */
	struct relay_queue queue[2];
};

/* Connects to the server. Takes `client`, also when it fails. Returns 0 or -1. */
int relay_open(struct relay *relay, int client, const char *server_socket);

/* Closes both ends, by a reset when asked for. What is queued is dropped. */
void relay_close(struct relay *relay, bool reset);

/* Resets the client's end. The server's stays until it has got what the client had said, or closes. */
void relay_abandon(struct relay *relay);

/* Fills in what to poll for both ends, and lowers `wake_ns` to when a chunk becomes due. */
void relay_prepare(struct relay *relay, const struct proxy_faults *faults, struct pollfd fds[2],
                   uint64_t *wake_ns);

/* Moves what can be moved. */
void relay_move(struct relay *relay, struct proxy_faults *faults, const struct pollfd fds[2]);

#endif
