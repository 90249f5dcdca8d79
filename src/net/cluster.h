/* SPDX-License-Identifier: MIT */
/*
 * Nodes that are Redis Clusters: one vote each, which the server gives that has the name's hash slot. Each
 * server that is asked is a struct rl_node with the number of the node; the first one of the URL is in the
 * client's list, the others are here.
 *
 * Which server has a slot is learned of MOVED: a request goes to the server that had the slot last, and is
 * asked again where that sends it. A server that is asked for a slot of another one executes nothing, so that
 * any server may be asked: one of the URL at first, and another one while the slot's own has no connection or
 * is silent. A request that has not left when a connection breaks, or does not open in time, goes to the next
 * server. No table of all slots is read.
 *
 *     rl_cluster_add()        a node of the client's list is one
 *     rl_cluster_route()      the server to ask for a name
 *     rl_cluster_redirect()   for each answer of a server that has sent a request on
 *     rl_cluster_tick()       when the time says so: releases that a lost server owes go to the next one
 */
#ifndef RL_NET_CLUSTER_H
#define RL_NET_CLUSTER_H

#include "net/node.h"
#include "proto/hashslot.h"

/* Ids in the poller: those of all servers of a node but the first have the number of the node plus this. */
#define RL_WATCH_CLUSTERS (3 * RL_WATCH_NODES)

enum { RL_CLUSTER_SERVERS = 256 }; /* the most that are known, of all nodes, but for the first ones */

struct rl_clusters {
	struct rl_node *list; /* the client's nodes */
	unsigned count;
	struct rl_node *servers[RL_CLUSTER_SERVERS];
	/* By node; NULL: it is no cluster. Each slot: the server that has it: 0: unknown, 1: that of the client's
	 * list, more: servers[it - 2]. */
	uint16_t *owners[REDLOCK_MAX_NODES];
	struct rl_redirect redirect;
	struct rl_outbox late[REDLOCK_MAX_NODES]; /* by node: releases that no server has taken so far */
	uint64_t pay_ns;                          /* when these and debts are asked again */
};

/* The node with this index is the cluster of `endpoint`, which the function copies from. The first server is
 * open. False: out of memory. */
bool rl_cluster_add(struct rl_clusters **clusters, struct rl_node *list, unsigned index,
                    const struct rl_endpoint *endpoint);
void rl_cluster_free(struct rl_clusters *clusters, bool child);

/* The server to ask: the one that has the name, as far as is known. */
struct rl_node *rl_cluster_route(struct rl_clusters *clusters, unsigned index,
                                 const struct rl_request *request, uint64_t now_ns);

/* The server that had the name last; NULL: none is known. */
const struct rl_node *rl_cluster_owner(const struct rl_clusters *clusters, unsigned index,
                                       struct rl_slice name);

/* One of its servers that has a connection, if any has. */
struct rl_node *rl_cluster_speaker(const struct rl_clusters *clusters, unsigned index);

/* The server to listen at for messages about the name. The others hear them, too, but the scripts that send
 * them count who hears them on their own server. */
struct rl_node *rl_cluster_listener(const struct rl_clusters *clusters, unsigned index, struct rl_slice name);

/* Whether a claim or extend would overtake a release of its token at another server, which would then delete
 * the key. */
bool rl_cluster_overtakes(const struct rl_clusters *clusters, const struct rl_node *server,
                          const struct rl_request *request);

/* The server has sent a request on, or it never left: `answer` is what it has had for it. Asks the next one.
 * `wanted`: somebody still waits for the answer. False: the answer is the vote. */
bool rl_cluster_redirect(struct rl_clusters *clusters, struct rl_node *server, struct rl_answer *answer,
                         bool wanted, struct rl_wire *wire, uint64_t now_ns);

/* As rl_link_ready(), for the servers of one node. */
void rl_cluster_ready(const struct rl_clusters *clusters, unsigned index, uint32_t watch_id, uint32_t events,
                      uint64_t now_ns);

/* A server whose connection does not open, so that what waits for it is to be taken out with
 * rl_loss_next_unsent(), and sent on: another one may be asked. NULL: no connection is in that state. */
struct rl_node *rl_cluster_opening(const struct rl_clusters *clusters, uint64_t now_ns);

/* When rl_cluster_tick() or that is due; UINT64_MAX: never. */
uint64_t rl_cluster_deadline(const struct rl_clusters *clusters, uint64_t now_ns);
void rl_cluster_tick(struct rl_clusters *clusters, struct rl_wire *wire, uint64_t now_ns);

/* The servers beside those of the client's list, by number. */
static inline unsigned rl_cluster_count(const struct rl_clusters *c)
{
	return c != NULL ? c->count : 0;
}

static inline bool rl_cluster_is(const struct rl_clusters *c, unsigned index)
{
	return c != NULL && c->owners[index] != NULL;
}

#endif
