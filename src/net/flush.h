/* SPDX-License-Identifier: MIT */
/*
 * What a node was asked leaves: the next of what is asked without anybody asking for it, and all bytes that
 * may go. Part of the node: admission.c calls it before a connection is left, and others by node.h.
 */
#ifndef RL_NET_FLUSH_H
#define RL_NET_FLUSH_H

#include "net/inside.h"

/* As rl_node_can_send() and rl_node_flush(). */
bool rl_flush_can_send(const struct rl_node *node);
void rl_flush(struct rl_node *node);

#endif
