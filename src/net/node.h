/* SPDX-License-Identifier: MIT */
/*
 * One node: requests go in with rl_node_submit() and leave with rl_submit_flush(); answers are pulled with
 * rl_node_next(), one for each request that was taken, also when the connection breaks. The node's link is
 * told of its socket (rl_link_ready()), and rl_node_tick() of the time. Nothing here blocks or decides about
 * locks.
 *
 * It is put together from a link (the connection and what is asked on it, link.h), a ledger (what is owed,
 * and what may come too late, ledger.h) and a talk (what is asked in several steps, talk.h). None of these
 * knows another; each returns what the node has to tell the others. The struct that combines them is in
 * inside.h. While somebody waits for a message there is a second link (listener.h), which changes nothing for
 * the first.
 */
#ifndef RL_NET_NODE_H
#define RL_NET_NODE_H

#include "net/inside.h"
#include "net/submit.h"

/* As rl_link_open() and rl_link_close(). */
bool rl_node_open(struct rl_node *node, const struct rl_endpoint *endpoint, struct rl_tls_context *tls,
                  struct rl_poller *poller, uint32_t id);
void rl_node_close(struct rl_node *node, bool child);

/* Begins to connect. */
void rl_node_connect(struct rl_node *node, uint64_t now_ns);

/* Takes a request. PENDING: taken, an answer will follow. Anything else is the vote: the request was not
 * taken; an owed release has become a debt. */
enum redlock_vote_code rl_node_submit(struct rl_node *node, const struct rl_request *request,
                                      struct rl_wire *wire, uint64_t now_ns);

static inline bool rl_node_is_open(const struct rl_node *node)
{
	return node->link.state == RL_LINK_OPEN;
}

/* Pulls the next answer. False: none at present. */
bool rl_node_next(struct rl_node *node, struct rl_answer *ret_answer, uint64_t now_ns);

/* The time of the link has come (rl_link_deadline()). Reads that are possible come first: an answer that
 * waits in the socket is not a stall. */
void rl_node_tick(struct rl_node *node, uint64_t now_ns);

/* The endpoint has new credentials: an open connection is due to log in with them (auth.h), and a node that
 * refused the old ones is tried again at once. */
void rl_node_renew(struct rl_node *node, uint64_t now_ns);

/* ---- what the server says unasked ---- */

/* Somebody waits for messages on this channel, now and for 10 s: opens the listener, or keeps it. It is the
 * same channel each time. */
void rl_node_listen(struct rl_node *node, const char *channel, uint64_t now_ns);

/* Whether the node's second link is subscribed: messages that are published now arrive. */
static inline bool rl_node_hears(const struct rl_node *node)
{
	return node->listener != NULL && rl_listener_hears(node->listener);
}

/* The end of this key is heard from now on, or not any more, if the server tells it. False: not here. */
static inline bool rl_node_follow(struct rl_node *node, struct rl_slice key, bool follow, uint64_t now_ns)
{
	/* a cluster tells the ends of a shard's keys on that shard alone, where nobody may listen */
	return node->redirect == NULL && rl_node_hears(node) &&
	       rl_listener_follow(node->listener, key, follow, now_ns);
}

/* As rl_link_ready(), for ids whose number has RL_WATCH_NODES added. */
void rl_node_listener_ready(struct rl_node *node, uint32_t watch_id, uint32_t events, uint64_t now_ns);

/* Pulls the next message, as rl_listener_next(). */
bool rl_node_hear(struct rl_node *node, struct rl_heard *ret_heard, uint64_t now_ns);

/* As rl_link_deadline() and rl_node_tick(). */
uint64_t rl_node_listener_deadline(const struct rl_node *node);
void rl_node_listener_tick(struct rl_node *node, uint64_t now_ns);

/* ---- what is owed ---- */

/* Releases that must reach this node and have not been answered. */
unsigned rl_node_owed(const struct rl_node *node);

/* Whether a waiter may be asked to stand in line here, as far as is known: no ENTER was refused as such. */
static inline bool rl_node_may_queue(const struct rl_node *node)
{
	return rl_method_may_queue(&node->methods);
}

/* Whether something it was asked, or is owed, has not left. */
bool rl_node_has_unsent(const struct rl_node *node);

/* Whether a release has left in one of the forms `refused`, which this connection has not proven: it may have
 * to be asked again in another one. */
bool rl_node_may_ask_again(const struct rl_node *node, uint32_t refused);

#endif
