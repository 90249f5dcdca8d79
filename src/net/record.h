/* SPDX-License-Identifier: MIT */
/*
 * Asks a node for its record (set.h): MEET, while the connection opens, and again when the node
 * should vote by now; ADMIT, when its quarantine is over. admission.c takes the answers. As long as no record
 * of the set was seen, a connection opens with a look instead, a plain command, which costs the server a
 * tenth of MEET. MEET follows if there is a record.
 *
 * An address may lead to another server while the one that it led to before runs on, connected as it is. So
 * no request whose answer counts is sent on a connection that was begun a quarter of the longest TTL ago or
 * longer (but at least a second), and the quarantine of a newcomer is longer by that
 * (docs/decisions/guard.md).
 *
 *     rl_record_must_leave()     for each request: it may have to wait for a new connection,
 *     rl_record_leave()          and all others with it,
 *     rl_admission_renews()      which is made when nothing is under way on the old one
 *
 * Part of the node, below permit.c and admission.c.
 */
#ifndef RL_NET_RECORD_H
#define RL_NET_RECORD_H

#include "net/inside.h"

/* Puts MEET after the opening commands, or a look at the record. False: out of memory. */
bool rl_record_begin(struct rl_node *node, uint64_t now_ns);

/* A look has shown a record: asks for all of it. Requests that have left in a plain form are void. */
void rl_record_saw(struct rl_node *node, uint64_t now_ns);

/* Asks for the record again, unless that is under way. */
void rl_record_ask(struct rl_node *node, uint64_t now_ns);

/* Asks a node of a plain set whether it still has no record. The answer to what is asked from now on waits
 * for that. */
void rl_record_look(struct rl_node *node, uint64_t now_ns);

/* Ends the quarantine, whose id the node has told. `floor`: digits of its fencing counter; "": that is not
 * known. */
void rl_record_admit(struct rl_node *node, const char *floor, uint64_t now_ns);

/* Whether the connection is too old for requests whose answers count. */
bool rl_record_is_aged(const struct rl_node *node, uint64_t now_ns);

/* Whether that is because most of the node's Sentinels have not named its address for as long. */
bool rl_record_is_unconfirmed(const struct rl_node *node, uint64_t now_ns);

/* Whether this request must go by a new connection; and operations wait for that from now on. False: not yet
 * possible, as half a request is under way. */
bool rl_record_must_leave(const struct rl_node *node, const struct rl_request *request, uint64_t now_ns);
bool rl_record_leave(struct rl_node *node);

/* Time has passed that our clock did not show: connections are older by that. */
void rl_record_leap(struct rl_node *node, uint64_t leap_ns);

#endif
