/* SPDX-License-Identifier: MIT */
#include "net/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/time.h"

#define CONNECT_TIMEOUT_NS (3000 * RL_NS_PER_MS)
#define STALL_LIMIT_NS (5000 * RL_NS_PER_MS)

/* ---- the stream: plain or in TLS ---- */

/* Opens a stream over a socket that is connected, and goes on with it when the socket is ready: the
 * handshake, if there is a `context`. 0: the stream is open; -EAGAIN: not yet; else an error, of which
 * error_of() tells more. */
static int go_on(struct rl_stream *s, struct rl_tls_context *context, struct rl_tls_peer *peer)
{
	if (context == NULL)
		return 0;
	if (s->tls == NULL)
		s->tls = rl_tls_new(context, peer, s->fd);
	return s->tls != NULL ? rl_tls_handshake(s->tls) : -ENOMEM;
}

/* Which readiness the stream waits for, besides what its user wants to send: while it is opened, and when TLS
 * has to write before it can read. */
static bool wants_write(const struct rl_stream *s)
{
	return s->tls != NULL ? rl_tls_wants_write(s->tls) : false;
}

/* A sentence for a negative result. */
static const char *error_of(const struct rl_stream *s, ssize_t error)
{
	bool of_tls = error == -EPROTO || error == -EKEYREJECTED || error == -EPROTONOSUPPORT;
	return s->tls != NULL && of_tls ? rl_tls_error(s->tls) : strerror((int)-error);
}

static void forget_stream(struct rl_stream *s, bool orderly)
{
	rl_tls_free(s->tls, orderly);
	*s = (struct rl_stream){.fd = -1};
}

/* Three ways to close: in order; abortively, so that what the kernel has not sent yet is dropped; and in a
 * child process, without a word to the server. */
static void close_stream(struct rl_stream *s)
{
	int fd = s->fd;
	forget_stream(s, true);
	if (fd >= 0)
		rl_socket_close(fd);
}

static void abort_stream(struct rl_stream *s)
{
	int fd = s->fd;
	forget_stream(s, false);
	if (fd >= 0)
		rl_socket_abort(fd);
}

static void leave_stream(struct rl_stream *s)
{
	int fd = s->fd;
	forget_stream(s, false);
	if (fd >= 0)
		rl_socket_close(fd);
}

/* ---- life ---- */

void rl_link_remember(struct rl_link *l, enum redlock_vote_code vote, const char *text)
{
	l->failure = vote;
	snprintf(l->failure_text, sizeof l->failure_text, "%.*s", rl_reply_shown_length(text), text);
}

bool rl_link_open(struct rl_link *l, const struct rl_endpoint *endpoint, struct rl_tls_context *tls,
                  struct rl_poller *poller, uint32_t number)
{
	/* All but the buffers at its end, of which a short-lived client touches few pages. */
	memset(l, 0, offsetof(struct rl_link, resp.arena));
	l->endpoint = *endpoint;
	l->poller = poller;
	l->stream.fd = -1;
	l->tls = endpoint->tls ? tls : NULL;
	l->tls_peer.host = l->endpoint.host;
	rl_dial_open(&l->dial, &l->endpoint, poller, number);
	if (l->dial.failure != REDLOCK_VOTE_PENDING)
		rl_link_remember(l, l->dial.failure, l->dial.failure_text);
	return rl_resp_open(&l->resp);
}

void rl_link_close(struct rl_link *l, bool child)
{
	bool held_back = rl_outbox_unsent(&l->outbox).size > 0;
	if (child)
		leave_stream(&l->stream);
	else if (held_back)
		abort_stream(&l->stream);
	else
		close_stream(&l->stream);
	rl_dial_close(&l->dial, child);
	rl_tls_peer_free(&l->tls_peer);
	rl_resp_close(&l->resp);
	rl_outbox_free(&l->setup);
	rl_outbox_free(&l->outbox);
	rl_url_free(&l->endpoint);
}

/* Whether the opening commands of this connection have been answered. */
static bool has_opened(const struct rl_link *l)
{
	return l->setup.count == 0 || l->login != RL_LOGIN_NONE;
}

void rl_link_fail(struct rl_link *l, enum redlock_vote_code vote, const char *text)
{
	if (l->state == RL_LINK_BROKEN)
		return;
	rl_link_remember(l, vote, text);
	*(l->state == RL_LINK_OPEN && has_opened(l) ? &l->losses : &l->failures) += 1;
	/* Abortively: a SET that the kernel still holds back must not be delivered later. */
	if (l->stream.fd >= 0)
		rl_poller_forget(l->poller, l->stream.fd);
	abort_stream(&l->stream);
	rl_dial_end(&l->dial);
	l->watching_write = l->kept = false;
	l->state = RL_LINK_BROKEN;
}

void rl_link_leave(struct rl_link *l)
{
	rl_poller_forget(l->poller, l->stream.fd);
	close_stream(&l->stream);
	rl_dial_end(&l->dial);
	l->dial.looked_ns = 0; /* its name is looked up, too */
	rl_outbox_clear(&l->setup);
	l->login = RL_LOGIN_NONE;
	l->watching_write = false;
	l->state = RL_LINK_DOWN;
}

void rl_link_fail_protocol(struct rl_link *l)
{
	rl_link_fail(l, REDLOCK_VOTE_GARBAGE, "the answer is not the Redis protocol");
}

void rl_link_fail_memory(struct rl_link *l)
{
	rl_link_fail(l, REDLOCK_VOTE_DOWN, "out of memory");
}

void rl_link_end(struct rl_link *l, bool needed, uint64_t now_ns)
{
	rl_backoff_begin(&l->backoff, has_opened(l) ? l->opened_ns : UINT64_MAX, needed, now_ns);
	if (l->failure == REDLOCK_VOTE_AUTH && l->new_credentials)
		rl_backoff_forgive(&l->backoff, now_ns); /* it was refused with the old ones */
	rl_outbox_clear(&l->setup);
	l->login = RL_LOGIN_NONE;
	l->state = RL_LINK_DOWN;
}

/* Watches the stream for reading, and for writing if `write`. */
static void watch(struct rl_link *l, bool write)
{
	if (l->watching_write == write)
		return; /* nearly always */
	l->watching_write = write;
	int error =
	    rl_poller_watch(l->poller, l->stream.fd, l->watch_id, RL_READABLE | (write ? RL_WRITABLE : 0u), true);
	if (error < 0)
		rl_link_fail(l, l->state == RL_LINK_OPEN ? REDLOCK_VOTE_CLOSED : REDLOCK_VOTE_DOWN, strerror(-error));
}

/* ---- connecting ---- */

/* TLS that fails while the connection opens needs an operator, as the next one will fail in the same way.
 * Later it is a connection that was lost like any other: what was sent may have been executed. */
static void fail_stream(struct rl_link *l, ssize_t error, enum redlock_vote_code vote,
                        enum redlock_vote_code tls_vote)
{
	char text[sizeof l->failure_text];
	snprintf(text, sizeof text, "%s", error_of(&l->stream, error)); /* it ends with the stream */
	/* The server refused our certificate: TLS 1.3 reports that after the handshake, and nothing was executed.
	 */
	bool refused = error == -EKEYREJECTED;
	bool plain = error == -EPROTONOSUPPORT && l->state == RL_LINK_CONNECTING;
	rl_link_fail(l,
	             plain              ? REDLOCK_VOTE_SERVICE
	             : refused          ? REDLOCK_VOTE_TLS
	             : error == -EPROTO ? tls_vote
	                                : vote,
	             text);
}

static void open_stream(struct rl_link *l, uint64_t now_ns)
{
	int error = go_on(&l->stream, l->tls, &l->tls_peer);
	if (error == -EAGAIN) {
		watch(l, wants_write(&l->stream));
	} else if (error < 0) {
		fail_stream(l, error, REDLOCK_VOTE_DOWN, REDLOCK_VOTE_TLS);
	} else {
		l->state = RL_LINK_OPEN;
		l->progress_ns = now_ns;
	}
}

/* Takes the result of a lookup or of connecting. */
static void take_news(struct rl_link *l, enum rl_dial_news news, uint64_t now_ns)
{
	if (news == RL_DIAL_CONNECTED) {
		l->stream.fd = rl_dial_take(&l->dial, &l->watch_id);
		l->watching_write = true;
		open_stream(l, now_ns);
	} else if (news == RL_DIAL_MOVED) {
		rl_link_fail(l, REDLOCK_VOTE_CLOSED,
		             l->endpoint.master != NULL ? "the Sentinels name another master now"
		                                        : "its name has another address now");
	} else if (news == RL_DIAL_FOUND) {
		l->backoff.retry_at_ns = now_ns;
	} else if (news == RL_DIAL_FAILED && l->state == RL_LINK_CONNECTING) {
		rl_link_fail(l, l->dial.failure, l->dial.failure_text);
	} else if (news == RL_DIAL_FAILED) {
		rl_link_remember(l, l->dial.failure, l->dial.failure_text);
		rl_backoff_again(&l->backoff, now_ns);
	}
}

/* A plain server waits for the end of a line in what it takes for a command, and says nothing. */
bool rl_link_hears_nothing_in_tls(const struct rl_link *l)
{
	return l->state == RL_LINK_CONNECTING && l->stream.fd >= 0 && l->failure != REDLOCK_VOTE_TLS;
}

static void connect_timed_out(struct rl_link *l)
{
	if (l->stream.fd >= 0) {
		rl_link_fail(l, REDLOCK_VOTE_DOWN, RL_NO_TLS_ANSWER);
		return;
	}
	rl_dial_time_out(&l->dial);
	rl_link_fail(l, l->dial.failure, l->dial.failure_text);
}

bool rl_link_begin(struct rl_link *l, uint64_t now_ns)
{
	if (l->state != RL_LINK_DOWN || !rl_dial_may_begin(&l->dial))
		return false;
	l->state = RL_LINK_CONNECTING;
	l->begun_ns = l->progress_ns = now_ns;
	rl_resp_close(&l->resp);
	if (!rl_resp_open(&l->resp))
		rl_link_fail_memory(l);
	return l->state == RL_LINK_CONNECTING;
}

void rl_link_dial(struct rl_link *l, uint64_t now_ns)
{
	take_news(l, rl_dial_begin(&l->dial, now_ns), now_ns);
}

void rl_link_found(struct rl_link *l, const struct rl_lookup_result *result, uint64_t asked_ns,
                   uint64_t now_ns)
{
	take_news(l, rl_dial_found(&l->dial, result, asked_ns, now_ns), now_ns);
}

/* ---- sending ---- */

/* Sends what it can of one outbox; `more` follows. Returns whether all of it is sent. An error is not acted
 * on: the socket is then readable, and what the server said before it closed comes first. */
static bool send_from(struct rl_link *l, struct rl_outbox *outbox, bool more)
{
	struct rl_slice unsent = rl_outbox_unsent(outbox);
	if (unsent.size == 0)
		return true;
	const struct rl_stream *s = &l->stream;
	ssize_t sent = s->tls != NULL ? rl_tls_send(s->tls, unsent.bytes, unsent.size)
	                              : rl_socket_send(s->fd, unsent.bytes, unsent.size, more);
	size_t moved = sent > 0 ? (size_t)sent : 0;
	rl_outbox_sent(outbox, moved);
	return moved == unsent.size;
}

/* Whether requests are to be sent: neither opening commands nor a login come first. */
static bool has_unsent_requests(const struct rl_link *l)
{
	return l->gate == 0 && l->login != RL_LOGIN_HOLDS && rl_outbox_unsent(&l->outbox).size > 0;
}

bool rl_link_has_unsent(const struct rl_link *l)
{
	return rl_outbox_unsent(&l->setup).size > 0 || has_unsent_requests(l);
}

bool rl_link_send(struct rl_link *l)
{
	bool both = has_unsent_requests(l);
	bool all =
	    (l->setup.count == 0 || send_from(l, &l->setup, both)) && (!both || send_from(l, &l->outbox, false));
	watch(l, !all || wants_write(&l->stream));
	return all && l->state == RL_LINK_OPEN;
}

/* ---- what comes in ---- */

/* Whether the first of the opening commands has no answer yet. */
static bool is_unheard(const struct rl_link *l)
{
	const struct rl_entry *front = rl_outbox_front(&l->setup);
	enum rl_setup first = rl_url_logs_in(&l->endpoint) ? RL_SETUP_AUTH
	                      : l->endpoint.database != 0  ? RL_SETUP_SELECT
	                                                   : RL_SETUP_ID;
	return front != NULL && front->setup == first;
}

/* Recognises, by its first bytes, a peer that is no Redis server, and so has executed nothing. NULL: not
 * recognised. */
static const char *other_service(const struct rl_link *l, const char *bytes, size_t size)
{
	static const struct {
		const char *begin, *text;
	} others[] = {
	    {"\x15", "speaks TLS: use rediss:// for it"}, /* an alert */
	    {"HTTP/", "speaks HTTP"},
	    {"<", "speaks HTTP"}, /* a page without a header: to what is no request */
	};
	for (size_t i = 0; is_unheard(l) && i < sizeof others / sizeof others[0]; i++)
		if (size >= strlen(others[i].begin) && memcmp(bytes, others[i].begin, strlen(others[i].begin)) == 0)
			return others[i].text;
	return NULL;
}

/* A server that speaks TLS ends a plain connection so: its alert may be lost with the end. */
static bool ends_unheard(const struct rl_link *l, ssize_t got)
{
	bool ended = got == 0 || got == -ECONNRESET;
	return ended && l->tls == NULL && !l->endpoint.is_unix && is_unheard(l);
}

static void receive(struct rl_link *l, uint64_t now_ns)
{
	char *bytes = rl_resp_room(&l->resp);
	if (bytes == NULL) {
		rl_link_fail_protocol(l);
		return;
	}
	const struct rl_stream *s = &l->stream;
	ssize_t got = s->tls != NULL ? rl_tls_receive(s->tls, bytes, RL_RESP_ROOM)
	                             : rl_socket_receive(s->fd, bytes, RL_RESP_ROOM);
	if (got == -EAGAIN) {
		watch(l, l->watching_write || wants_write(&l->stream));
		return;
	}
	bool opens = l->setup.count > 0;
	const char *other = opens && got > 0 ? other_service(l, bytes, (size_t)got) : NULL;
	if (other != NULL)
		rl_link_fail(l, REDLOCK_VOTE_SERVICE, other);
	else if (opens && ends_unheard(l, got))
		rl_link_fail(l, REDLOCK_VOTE_CLOSED, "closed without a word: a port with TLS does so");
	else if (got == 0)
		rl_link_fail(l, REDLOCK_VOTE_CLOSED, "connection closed by the server");
	else if (got < 0)
		fail_stream(l, got, REDLOCK_VOTE_CLOSED, REDLOCK_VOTE_CLOSED);
	else if (!rl_resp_received(&l->resp, (size_t)got))
		rl_link_fail_protocol(l);
	else
		l->progress_ns = now_ns;
}

void rl_link_ready(struct rl_link *l, uint32_t watch_id, uint32_t events, uint64_t now_ns)
{
	if (l->stream.fd < 0 || watch_id != l->watch_id)
		take_news(l, rl_dial_ready(&l->dial, watch_id, events, now_ns), now_ns);
	else if (l->state == RL_LINK_CONNECTING)
		open_stream(l, now_ns);
	else if (l->state == RL_LINK_OPEN && ((events & RL_READABLE) != 0 || wants_write(&l->stream)))
		receive(l, now_ns);
}

/* CLIENT UNBLOCK says so to a request that waits for the end of CLIENT PAUSE, and Redis 7.0 executes and
 * answers it even so, later: a second answer, which would be taken for that to the next request. */
static bool announces_another(const char *error)
{
	static const char unblocked[] = "UNBLOCKED ";
	return strncmp(error, unblocked, sizeof unblocked - 1) == 0;
}

/* Whether an answer to this opening command may have arrays inside. */
static bool is_nested(const struct rl_entry *command)
{
	return command->setup == RL_SETUP_PROBE || command->setup == RL_SETUP_ROLE;
}

const struct rl_entry *rl_link_next(struct rl_link *l, const struct rl_reply **ret_reply)
{
	if (l->kept) {
		l->kept = false;
		*ret_reply = &l->resp.reply;
		return rl_outbox_front(&l->outbox);
	}
	bool opening = l->setup.count > 0;
	l->resp.nested = opening && is_nested(rl_outbox_front(&l->setup));
	int got = rl_resp_next(&l->resp, ret_reply);
	if (got == 0)
		return NULL;
	const struct rl_entry *front = got > 0 ? rl_outbox_answerable(opening ? &l->setup : &l->outbox) : NULL;
	if (front == NULL)
		rl_link_fail_protocol(l);
	else if ((*ret_reply)->value.type == RL_REPLY_ERROR && announces_another((*ret_reply)->value.text))
		rl_link_fail(l, REDLOCK_VOTE_GARBAGE, (*ret_reply)->value.text);
	else
		return front;
	return NULL;
}

const struct rl_reply *rl_link_hear(struct rl_link *l)
{
	const struct rl_reply *reply;
	l->resp.nested = false;
	int got = rl_resp_next(&l->resp, &reply);
	if (got < 0)
		rl_link_fail_protocol(l);
	return got > 0 ? reply : NULL;
}

/* ---- time ---- */

static uint64_t connect_by(const struct rl_link *l)
{
	return rl_time_add(l->begun_ns, CONNECT_TIMEOUT_NS);
}

uint64_t rl_link_deadline(const struct rl_link *l)
{
	switch (l->state) {
	case RL_LINK_DOWN:
		return rl_dial_may_begin(&l->dial) ? l->backoff.retry_at_ns : UINT64_MAX;
	case RL_LINK_CONNECTING:
		return rl_time_min(connect_by(l), rl_dial_deadline(&l->dial));
	case RL_LINK_OPEN:
		if (l->login != RL_LOGIN_NONE)
			return l->login_by_ns;
		return l->outbox.count + l->setup.count > 0 ? rl_time_add(l->progress_ns, STALL_LIMIT_NS)
		                                            : UINT64_MAX;
	case RL_LINK_BROKEN:
		return 0;
	}
	return UINT64_MAX;
}

bool rl_link_tick(struct rl_link *l, uint64_t now_ns)
{
	if (l->state == RL_LINK_CONNECTING && now_ns < connect_by(l))
		take_news(l, rl_dial_tick(&l->dial, now_ns), now_ns);
	else if (l->state == RL_LINK_CONNECTING)
		connect_timed_out(l);
	else if (l->state == RL_LINK_OPEN && l->kept)
		l->progress_ns = now_ns; /* it has answered, but its owner does not take that yet */
	else if (l->state == RL_LINK_OPEN && l->gate > 0 && l->setup.count == 0 &&
	         rl_outbox_front_unsent(&l->outbox))
		l->progress_ns = now_ns; /* nothing was asked: its owner holds that back */
	else if (l->state == RL_LINK_OPEN)
		rl_link_fail(l, REDLOCK_VOTE_TIMEOUT, "no answer for 5 seconds");
	else
		return l->state == RL_LINK_DOWN;
	return false;
}
