/* SPDX-License-Identifier: MIT */
/*
 * Whether a request may be sent to a node of a guarded set, and whether its answer counts. A request that may
 * not be sent keeps its turn in the outbox, with its vote instead of bytes.
 *
 *     rl_permit_vote()      for each request
 *     rl_permit_next()      votes of requests that were not sent
 *     rl_permit_weigh()     for each answer in a form that does not look at the record
 *
 * Part of the node: node.c and admission.c call it.
 */
#ifndef RL_NET_PERMIT_H
#define RL_NET_PERMIT_H

#include "net/inside.h"

/* Holds operations back until the record is known, if this request is for guarded nodes alone and no
 * operation has left yet. */
void rl_permit_hold(struct rl_node *node, const struct rl_request *request);

/* Whether no request in the outbox was sent, of at least one. */
bool rl_permit_is_unsent(const struct rl_node *node);

/* PENDING: it may be asked. */
enum redlock_vote_code rl_permit_vote(struct rl_node *node, const struct rl_request *request,
                                      uint64_t now_ns);

bool rl_permit_next(struct rl_node *node, struct rl_answer *ret_answer, uint64_t now_ns);

/*
 * A plain set must not wait for its records: requests leave together with the question for the record, in the
 * plain form. Their answers come after the record. They count if the set is plain; if it is guarded they are
 * void, and the node is asked again in the guarded form. Where the set is looked at again, answers to earlier
 * requests come before the record: they count unless other nodes have told that the set is guarded.
 */
enum rl_permit_weight {
	RL_PERMIT_COUNTS,
	RL_PERMIT_WAITS, /* too few nodes have told of their records */
	RL_PERMIT_VOID
};
enum rl_permit_weight rl_permit_weigh(const struct rl_node *node, const struct rl_entry *entry,
                                      const struct rl_reply *reply, struct rl_vote *ret_vote);

/* The vote of the front entry, whose answer is void: PENDING, or the vote of a node that is not to be asked
 * again. */
struct rl_vote rl_permit_vote_anew(struct rl_node *node, const struct rl_entry *entry, uint64_t now_ns);

/* The vote in place of a yes of a transaction, which cannot check the record. Only a user that may run no
 * scripts uses transactions. */
enum redlock_vote_code rl_permit_of_talk(const struct rl_node *node);

/* How long the quarantine of a node lasts at most, as far as is known; -1: it has not begun. */
int64_t rl_permit_left_ms(const struct rl_node *node, uint64_t now_ns);

/* When the quarantine should be over, if a request was refused for it. */
uint64_t rl_permit_deadline(const struct rl_node *node);
void rl_permit_tick(struct rl_node *node, uint64_t now_ns);

#endif
