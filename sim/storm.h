/* SPDX-License-Identifier: MIT */
/* A world for one question: how many connections reach a node that a thousand clients lose at one moment. */
#ifndef SIM_STORM_H
#define SIM_STORM_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "buffer.h"
#include "prng.h"

enum { STORM_CLIENTS = 1000, STORM_NODES = 3, STORM_FDS = 8 };

#define STORM_MS UINT64_C(1000000)
#define STORM_NEVER UINT64_MAX

enum storm_break { STORM_WHOLE, STORM_NO_JITTER, STORM_NO_BACKOFF };

struct storm_fd {
	bool used, watched, refused, reset, connected;
	unsigned watched_events, node, id;
	uint64_t ready_ns;  /* the connect is decided, or there is something to read */
	struct buffer up;   /* a part of a command */
	struct buffer down; /* answers */
};

struct storm_client {
	redlock_client *client;
	redlock_lock *lock;
	struct storm_fd fds[STORM_FDS];
	uint64_t armed_ns;
	uint64_t begins_ns; /* its first operation; NEVER: none */
};

struct storm {
	enum storm_break broken;
	uint64_t now_ns;
	uint64_t down_ns, up_ns; /* node 0 is away in between */
	struct prng random;
	struct storm_client clients[STORM_CLIENTS];
	struct storm_client *current; /* whose library calls run */
	uint32_t *arrivals;           /* connections that reach node 0, per millisecond since it went */
	unsigned arrival_ms;
};

extern struct storm storm;

/* When something happens for this client without its doing. */
uint64_t storm_due(const struct storm_client *c);

/* Node 0 goes: all its connections are reset. */
void storm_lose(void);

/* The seam for this client is given up with it. */
void storm_forget(struct storm_client *c);

/* What the node answers to what is in `up`. `busy`: every lock is somebody else's. */
void storm_answer(struct storm_fd *fd);

#endif
