/* SPDX-License-Identifier: MIT */
/* The life of a node's connection: how it is made, what comes in, and what takes too long. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/quorum.h"
#include "net/node.h"

#define CONNECT_TIMEOUT_NS (3000 * RL_NS_PER_MS)
#define STALL_LIMIT_NS (5000 * RL_NS_PER_MS)

#define RECEIVE_BYTES 16384

#define TLS_ALERT 0x15 /* the first byte of one: never of a reply */

void rl_node_watch_again(struct rl_node *n, bool write)
{
	n->watching_write = write;
	int error =
	    rl_poller_watch(n->poller, n->stream.fd, n->watch_id, RL_READABLE | (write ? RL_WRITABLE : 0u), true);
	if (error < 0)
		rl_node_fail(n, n->link == RL_LINK_OPEN ? REDLOCK_VOTE_CLOSED : REDLOCK_VOTE_DOWN, strerror(-error));
}

/* ---- connecting ---- */

/* TLS that fails while the connection opens needs an operator, as the next one will fail in the same way.
 * Later it is a connection that was lost like any other: what was sent may have been executed. */
static void fail_stream(struct rl_node *n, ssize_t error, enum redlock_vote_code vote,
                        enum redlock_vote_code tls_vote)
{
	char text[sizeof n->failure_text];
	snprintf(text, sizeof text, "%s", rl_stream_error(&n->stream, error)); /* it ends with the stream */
	/* Our certificate: TLS 1.3 says so behind the handshake, and nothing was executed. */
	bool refused = error == -EKEYREJECTED;
	rl_node_fail(n, refused ? REDLOCK_VOTE_TLS : error == -EPROTO ? tls_vote : vote, text);
}

static void open_stream(struct rl_node *n, uint64_t now_ns)
{
	int error = rl_stream_go_on(&n->stream, n->tls, &n->tls_peer);
	if (error == -EAGAIN) {
		rl_node_watch(n, rl_stream_wants_write(&n->stream));
	} else if (error < 0) {
		fail_stream(n, error, REDLOCK_VOTE_DOWN, REDLOCK_VOTE_TLS);
	} else {
		n->link = RL_LINK_OPEN;
		n->progress_ns = now_ns;
	}
}

/* What became of a lookup or of connecting. */
static void take_news(struct rl_node *n, enum rl_dial_news news, uint64_t now_ns)
{
	if (news == RL_DIAL_CONNECTED) {
		n->stream.fd = rl_dial_take(&n->dial, &n->watch_id);
		n->watching_write = true;
		open_stream(n, now_ns);
	} else if (news == RL_DIAL_MOVED) {
		rl_node_fail(n, REDLOCK_VOTE_CLOSED, "its name has another address now");
	} else if (news == RL_DIAL_FOUND) {
		n->retry_at_ns = now_ns;
	} else if (news == RL_DIAL_FAILED && n->link == RL_LINK_CONNECTING) {
		rl_node_fail(n, n->dial.failure, n->dial.failure_text);
	} else if (news == RL_DIAL_FAILED) {
		rl_node_remember_failure(n, n->dial.failure, n->dial.failure_text);
		rl_backoff_again(n, now_ns);
	}
}

/* A plain server waits for the end of a line in what it takes for a command, and says nothing. */
bool rl_node_hears_nothing_in_tls(const struct rl_node *n)
{
	return n->link == RL_LINK_CONNECTING && n->stream.fd >= 0;
}

static void connect_timed_out(struct rl_node *n)
{
	if (n->stream.fd >= 0) {
		rl_node_fail(n, REDLOCK_VOTE_DOWN, RL_NO_TLS_ANSWER);
		return;
	}
	rl_dial_time_out(&n->dial);
	rl_node_fail(n, n->dial.failure, n->dial.failure_text);
}

void rl_node_connect(struct rl_node *n, uint64_t now_ns)
{
	if (n->link != RL_LINK_DOWN || !rl_dial_may_begin(&n->dial))
		return;
	rl_method_connect(&n->methods);
	n->link = RL_LINK_CONNECTING;
	n->connect_by_ns = rl_time_add(now_ns, CONNECT_TIMEOUT_NS);
	n->progress_ns = now_ns;
	rl_resp_close(&n->resp);
	if (!rl_resp_open(&n->resp) || !rl_handshake_begin(n) || !rl_ask_debts(n)) {
		rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
		return;
	}
	take_news(n, rl_dial_begin(&n->dial, now_ns), now_ns);
}

/* ---- what comes in ---- */

/* A plain connection to a host that ended before the first of the opening commands was answered: a server
 * that speaks TLS does so, whose alert may get lost with the end. */
static bool is_unheard(const struct rl_node *n)
{
	const struct rl_endpoint *e = &n->endpoint;
	const struct rl_entry *front = rl_outbox_front(&n->setup);
	enum rl_setup first = rl_endpoint_logs_in(e) ? RL_SETUP_AUTH
	                      : e->database != 0     ? RL_SETUP_SELECT
	                                             : RL_SETUP_ID;
	return n->tls == NULL && !e->is_unix && front != NULL && front->setup == first;
}

static void receive(struct rl_node *n, uint64_t now_ns)
{
	char bytes[RECEIVE_BYTES];
	ssize_t got = rl_stream_receive(&n->stream, bytes, sizeof bytes);
	if (got == -EAGAIN) {
		rl_node_watch(n, n->watching_write || rl_stream_wants_write(&n->stream));
		return;
	}
	bool ended = got == 0 || got == -ECONNRESET;
	if (ended && is_unheard(n))
		rl_node_fail(n, REDLOCK_VOTE_CLOSED, "closed without a word: a port with TLS needs rediss://");
	else if (got == 0)
		rl_node_fail(n, REDLOCK_VOTE_CLOSED, "connection closed by the server");
	else if (got > 0 && n->tls == NULL && bytes[0] == TLS_ALERT)
		rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "answers in TLS: use rediss:// for it");
	else if (got < 0)
		fail_stream(n, got, REDLOCK_VOTE_CLOSED, REDLOCK_VOTE_CLOSED);
	else if (!rl_resp_feed(&n->resp, bytes, (size_t)got))
		rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "the answer is not the Redis protocol");
	else
		n->progress_ns = now_ns;
}

void rl_node_ready(struct rl_node *n, uint32_t watch_id, uint32_t events, uint64_t now_ns)
{
	if (n->stream.fd < 0 || watch_id != n->watch_id)
		take_news(n, rl_dial_ready(&n->dial, watch_id, events, now_ns), now_ns);
	else if (n->link == RL_LINK_CONNECTING)
		open_stream(n, now_ns);
	else if (n->link == RL_LINK_OPEN && ((events & RL_READABLE) != 0 || rl_stream_wants_write(&n->stream)))
		receive(n, now_ns);
}

/* ---- time ---- */

uint64_t rl_node_deadline(const struct rl_node *n)
{
	switch (n->link) {
	case RL_LINK_DOWN:
		return rl_dial_may_begin(&n->dial) ? n->retry_at_ns : UINT64_MAX;
	case RL_LINK_CONNECTING:
		return rl_time_min(n->connect_by_ns, rl_dial_deadline(&n->dial));
	case RL_LINK_OPEN:
		if (n->login_by_ns != 0)
			return n->login_by_ns;
		return n->outbox.count + n->setup.count > 0 ? rl_time_add(n->progress_ns, STALL_LIMIT_NS)
		                                            : UINT64_MAX;
	case RL_LINK_BROKEN:
		return 0;
	}
	return UINT64_MAX;
}

void rl_node_tick(struct rl_node *n, uint64_t now_ns)
{
	if (now_ns < rl_node_deadline(n))
		return;
	if (n->link == RL_LINK_DOWN)
		rl_node_connect(n, now_ns);
	else if (n->link == RL_LINK_CONNECTING && now_ns < n->connect_by_ns)
		take_news(n, rl_dial_tick(&n->dial, now_ns), now_ns);
	else if (n->link == RL_LINK_CONNECTING)
		connect_timed_out(n);
	else if (n->link == RL_LINK_OPEN)
		rl_node_fail(n, REDLOCK_VOTE_CLOSED, "no answer for 5 seconds");
}
