/* SPDX-License-Identifier: MIT */
/* A modelled Redis server: its life, its clock, its sessions and when it executes what they sent. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "drift.h"
#include "redis.h"

struct world;

/* A mode of nodes, besides those of servers: it says what is not RESP. */
enum { NODE_GARBAGE = REDIS_MODES };

struct node {
	struct drift clock;
	uint64_t jumped_ns;       /* when it last jumped forward */
	uint64_t stepped_back_ns; /* when it was last set back */
	struct redis redis;
	uint32_t starts;   /* how often it was started */
	bool up;           /* the process runs */
	bool machine_down; /* with !up: nobody answers in its place */
	bool hung;         /* runs, executes nothing */
	bool run_planned;
	bool wipe;        /* the data is gone when it starts again */
	uint64_t slow_ns; /* added to every execution */
	/* Constant for a seed: it never serves. */
	bool other_password;
	bool no_database;
	struct buffer reply; /* of the session that is served */
	uint64_t newest_us;  /* when the newest bytes that have arrived were sent, and on which connection */
	uint32_t newest_conn;
};

void node_start(struct world *w, uint32_t node);
void node_free(struct node *n);

/* Tells the checkers what the node's sessions do to keys, and what they may not say: node_ears.c. */
extern const struct redis_ears node_ears;

/* Milliseconds of the node's clock. */
int64_t node_now_ms(const struct world *w, const struct node *n);

/* The point of world time from which on the key is not there. */
uint64_t node_expiry_world(const struct node *n, const struct key *key);

/* Looks at the clock, and removes the keys that have expired. */
void node_expire(struct world *w, uint32_t node);

/* Whether a key of the node has this value. */
bool node_has_value(const struct world *w, uint32_t node, struct bytes value);

/* A connection has arrived, or has left. */
void node_accept(struct world *w, uint32_t node, uint32_t conn);
void node_forget(struct world *w, uint32_t node, uint32_t conn);

/* There is something in an inbox: execute it soon, if the node runs at all. */
void node_poke(struct world *w, uint32_t node);

/* The process dies. Its data is what the next start finds, unless `wipe`. */
void node_crash(struct world *w, uint32_t node, bool wipe, bool machine);
void node_restart(struct world *w, uint32_t node);
/* FLUSHALL. Whether another node that can be read has the record of the guarded set: without any it has
 * ended. */
void node_flush(struct world *w, uint32_t node);
/* Whether its record admits this process: if not, it has no vote for as long as any lock of before may live.
 */
bool node_admits(const struct world *w, const struct node *node);
bool node_others_know(const struct world *w, uint32_t node);
void node_hang(struct world *w, uint32_t node, bool hung);

#endif
