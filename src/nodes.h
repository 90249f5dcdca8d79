/* SPDX-License-Identifier: MIT */
/*
 * The nodes that vote together, and the quorum among them: who they are, which of them are one server, in
 * which order all clients see them, and whose turn it is to log in again. A client has one such set.
 */
#ifndef RL_NODES_H
#define RL_NODES_H

#include "net/cluster.h"
#include "net/node.h"
#include "net/set.h"

struct rl_nodes {
	struct rl_node *list;
	unsigned count;
	struct rl_clusters *clusters; /* NULL: none of them is one */
	unsigned quorum;
	struct rl_tls_context *tls;       /* NULL: no node is in TLS */
	struct rl_set *set;               /* what is known of it as a guarded one; NULL: it has no guard */
	struct rl_wire wire;              /* a request is formatted once for all */
	uint8_t order[REDLOCK_MAX_NODES]; /* their numbers in an order that other clients have too */
	uint64_t look_ns;                 /* when a plain set is asked again whether it is guarded */
	bool named;                       /* each node has said who it is */
	bool shared;                      /* two nodes were one server at some time, and may be again */
	bool new_credentials;             /* there may be nodes that are to log in again */
	bool replicated;                  /* there are nodes whose votes wait for replicas */
	bool listening;                   /* there may be nodes with a listener, or with Sentinels */
	uint32_t heard;                   /* bit per node: messages were heard when this was last looked at */

	/* Requests that a node did not take: votes that are still to be counted. */
	uint32_t refused_seq;
	uint32_t refused_by; /* bit per node */
	enum redlock_vote_code refused_votes[REDLOCK_MAX_NODES];
};

/* A `child` process does not touch what it shares with its parent. */
void rl_nodes_close(struct rl_nodes *nodes, bool child);

/* Begins to connect to all of them. */
void rl_nodes_connect(struct rl_nodes *nodes, uint64_t now_ns);

/* ---- asking ---- */

/* Asks those of the bits `to`. One that does not take the request has voted, if somebody waits for the
 * answer. */
void rl_nodes_submit(struct rl_nodes *nodes, struct rl_request *request, uint32_t to, uint64_t now_ns);

/* The next of these votes. False: there are none. */
bool rl_nodes_next_refusal(struct rl_nodes *nodes, unsigned *ret_node, struct rl_vote *ret_vote,
                           uint64_t now_ns);

/* Somebody waits at node `index` for messages about this name on the client's channel, now and for 10 s. */
void rl_nodes_listen(struct rl_nodes *nodes, unsigned index, struct rl_slice name, const char *channel,
                     uint64_t now_ns);

/* The nodes whose messages are heard now, a bit for each. */
uint32_t rl_nodes_heard(const struct rl_nodes *nodes);

/* ---- time ---- */

uint64_t rl_nodes_deadline(const struct rl_nodes *nodes, uint64_t now_ns);
void rl_nodes_tick(struct rl_nodes *nodes, uint64_t now_ns);

/* Whether one of them has something to send, or has ended. */
bool rl_nodes_have_work(const struct rl_nodes *nodes);

/* The servers of all nodes: those of the list, and after them the other servers of clusters. */
static inline unsigned rl_nodes_servers(const struct rl_nodes *ns)
{
	return ns->count + rl_cluster_count(ns->clusters);
}

static inline struct rl_node *rl_nodes_server(const struct rl_nodes *ns, unsigned index)
{
	return index < ns->count ? (struct rl_node *)&ns->list[index] : ns->clusters->servers[index - ns->count];
}

/* Releases that must reach one of them, or any, and are not answered. */
unsigned rl_nodes_owed_by(const struct rl_nodes *nodes, unsigned index);
unsigned rl_nodes_owed(const struct rl_nodes *nodes);

/* Whether a release that has left for node `index` may have to be asked again, since one of them has refused
 * its form, as servers that are set up alike do. */
bool rl_nodes_may_ask_again(const struct rl_nodes *nodes, unsigned index);

/* ---- who they are ---- */

/* Puts them into the order that all clients share. */
void rl_nodes_sort(struct rl_nodes *nodes);

/* Whether it has a connection; a cluster: to any of its servers. */
bool rl_nodes_is_open(const struct rl_nodes *nodes, unsigned index);

/* Where waiters look for a name first: of the nodes in that order from `turn` on, the first that has a
 * connection. */
static inline unsigned rl_nodes_gate(const struct rl_nodes *ns, unsigned turn)
{
	unsigned gate = 0;
	for (unsigned i = 0; i < ns->count; i++) {
		gate = ns->order[(turn + i) % ns->count];
		if (rl_nodes_is_open(ns, gate))
			break;
	}
	return gate;
}

/* A node has reported its run_id: compares it with the others. */
void rl_nodes_identify(struct rl_nodes *nodes);

/* The other nodes whose votes in the lock's round are those of the server that node `index` is now: a bit for
 * each, and for some that have not voted. Only one of these votes counts. */
uint32_t rl_nodes_twins(const struct rl_nodes *nodes, unsigned index, const struct rl_lock *lock,
                        struct rl_slice name);

/* Each has said so. */
bool rl_nodes_are_identified(const struct rl_nodes *nodes);

/* Whether a turn of the loop has anything to do for the guard. */
bool rl_nodes_are_guarded(const struct rl_nodes *nodes);

/* Where not all are `named`: whether the order will not change soon, because each node has said who it is,
 * will not tell, or has failed. */
bool rl_nodes_look_ordered(const struct rl_nodes *nodes);

/* A node has told what it knows of the set: that may change what the others are asked. */
void rl_nodes_settle(struct rl_nodes *nodes, uint64_t now_ns);

/* Tells the nodes of a guarded set that time has passed that our clock did not show. */
void rl_nodes_leap(struct rl_nodes *nodes, uint64_t leap_ns);

/* ---- new credentials ---- */

/* Lets the next node log in with them, unless one does. */
void rl_nodes_log_in(struct rl_nodes *nodes, uint64_t now_ns);

/* No node logs in any more, and what waits for that may be sent, unless the AUTH has left. */
void rl_nodes_end_login(struct rl_nodes *nodes);

#endif
