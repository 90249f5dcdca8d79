/* SPDX-License-Identifier: MIT */
/*
 * Whether a node of a guarded set may vote, as its record says (set.h). A node is asked for its
 * record while the connection opens (record.h), and if the set may be guarded, requests wait for the
 * answer; again when a script finds that the record has changed, and when a quarantine should be over.
 * Requests that need a vote are then sent in the guarded forms, or nothing is sent and the reason is the vote
 * (permit.h).
 *
 *     rl_admission_look()      the answer to a look at the record
 *     rl_admission_meet()      the answer to MEET
 *     rl_admission_settle()    something was learnt of the set, here or at another node
 *     rl_admission_hear()      for each other answer
 *
 * Part of the node: node.c calls it, and it calls record.c, permit.c and server_clock.c. Without a guard
 * a node has none of it.
 */
#ifndef RL_NET_ADMISSION_H
#define RL_NET_ADMISSION_H

#include "net/inside.h"

/* Guards a node. False: out of memory. */
bool rl_admission_new(struct rl_node *node, struct rl_set *set);

void rl_admission_look(struct rl_node *node, const struct rl_reply *reply, uint64_t now_ns);

void rl_admission_meet(struct rl_node *node, const struct rl_reply *reply, uint64_t now_ns);

void rl_admission_settle(struct rl_node *node, uint64_t now_ns);

/* A yes to the front entry, in a guarded form: the generation of the configuration that it was asked with. 0:
 * the client goes by another one since, so it is no vote. */
uint8_t rl_admission_generation(const struct rl_node *node, const struct rl_entry *entry);

/* Takes what the answer to the front entry says of the node, and makes it the core's. */
void rl_admission_hear(struct rl_node *node, const struct rl_entry *entry, struct rl_vote *vote,
                       uint64_t now_ns);

/* Ends the old connection, if a new one is waited for and nothing is under way. True: that is to be made. */
bool rl_admission_renews(struct rl_node *node, uint64_t now_ns);

#endif
