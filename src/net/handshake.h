/* SPDX-License-Identifier: MIT */
/*
 * How a connection opens: AUTH and SELECT, which must succeed before any operation is sent; then the
 * connection's own id, the server's identity and what commands it has, which are pipelined with the first
 * operations and may be refused: then something is unknown, and the node still votes. Where an earlier
 * connection may have left a SET in the server's buffer, operations also wait until the identity is known,
 * and that connection is ended first: if it is the same server process, whose ids mean what they meant.
 *
 *     rl_handshake_begin()      after rl_link_begin()
 *     rl_handshake_fits(),
 *     rl_handshake_take(),
 *     rl_handshake_done()       for each reply while link->setup has an entry, but for a login (auth.h)
 *     rl_handshake_kill(),
 *     rl_handshake_pass()       after the answer to INFO, if operations wait for it
 *
 * A master that Sentinels have named must also say that it is one (ROLE), before any operation is sent: the
 * address may be old. A link to a Sentinel (sentinels.h) opens with AUTH, the question and SUBSCRIBE.
 *
 * A link that only listens (listener.h) opens with AUTH, INFO, which must tell the same server, and
 * SUBSCRIBE. One for plain questions (src/asker.c) with AUTH and SELECT.
 */
#ifndef RL_NET_HANDSHAKE_H
#define RL_NET_HANDSHAKE_H

#include "net/link.h"

/* Puts the opening commands into link->setup. `waits`: no operation is sent before rl_handshake_pass().
 * False: out of memory. */
bool rl_handshake_begin(struct rl_link *link, bool waits);

/* Queues the opening commands of a link that listens to this channel. */
bool rl_handshake_listen(struct rl_link *link, const char *channel);

/* Queues the opening commands of a link for plain questions: AUTH and SELECT. */
bool rl_handshake_log_in(struct rl_link *link);

/* Queues the opening commands of a link to a Sentinel: where the master is, and to hear when it changes. And
 * asks that on an open one, which cannot be asked while it is subscribed. */
bool rl_handshake_resolve(struct rl_link *link, const char *master);
bool rl_handshake_resolve_again(struct rl_link *link, const char *master);

/* Queues ASKING: the request that is queued next may be executed where its hash slot is being moved to. */
bool rl_handshake_asking(struct rl_outbox *asked);

/* Some servers tell a client why they close on it, as the answer to whatever it asks first: whether this
 * error is such a one. */
bool rl_handshake_turns_away(const char *error);

/* Whether this is an answer to the command `setup` at all, and not to another one. */
bool rl_handshake_fits(enum rl_setup setup, const struct rl_reply *reply);

/* Takes the answer to `setup`, which fits, into link->facts. False: it breaks the connection. */
bool rl_handshake_take(struct rl_link *link, enum rl_setup setup, const struct rl_reply *reply);

/* The front of link->setup is done with. True: it was the last one. */
bool rl_handshake_done(struct rl_link *link, uint64_t now_ns);

/* Queues a look at the record (record.h). False: out of memory. */
bool rl_handshake_look(struct rl_link *link);

/* Whether the answer to a look shows that the node has no record. False: it shows a record, or is an error.
 */
bool rl_handshake_is_bare(const struct rl_reply *reply);

/* Ends that connection before any operation is sent. False: out of memory. */
bool rl_handshake_kill(struct rl_link *link, int64_t client_id);
void rl_handshake_pass(struct rl_link *link);

#endif
