/* SPDX-License-Identifier: MIT */
/*
 * One node: its connection, what it was asked, and what it owes us an answer to.
 *
 * Requests go in with rl_node_submit() and leave with rl_node_flush(); answers are pulled with
 * rl_node_next(), one for each request that was taken, also when the connection breaks. rl_node_ready() and
 * rl_node_tick() are told of the socket and of the time. Nothing here blocks or decides about locks.
 *
 * Debts. A release must never overtake its own SET: on one connection order is given. When a connection
 * breaks, its unanswered releases become debts. The next connection first kills the old one at the server
 * (CLIENT KILL ID), so that no SET that still waits in the server's buffer can be executed later, then pays
 * the debts. Where that is not possible, an answer "not there" proves nothing, and the key is counted as
 * lingering. Design guide section 3.
 *
 * A caller's own value may be used again. While a ghost with one stays, a SET of such a value that says YES
 * is no vote, and is given back: the ghost may be the release of an older claim, which would delete the key.
 */
#ifndef RL_NET_NODE_H
#define RL_NET_NODE_H

#include "core/vote.h"
#include "net/dial.h"
#include "net/outbox.h"
#include "net/resp.h"
#include "net/stream.h"
#include "net/url.h"
#include "os/poller.h"
#include "proto/method.h"
#include "proto/transaction.h"

enum rl_link {
	RL_LINK_DOWN,       /* no connection; the next one is made at retry_at_ns, or sooner on demand */
	RL_LINK_CONNECTING, /* or looking up its name, or in the TLS handshake: requests wait in the outbox */
	RL_LINK_OPEN,
	RL_LINK_BROKEN /* closed; what was not answered is being handed out by rl_node_next() */
};

#define RL_GHOSTS 4

/* A connection that broke with a SET unanswered, or what else must not be late: it may still sit in the
 * server's buffer. Ids begin at 1 in every server process, so that an id means nothing without the run_id. */
struct rl_ghost {
	int64_t client_id;
	char run_id[41];
};

struct rl_node {
	struct rl_endpoint endpoint;
	struct rl_poller *poller;
	uint32_t id; /* the node's number */
	struct rl_dial dial;

	struct rl_tls_context *tls; /* the client's; NULL: this node is not in TLS */
	struct rl_tls_peer tls_peer;

	enum rl_link link;
	struct rl_stream stream;
	uint32_t watch_id; /* of the stream in the poller */
	bool watching_write;
	struct rl_outbox outbox;
	uint64_t progress_ns; /* when the oldest request was queued, or bytes last came */

	struct rl_outbox setup; /* opening commands: on the wire before everything in the outbox */
	unsigned gate;          /* of these, how many must be answered before an operation may be sent */

	struct rl_methods methods;
	struct rl_outbox parked;           /* requests that wait for their turn in a transaction: talk.c */
	struct rl_transaction transaction; /* with the first of them */
	unsigned talk_resolved;            /* of these, how many have a vote that is to be handed out */
	unsigned talk_handed;
	unsigned talk_tries;                 /* of the first one, that ended with EXEC nil */
	enum redlock_vote_code talk_refused; /* the vote of those that are not in the transaction */
	uint64_t parked_popped;              /* BROKEN: entries of `parked` above this number were never sent */

	int64_t client_id; /* of this connection at the server; 0: unknown */
	bool run_id_known; /* on this connection */
	struct rl_ghost ghosts[RL_GHOSTS];
	unsigned ghost_count;
	bool ghost_stays;       /* there was one that could not be killed */
	bool ghost_own;         /* one of them has a value of the caller: it may be used again */
	uint64_t ghost_gone_ns; /* when it is presumed gone: some time after the server has answered again */
	bool left_ghost;        /* BROKEN: a SET, or the like, was sent and not answered */
	uint64_t first_unsent;  /* BROKEN: number of the first entry that was never sent; 0: all were */
	struct rl_outbox debts; /* releases for the next connection */
	unsigned lingering;

	unsigned failures;    /* connections in a row that did not work, see backoff.c */
	bool brief;           /* the last one opened and ended soon */
	bool new_credentials; /* since this connection logged in */
	bool login_holds;     /* a login waits for answers: nothing else is sent before it has its own */
	uint64_t login_by_ns; /* when that is given up; 0: none has begun */
	uint64_t opened_ns;   /* when the opening commands were answered */
	uint64_t retry_at_ns;
	uint64_t connect_by_ns;
	enum redlock_vote_code failure; /* the last one; PENDING: none yet */
	char failure_text[160];

	char run_id[41]; /* the server's identity; "": unknown */
	bool identified; /* set when run_id was learnt; whoever compares it with other nodes clears it */
	bool duplicate;  /* is the same server as another node: its votes do not count */

	struct rl_resp resp; /* the last: it ends with a large buffer */
};

struct rl_answer {
	struct rl_tag tag;
	unsigned operation;  /* as in its request */
	struct rl_vote vote; /* its texts are there until the next call */
};

/* The node owns what `endpoint` points to from now on. `tls` is used if the endpoint says so. Nothing is
 * sent. False: out of memory. */
bool rl_node_open(struct rl_node *node, const struct rl_endpoint *endpoint, struct rl_tls_context *tls,
                  struct rl_poller *poller, uint32_t id);

/* Closes in order if everything was sent, else abortively: what the kernel holds back must not be delivered
 * without the release behind it. A `child` process does not touch what it shares with its parent. */
void rl_node_close(struct rl_node *node, bool child);

/* Begins to connect. */
void rl_node_connect(struct rl_node *node, uint64_t now_ns);

/* Takes a request. PENDING: taken, an answer will follow. Anything else is the vote: the request was not
 * taken; an owed release has become a debt. */
enum redlock_vote_code rl_node_submit(struct rl_node *node, const struct rl_request *request,
                                      struct rl_wire *wire, uint64_t now_ns);

/* Sends what can be sent. */
void rl_node_flush(struct rl_node *node);

/* What the poller says: what is watched as `watch_id` is ready for `events` (RL_READABLE, RL_WRITABLE). The
 * node is the one with the number RL_WATCH_NODE(watch_id). */
void rl_node_ready(struct rl_node *node, uint32_t watch_id, uint32_t events, uint64_t now_ns);

/* Pulls the next answer. False: none at present. */
bool rl_node_next(struct rl_node *node, struct rl_answer *ret_answer, uint64_t now_ns);

/* When rl_node_tick() is due; UINT64_MAX: never. Reads that are possible come first: an answer that waits in
 * the socket is not a stall. */
uint64_t rl_node_deadline(const struct rl_node *node);
void rl_node_tick(struct rl_node *node, uint64_t now_ns);

/* Breaks the connection for a reason. */
#define RL_NO_TLS_ANSWER "no answer to the TLS handshake: a port without TLS needs redis://"

/* Connected in TLS, and nothing has come back so far. */
bool rl_node_hears_nothing_in_tls(const struct rl_node *node);

void rl_node_fail(struct rl_node *node, enum redlock_vote_code vote, const char *text);

/* Releases that must reach this node and have not been answered. */
unsigned rl_node_owed(const struct rl_node *node);

/* Whether something it was asked, or is owed, has not left. */
bool rl_node_has_unsent(const struct rl_node *node);

/* A SET of ours may still come, from a connection that could not be ended: until some time after the server
 * answers. */
void rl_node_ghost_stays(struct rl_node *node);

/* ---- backoff.c ---- */

/* A connection has ended: decides when the next one is made. To be called before node->setup is cleared. */
void rl_backoff_begin(struct rl_node *node, uint64_t now_ns);

/* There is no connection to be had: decides when the next is tried. */
void rl_backoff_again(struct rl_node *node, uint64_t now_ns);

/* ---- auth.c ---- */

/* Whether connections begin with AUTH. */
bool rl_endpoint_logs_in(const struct rl_endpoint *endpoint);

/* Appends the AUTH of the endpoint, if it logs in. False: out of memory. */
bool rl_auth_push(struct rl_outbox *outbox, const struct rl_endpoint *endpoint);

/* The endpoint has new credentials: an open connection is due to log in with them, and a node that refused
 * the old ones is tried again at once. */
void rl_auth_renew(struct rl_node *node, uint64_t now_ns);

/* Whether an open connection is due to log in again, and begins to. The barrier comes down in
 * rl_node_flush(), and node->login_by_ns is 0 again when it is over. */
bool rl_auth_is_due(const struct rl_node *node);
void rl_auth_begin(struct rl_node *node, uint64_t now_ns);

/* All that was asked is sent: nothing else is before the login. True: there is more to send now. */
bool rl_auth_go_on(struct rl_node *node);

/* Takes the answer to the AUTH of an open connection, which stays as the server left it. */
void rl_auth_answer(struct rl_node *node, const struct rl_reply *reply);

/* It is over, or the connection is. */
void rl_auth_end(struct rl_node *node);

/* A login succeeded: an older one that was refused says nothing any more. */
void rl_auth_accepted(struct rl_node *node);

/* ---- between node.c and link.c, which has the life of the connection ---- */

/* Notes why the node has no vote at present. What servers add behind a comma is left out. */
void rl_node_remember_failure(struct rl_node *node, enum redlock_vote_code vote, const char *text);

/* Watches the stream for reading, and for writing if `write`. Asked at every send, seldom something new. */
void rl_node_watch_again(struct rl_node *node, bool write);

static inline void rl_node_watch(struct rl_node *node, bool write)
{
	if (node->watching_write != write)
		rl_node_watch_again(node, write);
}

/* ---- node.c, for the others ---- */

/* Counts the answer to a request: what it says of the node, and of a key that was owed. `error`: what the
 * server said, NULL if it was no error. */
void rl_node_settle(struct rl_node *node, const struct rl_entry *entry, enum redlock_vote_code vote,
                    const char *error, uint64_t now_ns);

/* Keeps a release for the next connection, or counts its key as lingering. */
void rl_node_keep_debt(struct rl_node *node, const struct rl_entry *entry, struct rl_slice bytes);

/* The vote of what was asked on a connection that broke. */
enum redlock_vote_code rl_node_broken_vote(const struct rl_node *node, bool unsent);

/* Why nothing could be sent; `otherwise` if what is known leaves open whether something was executed. */
enum redlock_vote_code rl_node_unsent_vote(const struct rl_node *node, enum redlock_vote_code otherwise);

/* Whether operations may be sent on an open connection: neither opening commands nor a login come first. */
static inline bool rl_node_may_send(const struct rl_node *node)
{
	return node->gate == 0 && !node->login_holds;
}

/* Before a connection is open and its gate is, no operation has left on it. */
bool rl_node_may_have_sent(const struct rl_node *node);

/* ---- ask.c: requests, and the forms in which they are asked ---- */

/* The request that an entry stands for; its parts point into `bytes`. */
struct rl_request rl_ask_request(const struct rl_entry *entry, struct rl_slice bytes);

/* Asks for what an entry stands for, in this form, behind all that was asked before. False: out of memory. */
bool rl_ask_as(struct rl_node *node, const struct rl_entry *entry, const struct rl_request *request,
               enum rl_form form);

/* The reply, an error, refuses the form of the front entry, or does not know the script: asks again in
 * another one. False: the reply is the answer, or there is no memory. */
bool rl_ask_again(struct rl_node *node, const struct rl_entry *entry, const struct rl_reply *reply);

/* The front entry, a SET that nobody wants, has made its key: asks for the release. False: out of memory. */
bool rl_ask_to_give_back(struct rl_node *node, const struct rl_entry *set);

/* Puts the debts where they are asked for. They go behind the opening commands, which have ended the
 * connection that they come from. False: out of memory. */
bool rl_ask_debts(struct rl_node *node);

/* ---- talk.c: requests that need a transaction ---- */

/* Parks a request. False: out of memory. */
bool rl_talk_park(struct rl_node *node, const struct rl_entry *entry, struct rl_slice name,
                  struct rl_slice bytes);

/* Whether a request with this name would overtake a parked one. */
bool rl_talk_is_parked(const struct rl_node *node, struct rl_slice name);

/* Whether something is parked whose time has come. */
bool rl_talk_may_go_on(const struct rl_node *node);

/* Begins the next transaction, if it is time. */
void rl_talk_go_on(struct rl_node *node);

/* Takes a reply to a step. True: it was the last one. */
bool rl_talk_take(struct rl_node *node, const struct rl_reply *reply);

/* Pulls an answer that a transaction has given. False: none at present. */
bool rl_talk_next(struct rl_node *node, struct rl_answer *ret_answer, uint64_t now_ns);

/* The same once the connection is broken, for all that is parked. */
bool rl_talk_next_broken(struct rl_node *node, struct rl_answer *ret_answer);

/* Nothing is parked any more. */
void rl_talk_end(struct rl_node *node);

/* ---- handshake.c ---- */

/* Puts the opening commands into node->setup. False: out of memory. */
bool rl_handshake_begin(struct rl_node *node);

/* Whether this is an answer to the command `setup` at all, and not to another one. */
bool rl_handshake_fits(enum rl_setup setup, const struct rl_reply *reply);

/* Takes the answer to the opening command `setup`, which fits. */
void rl_handshake_answer(struct rl_node *node, enum rl_setup setup, const struct rl_reply *reply,
                         uint64_t now_ns);

#endif
