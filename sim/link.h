/* SPDX-License-Identifier: MIT */
/*
 * Connections: two streams of bytes between one client and one node.
 *
 * A stream keeps its order, like TCP; its chunks take random times, may be split, and stand still while the
 * link is cut. An abortive close drops the bytes that the sender's kernel has not sent yet; bytes in the
 * receiver's inbox stay there, whatever happens to the connection afterwards. Connections are named by
 * number, and a number is never used twice in a seed, so that an event cannot meet a wrong connection.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "redis.h"

struct world;

enum direction { TO_NODE, TO_CLIENT };

struct pipe {
	struct buffer flight; /* sent, not arrived */
	struct buffer inbox;  /* arrived, not read */
	uint64_t last_ns;     /* arrival of the last chunk that was sent */
	bool ended;           /* the end has arrived: nothing comes after the inbox */
	int error;            /* with `ended`: the errno of a reset, 0 for an orderly end */
};

enum conn_state { CONN_CONNECTING, CONN_OPEN, CONN_FAILED };

struct conn {
	uint32_t actor;
	uint32_t life; /* of the actor: which of its processes */
	uint32_t node;
	enum conn_state state;
	int connect_error;
	bool client_gone; /* closed, aborted, or the process died */
	bool aborted;     /* abortively */
	bool doomed;      /* it was reset: what is sent from now on is lost, only the reset still arrives */
	bool silent;      /* nothing passes any more, no end either */
	struct pipe pipe[2];
	struct session *session; /* of the node; NULL: it has no socket for it */
};

struct links {
	struct conn *conns;
	uint32_t count;
	uint32_t capacity;
};

void links_free(struct links *links);

/* The client's side, as socket calls see it. Errors are negative errno values. `local`: a Unix socket. */
int link_connect(struct world *w, uint32_t actor, uint32_t node, bool local, uint32_t *ret_conn);
int link_connect_nobody(struct world *w, uint32_t actor, uint32_t node, uint32_t *ret_conn);
ssize_t link_client_send(struct world *w, uint32_t conn, const void *bytes, size_t size);
ssize_t link_client_receive(struct world *w, uint32_t conn, void *bytes, size_t size);
void link_client_close(struct world *w, uint32_t conn);
void link_client_abort(struct world *w, uint32_t conn);
/* The process is killed: its kernel ends the stream. With its machine: nobody does. */
void link_client_die(struct world *w, uint32_t conn, bool machine);
unsigned link_client_ready(const struct world *w, uint32_t conn); /* RL_READABLE | RL_WRITABLE */

/* The node's side. */
void link_node_send(struct world *w, uint32_t conn, const void *bytes, size_t size);
void link_node_close(struct world *w, uint32_t conn, bool reset);

/* Faults. A reset reaches both sides; `lost`: without what is in flight. A silenced connection carries
 * nothing until it is reset. A cut stops one direction between a client and a node. */
void link_reset(struct world *w, uint32_t conn, bool lost);
void link_silence(struct world *w, uint32_t conn);
void link_cut(struct world *w, uint32_t actor, uint32_t node, enum direction dir, uint64_t until_ns);

#endif
