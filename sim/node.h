/* SPDX-License-Identifier: MIT */
/* A modelled Redis server: its life, its clock, its sessions and when it executes what they sent. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "drift.h"
#include "keyspace.h"
#include "net/script.h"

struct world;

/* Why a node that runs refuses commands. */
enum node_mode {
	MODE_NORMAL,
	MODE_LOADING,
	MODE_OOM,
	MODE_MISCONF,
	MODE_READONLY,
	MODE_BUSY,
	MODE_GARBAGE,
	MODE_COUNT
};

/* Commands of newer servers, in place of scripts. */
enum node_native { NATIVE_NONE, NATIVE_DELEX, NATIVE_DELIFEQ };

struct node {
	struct drift clock;
	uint64_t jumped_ns;       /* when it last jumped forward */
	uint64_t stepped_back_ns; /* when it was last set back */
	struct keyspace keys;
	char run_id[41];
	uint32_t starts;   /* how often it was started */
	bool up;           /* the process runs */
	bool machine_down; /* with !up: nobody answers in its place */
	bool hung;         /* runs, executes nothing */
	bool run_planned;
	bool wipe; /* the data is gone when it starts again */
	enum node_mode mode;
	uint64_t slow_ns; /* added to every execution */
	uint64_t next_session;
	bool cached[RL_SCRIPT_COUNT];
	/* Constant for a seed. */
	bool kill_denied;
	bool info_denied;
	bool eval_denied;
	enum node_native native;
	bool is_valkey_9;      /* what runs beside a script; who has not logged in is told so first */
	bool queues_when_full; /* Redis 7.2, Valkey 8: only what needs memory is refused behind MULTI */
	bool other_password;
	bool quiet_login; /* as Redis 7.2 to 8.6 and Valkey 8: see run_auth() */
	bool no_database;
	/* Connections that the node has a socket for. */
	uint32_t *open;
	uint32_t open_count;
	uint32_t open_capacity;
	struct buffer reply; /* of the session that is served */
	uint64_t newest_us;  /* when the newest bytes that have arrived were sent, and on which connection */
	uint32_t newest_conn;
};

void node_start(struct world *w, uint32_t node);
void node_free(struct node *n);

/* Milliseconds of the node's clock. */
int64_t node_now_ms(const struct world *w, const struct node *n);

/* The point of world time from which on the key is not there. */
uint64_t node_expiry_world(const struct node *n, const struct key *key);

/* Removes the keys that have expired. */
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
void node_hang(struct world *w, uint32_t node, bool hung);

/* For CLIENT KILL ID: closes that session; false when there is none. */
bool node_kill_session(struct world *w, uint32_t node, uint64_t id);

#endif
