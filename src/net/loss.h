/* SPDX-License-Identifier: MIT */
/*
 * The connection of a node has broken, or does not open: which votes that makes of what was asked on it, and
 * what the ledger is told. Part of the node: node.c and submit.c call it, and it calls the node's outbox,
 * ledger and talk.
 */
#ifndef RL_NET_LOSS_H
#define RL_NET_LOSS_H

#include "net/inside.h"

/* The votes that leave open whether something was executed. */
bool rl_loss_is_unknown(enum redlock_vote_code vote);

/* Why nothing could be sent; `otherwise` if what is known leaves open whether something was executed. */
enum redlock_vote_code rl_loss_unsent_vote(const struct rl_node *node, enum redlock_vote_code otherwise);

/* The vote of a request that a broken connection leaves. If it was sent, its outcome is unknown. If it was
 * not sent, it did not happen; nor did a request that came after an opening command that the server refused.
 */
enum redlock_vote_code rl_loss_vote(const struct rl_node *node, bool unsent);

/* To be called before anything is taken out; then pulls what was asked, and what is parked. False: nothing is
 * left. */
void rl_loss_begin(struct rl_node *node);
bool rl_loss_next(struct rl_node *node, struct rl_answer *ret_answer);

/* Pulls what waits for the connection of a cluster's server to open, of which nothing has left. */
bool rl_loss_next_unsent(struct rl_node *node, struct rl_answer *ret_answer);

#endif
