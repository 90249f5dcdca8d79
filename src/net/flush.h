/* SPDX-License-Identifier: MIT */
/*
 * Sends a node's requests: queues the next one that no caller asked for, and writes all bytes that may leave.
 * Part of the node: record.c calls it before a connection is left, and others by node.h.
 */
#ifndef RL_NET_FLUSH_H
#define RL_NET_FLUSH_H

#include "net/inside.h"

/* As rl_node_can_send() and rl_node_flush(). */
bool rl_flush_can_send(const struct rl_node *node);
void rl_flush(struct rl_node *node);

#endif
