/* SPDX-License-Identifier: MIT */
/*
 * A node whose URL has ?replicas=N: a yes that is relied on, of a claim or an extend, is a vote only when N
 * replicas have acknowledged it. WAIT follows the request on the same connection, and its answer comes after
 * that to the request: the node keeps the yes until then. Fewer replicas, or an error, are the vote
 * UNREPLICATED, or that of the error. docs/decisions/connections.md says what WAIT does not add.
 *
 *     rl_outbox_ask()       queues the request, and WAIT after it
 *     rl_replicas_hold()    the front, which waits, has its answer
 *     rl_replicas_take()    the answer to WAIT
 *
 * Part of the node: node.c calls it.
 */
#ifndef RL_NET_REPLICAS_H
#define RL_NET_REPLICAS_H

#include "net/inside.h"

/* Keeps the answer. False: it is no yes, and WAIT changes nothing. */
bool rl_replicas_hold(struct rl_node *node, const struct rl_answer *answer);

/* Takes the reply to WAIT, or to one whose request was not kept. True: `ret_answer` has the answer that was
 * kept. */
bool rl_replicas_take(struct rl_node *node, const struct rl_reply *reply, struct rl_answer *ret_answer);

#endif
