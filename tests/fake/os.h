/* SPDX-License-Identifier: MIT */
/*
 * src/os for tests: the descriptors, the poller, the lookups, the clock and the random bytes of processes
 * that are not there. A world decides what connections do: the simulator's, or that of wire.h.
 *
 * os_lookup.c: lookups, and what the others need. os.c: sockets, poller. os_names.c: addresses of names.
 * os_process.c: clock, random bytes, bell, fork mark. A program links those that it needs and takes the
 * others from src/os.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "os/lookup.h"
#include "os/poller.h"

enum { FAKE_FDS = 32, FAKE_LOOKUPS = 8, FAKE_FIRST_FD = 3 };

/* A connection of the process, and what the poller watches of it. */
struct fake_fd {
	bool used;
	bool watched;
	uint32_t conn; /* the world's number of it */
	uint32_t id;   /* the poller's */
	uint32_t events;
};

/* A name that the process looks up. */
struct rl_lookup {
	bool runs;
	uint32_t id;      /* the poller's */
	unsigned node;    /* the world's number of the name */
	uint64_t ends_ns; /* world time */
};

struct fake_process {
	bool poller_open;
	bool woken;
	uint64_t armed_ns; /* the poller's timer, own clock */
	struct fake_fd fds[FAKE_FDS];
	struct rl_lookup lookups[FAKE_LOOKUPS];
};

/* Functions that may be NULL are marked so: then nothing happens. Errors are negative errno values. */
struct fake_world {
	/* A use of the seam that must never be: a closed descriptor, a wait, bytes after the end. */
	void (*wrong)(const char *what, int fd);
	uint64_t (*now)(void);  /* of the process's clock */
	int64_t (*ahead)(void); /* by how much its wall clock is; NULL: by nothing */
	bool (*has_ended)(const struct rl_lookup *lookup);
	int (*random)(void *buffer, size_t size);
	int (*connect)(const struct rl_address *address, uint32_t *ret_conn);
	int (*connected)(uint32_t conn);
	ssize_t (*send)(uint32_t conn, const void *bytes, size_t size);
	ssize_t (*receive)(uint32_t conn, void *bytes, size_t size);
	void (*close)(uint32_t conn, bool abort);
	unsigned (*ready)(const struct fake_fd *fd); /* RL_READABLE | RL_WRITABLE, of what is watched */
	unsigned (*first)(void);                     /* which is looked at first; NULL: the lowest */
	int (*watch)(void);                          /* NULL; an error: it cannot be */
	void (*armed)(void), (*woken)(void); /* NULL; the timer was set, the poller was woken or changed */
	/* Fills in `node` and `ends_ns`, or an error; then what was found. */
	int (*look_up)(const char *host, uint16_t port, struct rl_lookup *lookup);
	void (*found)(const struct rl_lookup *lookup, struct rl_lookup_result *ret);
	void (*left)(struct rl_lookup *lookup, bool child); /* NULL */
	/* Reads an address that is written out, or a path. False: the host is a name. */
	bool (*literal)(const char *host, uint16_t port, struct rl_address *ret);
	void (*path)(const char *path, struct rl_address *ret);
};

/* The process whose calls run, and its world. */
extern struct fake_process *fake_process;
extern const struct fake_world *fake_world;

/* The readiness of a descriptor that the process watches, and whether any is ready. */
unsigned fake_ready(const struct fake_process *p, const struct fake_fd *fd);
bool fake_anything_ready(const struct fake_process *p);

/* An address of some bytes: what it is, and a number. */
struct rl_address fake_address(unsigned char kind, unsigned number);
