/* SPDX-License-Identifier: MIT */
/* Connections through a proxy: two sockets each, and a queue of bytes for each direction. */
#pragma once

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

enum { RELAYS = 64 };

/* All connections of a proxy. Its loop is relays_wait(), then relays_move(). */
struct relays {
	int listener;
	const char *server_socket;
	void (*vary)(struct proxy_faults *faults); /* called before each connection's turn; NULL: nothing */
	struct relay list[RELAYS];
	struct pollfd fds[2 + 2 * RELAYS];
};

/* Waits until a socket, a due chunk or `wake_fd` wants something. Returns whether it is `wake_fd`, too. */
bool relays_wait(struct relays *relays, const struct proxy_faults *faults, int wake_fd);

/* Moves what can be moved, and takes in who has connected. */
void relays_move(struct relays *relays, struct proxy_faults *faults);

/* Ends all: in order, by a reset, or so that the server's end stays until it has got what the client had
 * said. */
void relays_close(struct relays *relays, struct proxy_faults *faults, enum proxy_close how);
