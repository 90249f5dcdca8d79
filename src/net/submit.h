/* SPDX-License-Identifier: MIT */
/*
 * How a request gets among those that a node is asked: in which form, and whether there is room; and when it
 * is sent.
 *
 *     rl_submit_request()      a new one
 *     rl_submit_again()        one whose form the server refuses: in the next form
 *     rl_submit_debts()        the releases that a broken connection has left, on the next one
 *     rl_submit_wake()         a release was told of a queue
 *     rl_submit_give_up(),
 *     rl_submit_give_back()    an attempt with the caller's own value has failed, or a yes is no vote
 *     rl_submit_flush()        sends all that may leave
 *
 * The refusal of a form (proto/method.h) is no vote: the same request is asked again, after all that was
 * asked meanwhile.
 *
 * So a SET may overtake a release that is asked again. With a fresh token for each attempt that is harmless:
 * the release does not match the new one. With the caller's own value it would delete the key of the next
 * acquisition. Such a request is asked again only if no SET of its name waits for it; else the refusal is its
 * vote, and the key is counted as lingering.
 *
 * And the release of an attempt with the caller's own value that has failed is not sent right after its SET:
 * that may find the key of an earlier acquisition, or be executed before a later one, and the release would
 * delete that. It waits for the SET to say that it made the key, and is sent then. Until it has said so, the
 * node takes no other SET of that name and value. A SET whose connection ends first says nothing: what it may
 * have made is counted as lingering.
 *
 * Part of the node: node.c calls it, record.c before a connection is left, and operate.c to send. It
 * calls loss.c, and the node's link, ledger and talk.
 */
#ifndef RL_NET_SUBMIT_H
#define RL_NET_SUBMIT_H

#include "net/inside.h"
#include "proto/request.h"

/* For how long a woken waiter goes first where no node timeout of a handle is at hand. */
enum { RL_SUBMIT_PATIENCE_MS = 50 };

/* As rl_node_submit(), for a node that need not connect first. */
enum redlock_vote_code rl_submit_request(struct rl_node *node, const struct rl_request *request,
                                         struct rl_wire *wire, uint64_t now_ns);

/* The reply, an error, refuses the form of the front entry, or does not know the script: asks again in
 * another one. False: the reply is the answer, or there is no memory. */
bool rl_submit_again(struct rl_node *node, const struct rl_entry *entry, const struct rl_reply *reply);

/* Nobody wants the claim with this tag any more; the key may be another's as long as it has not said YES. */
void rl_submit_give_up(struct rl_node *node, struct rl_tag tag);

/* The front entry, an unwanted claim, has made its key: asks for the release. False: out of memory. */
bool rl_submit_give_back(struct rl_node *node, const struct rl_entry *claim);

/* Whether the node may still be asked to release this token, also late: a key that it has now may go. */
bool rl_submit_may_release(const struct rl_node *node, struct rl_slice name, struct rl_slice token,
                           uint64_t now_ns);

/* Asks the front entry again, as the node is to be asked now. False: out of memory. */
bool rl_submit_anew(struct rl_node *node, const struct rl_entry *entry);

/* The front entry, a release, was told that somebody waits: asks to wake the next one. It is only a
 * hint: without memory the waiter finds out by asking. */
void rl_submit_wake(struct rl_node *node, const struct rl_entry *release);

/* Queues the debts. They go after the opening commands, which have ended the connection that they come from.
 * False: out of memory. */
bool rl_submit_debts(struct rl_node *node);

/* Whether there is something to send now, and sends what can be sent: first queues what no caller asked for.
 */
bool rl_submit_can_send(const struct rl_node *node);
void rl_submit_flush(struct rl_node *node);

#endif
