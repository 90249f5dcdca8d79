/* SPDX-License-Identifier: MIT */
/*
 * One connection to a server: how it is made, what is sent and read on it in which order, and when it is made
 * again. A link knows no locks and no votes but the one that says why there is no connection: its owner
 * queues entries in `outbox` and takes a reply to each, in order.
 *
 *     rl_link_open()                       nothing is sent
 *     rl_link_begin()                      then the opening commands: handshake.h; then rl_link_dial()
 *     rl_link_ready(), rl_link_tick()      when the poller or the time says so
 *     rl_link_send()                       what is queued, as far as it may leave and the socket takes it
 *     rl_link_next()                       a reply and the entry that it answers, until there is none
 *     rl_link_end()                        when it is BROKEN, and its owner has taken what was not answered
 *
 * Calls go one way: node.c -> listener.c -> handshake.c -> auth.c -> link.c -> dial.c, tls.c, resp.c,
 * outbox.c, backoff.c. A node has one link for what it asks, and while somebody waits there one more for what
 * the server says unasked (listener.h), with the other one of the node's two numbers in the poller (dial.h).
 */
#ifndef RL_NET_LINK_H
#define RL_NET_LINK_H

#include "net/backoff.h"
#include "net/dial.h"
#include "net/facts.h"
#include "net/outbox.h"
#include "net/resp.h"
#include "net/tls.h"
#include "net/url.h"
#include "os/poller.h"

enum rl_link_state {
	RL_LINK_DOWN,       /* no connection; the next one is made at retry_at_ns, or sooner on demand */
	RL_LINK_CONNECTING, /* or looking up its name, or in the TLS handshake: requests wait in the outbox */
	RL_LINK_OPEN,
	RL_LINK_BROKEN /* closed; its owner takes what was not answered */
};

/* A connection as a stream of bytes, plain or in TLS. */
struct rl_stream {
	int fd;             /* connected; -1: none */
	struct rl_tls *tls; /* NULL: plain */
};

/* A new login on an open connection (auth.h). */
enum rl_login {
	RL_LOGIN_NONE,
	RL_LOGIN_BEGUN, /* what was asked is still sent */
	RL_LOGIN_HOLDS  /* nothing else is sent before it has its answer */
};

struct rl_link {
	enum rl_link_state state;
	struct rl_endpoint endpoint;
	struct rl_poller *poller;
	struct rl_dial dial;
	struct rl_tls_context *tls; /* the client's; NULL: not in TLS */
	struct rl_tls_peer tls_peer;

	struct rl_stream stream;
	uint32_t watch_id; /* of the stream in the poller */
	bool watching_write;
	struct rl_outbox outbox;
	uint64_t progress_ns; /* when the oldest request was queued, or bytes last came */

	struct rl_outbox setup; /* opening commands: on the wire before everything in the outbox */
	bool kept;              /* rl_link_next() tells the last reply again */
	unsigned gate;          /* of these, how many must be answered before an operation may be sent */
	struct rl_facts facts;

	bool in_cluster;      /* only a member of a Redis Cluster may vote here */
	bool new_credentials; /* since this connection logged in */
	enum rl_login login;
	uint64_t login_by_ns; /* when that is given up */

	struct rl_backoff backoff;
	uint64_t begun_ns;              /* when it was begun: its address led to this server at some time since */
	uint64_t opened_ns;             /* when the opening commands were answered */
	enum redlock_vote_code failure; /* the last one; PENDING: none yet */
	char failure_text[160];
	uint64_t connects; /* counters: connections that opened, tries that did not, connections that broke */
	uint64_t failures;
	uint64_t losses;

	struct rl_resp resp; /* the last: it ends with a large buffer */
};

/* The link owns what `endpoint` points to from now on. `tls` is used if the endpoint says so; `number` is the
 * link's in the poller. False: out of memory. */
bool rl_link_open(struct rl_link *link, const struct rl_endpoint *endpoint, struct rl_tls_context *tls,
                  struct rl_poller *poller, uint32_t number);

/* Closes in order if everything was sent, else abortively: the kernel must not deliver buffered bytes without
 * those that were queued after them. A `child` process does not touch what it shares with its parent. */
void rl_link_close(struct rl_link *link, bool child);

/* Begins to connect: from now on requests can be queued. False: it cannot, or need not, or has failed. */
bool rl_link_begin(struct rl_link *link, uint64_t now_ns);
void rl_link_dial(struct rl_link *link, uint64_t now_ns);

/* Takes the address of a Sentinel's master, as an answer to a question of `asked_ns` told it. */
void rl_link_found(struct rl_link *link, const struct rl_lookup_result *result, uint64_t asked_ns,
                   uint64_t now_ns);

/* The poller reports that the descriptor watched as `watch_id` is ready for `events`. */
void rl_link_ready(struct rl_link *link, uint32_t watch_id, uint32_t events, uint64_t now_ns);

/* When rl_link_tick() is due; UINT64_MAX: never. To be called when it is; true: it is time to connect. */
uint64_t rl_link_deadline(const struct rl_link *link);
bool rl_link_tick(struct rl_link *link, uint64_t now_ns);

/* Sends what may be sent now, opening commands first, and waits for room in the stream if not all of it
 * leaves. Whether all of it has left. */
bool rl_link_send(struct rl_link *link);

/* Whether something may be sent now and has not left. */
bool rl_link_has_unsent(const struct rl_link *link);

/* The next reply, and the entry that it answers: the front of `setup`, and when that is empty of `outbox`. It
 * stays there; the reply until the next call. NULL: none at present, or it has just broken. */
const struct rl_entry *rl_link_next(struct rl_link *link, const struct rl_reply **ret_reply);

/* The reply that rl_link_next() told last, to an entry of the outbox, is told again by the next call. Until
 * then the server has not stalled. */
static inline void rl_link_keep(struct rl_link *link)
{
	link->kept = true;
}

/* The next reply of a server that speaks unasked, whatever it answers. NULL as above. */
const struct rl_reply *rl_link_hear(struct rl_link *link);

/* Breaks the connection for a reason. One such reason is an answer that no server gives to the request: it
 * belongs to another request, and all later answers would be matched wrongly too. */
void rl_link_fail(struct rl_link *link, enum redlock_vote_code vote, const char *text);

/* As rl_link_fail(), for reasons that come up in several places: this is not the Redis protocol; out of
 * memory. */
void rl_link_fail_protocol(struct rl_link *link);
void rl_link_fail_memory(struct rl_link *link);

/* Notes why there is no vote at present, as far as it may be shown (rl_reply_shown_length()). */
void rl_link_remember(struct rl_link *link, enum redlock_vote_code vote, const char *text);

/* Leaves an open connection on which nothing is under way: DOWN, for rl_link_begin(). The queue stays. */
void rl_link_leave(struct rl_link *link);

/* BROKEN: everything that was queued is taken out. `needed`: somebody waits for the next connection. */
void rl_link_end(struct rl_link *link, bool needed, uint64_t now_ns);

/* Connected in TLS, nothing has come back so far, and no earlier handshake has said why. */
#define RL_NO_TLS_ANSWER "no answer to the TLS handshake; a server without TLS has redis:// for it"
bool rl_link_hears_nothing_in_tls(const struct rl_link *link);

/* Why the last connection or login failed; "": nothing has failed since the last login. */
static inline const char *rl_link_trouble(const struct rl_link *link)
{
	return rl_link_hears_nothing_in_tls(link) ? RL_NO_TLS_ANSWER : link->failure_text;
}

#endif
