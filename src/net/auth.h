/* SPDX-License-Identifier: MIT */
/*
 * Logging in: when a connection opens, and again on an open one when the credentials change.
 *
 * Redis from 7.2 on and Valkey 8 do not answer an AUTH that they refuse while replies of the connection are
 * unsent (addAuthErrReply() in their acl.c): each later answer would be taken for the one before it, and
 * somebody's release for a grant. So the second login is a barrier: all that was asked is answered when AUTH
 * is sent, nothing is sent until it is answered, and where no answer comes the connection ends. Requests wait
 * in the outbox meanwhile. The client lets one node do so at a time (credentials.c), and the others vote.
 */
#ifndef RL_NET_AUTH_H
#define RL_NET_AUTH_H

#include "net/link.h"

/* Appends the AUTH of the endpoint, if it logs in. False: out of memory. */
bool rl_auth_push(struct rl_outbox *outbox, const struct rl_endpoint *endpoint);

/* Whether an open connection is due to log in again, and begins to. The barrier comes down with
 * rl_auth_go_on(), and link->login is NONE again when it is over. */
bool rl_auth_is_due(const struct rl_link *link);
void rl_auth_begin(struct rl_link *link, uint64_t now_ns);

/* All that was asked is sent: nothing else is before the login. True: there is more to send now. */
bool rl_auth_go_on(struct rl_link *link);

/* Takes the answer to the AUTH of an open connection, which stays as the server left it. */
void rl_auth_answer(struct rl_link *link, const struct rl_reply *reply);

/* The login is over. */
void rl_auth_end(struct rl_link *link);

/* A login succeeded: an older one that was refused says nothing any more. */
void rl_auth_accepted(struct rl_link *link);

#endif
