/* SPDX-License-Identifier: MIT */
/*
 * The clock of a guarded node's server, by the times that the node tells with some of its answers: when it is
 * asked for its time, and what is said of a clock that went wrong. core/offset.h says what the times prove.
 *
 * Part of the node: node.c and admission.c call it.
 */
#ifndef RL_NET_SERVER_CLOCK_H
#define RL_NET_SERVER_CLOCK_H

#include "net/inside.h"

/* Whether the node is to tell its time with this answer, which costs it some; and that it has been asked. */
bool rl_server_clock_times(const struct rl_node *node, const struct rl_request *request, uint64_t now_ns);
void rl_server_clock_timed(struct rl_node *node, uint64_t now_ns);

/* Takes the server's time, which was asked for at `sent_ns`. */
void rl_server_clock_read(struct rl_node *node, uint64_t sent_ns, int64_t wall_ms);

/* Whether the server's clock went wrong, so that no answer of it is a vote; and the warning about it. */
bool rl_server_clock_is_off(const struct rl_node *node);
void rl_server_clock_warn(struct rl_node *node);

#endif
