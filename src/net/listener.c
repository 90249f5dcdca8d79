/* SPDX-License-Identifier: MIT */
#include "net/listener.h"

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "net/handshake.h"
#include "proto/command.h"

#define QUIET_NS (5000 * RL_NS_PER_MS)
#define ANSWER_NS (1000 * RL_NS_PER_MS)

/* ---- life ---- */

struct rl_listener *rl_listener_new(const struct rl_link *asking, uint32_t watch_id, const char *channel)
{
	size_t size = strlen(channel);
	struct rl_listener *l = malloc(sizeof *l);
	if (l == NULL || size >= sizeof l->channel) {
		free(l);
		return NULL;
	}
	memset(l, 0, offsetof(struct rl_listener, link));
	l->asking = asking;
	memcpy(l->channel, channel, size + 1);
	if (!rl_link_open(&l->link, &asking->endpoint, asking->tls, asking->poller, watch_id)) {
		rl_listener_free(l, false);
		return NULL;
	}
	l->link.dial.by_name = false; /* it is told the address */
	return l;
}

void rl_listener_free(struct rl_listener *l, bool child)
{
	if (l == NULL)
		return;
	l->link.endpoint = (struct rl_endpoint){0}; /* it is not its own */
	rl_link_close(&l->link, child);
	free(l);
}

/* A link that has broken is down until it is made again. */
static void settle(struct rl_listener *l, uint64_t now_ns)
{
	if (l->link.state != RL_LINK_BROKEN)
		return;
	l->stands = false;
	rl_outbox_clear(&l->link.outbox);
	rl_link_end(&l->link, true, now_ns);
}

void rl_listener_end(struct rl_listener *l, uint64_t now_ns)
{
	if (l->link.state != RL_LINK_DOWN)
		rl_link_fail(&l->link, REDLOCK_VOTE_CLOSED, "it is not needed any more");
	settle(l, now_ns);
}

/* ---- which server ---- */

static bool is_known(const struct rl_link *asking)
{
	return asking->state == RL_LINK_OPEN && asking->facts.run_id_known;
}

static bool is_same_server(const struct rl_listener *l)
{
	const struct rl_facts *there = &l->asking->facts;
	const struct rl_facts *here = &l->link.facts;
	return there->run_id_known && here->run_id_known && strcmp(there->run_id, here->run_id) == 0;
}

bool rl_listener_hears(const struct rl_listener *l)
{
	return l->stands && is_known(l->asking) && is_same_server(l);
}

void rl_listener_begin(struct rl_listener *l, uint64_t now_ns)
{
	struct rl_link *link = &l->link;
	bool waits = link->backoff.failures > 0 && now_ns < link->backoff.retry_at_ns;
	if (link->state != RL_LINK_DOWN || waits || !is_known(l->asking))
		return;
	link->endpoint = l->asking->endpoint; /* its credentials may be new */
	link->tls_peer.host = l->asking->tls_peer.host;
	link->dial.known = (struct rl_addresses){.count = 1, .list = {l->asking->dial.peer}};
	if (rl_link_begin(link, now_ns)) {
		if (rl_handshake_listen(link, l->channel))
			rl_link_dial(link, now_ns);
		else
			rl_link_fail_memory(link);
	}
	settle(l, now_ns);
}

void rl_listener_renew(struct rl_listener *l, uint64_t now_ns)
{
	rl_listener_end(l, now_ns);
	l->no_keys = false; /* for the credentials, or the server, before */
	rl_backoff_forgive(&l->link.backoff, now_ns);
	rl_listener_begin(l, now_ns);
}

/* A link that is still opening is compared when it has been told. */
void rl_listener_meet(struct rl_listener *l, uint64_t now_ns)
{
	if (l->stands && !is_same_server(l))
		rl_listener_renew(l, now_ns);
	else
		rl_listener_begin(l, now_ns);
}

/* ---- what it says ---- */

static void flush(struct rl_listener *l)
{
	struct rl_link *link = &l->link;
	if (link->state != RL_LINK_OPEN)
		return;
	(void)rl_link_send(link);
}

/* A PING, or what `setup` says. */
static void ask(struct rl_listener *l, enum rl_setup setup, struct rl_slice command, uint64_t now_ns)
{
	const struct rl_entry entry = {.setup = (uint8_t)setup};
	if (l->link.outbox.count == 0)
		l->asked_ns = now_ns;
	if (rl_outbox_push(&l->link.outbox, &entry, command))
		flush(l);
	else
		rl_link_fail_memory(&l->link);
}

bool rl_listener_follow(struct rl_listener *l, struct rl_slice key, bool follow, uint64_t now_ns)
{
	char text[RL_HEARD_CHANNEL];
	struct rl_buffer command = {0};
	struct rl_slice channel = rl_heard_channel(text, l->link.endpoint.database, key);
	const struct rl_slice words[] = {rl_slice_of(follow ? "SUBSCRIBE" : "UNSUBSCRIBE"), channel};
	bool may = l->stands && l->link.state == RL_LINK_OPEN && !l->no_keys && channel.size > 0 &&
	           rl_command_write(&command, words, 2);
	if (may)
		ask(l, follow ? RL_SETUP_SUBSCRIBE : RL_SETUP_UNSUBSCRIBE,
		    (struct rl_slice){command.bytes, command.size}, now_ns);
	rl_buffer_free(&command);
	return may;
}

/* ---- what it hears ---- */

static bool is_text(const struct rl_reply_value *v, const char *text)
{
	size_t size = strlen(text);
	return v->type == RL_REPLY_STRING && v->kept == size && v->length == size &&
	       memcmp(v->text, text, size) == 0;
}

/* ["subscribe", channel, 1] and ["message", channel, "17"]. */
static bool is_about(const struct rl_listener *l, const struct rl_reply *r, const char *word)
{
	return r->value.type == RL_REPLY_ARRAY && r->count == 3 && is_text(&r->items[0], word) &&
	       is_text(&r->items[1], l->channel);
}

static bool is_confirmed(const struct rl_listener *l, const struct rl_reply *r)
{
	return is_about(l, r, "subscribe") && r->items[2].type == RL_REPLY_INTEGER && r->items[2].integer == 1;
}

static bool is_pong(const struct rl_reply *r)
{
	return r->value.type == RL_REPLY_ARRAY && r->count == 2 && is_text(&r->items[0], "pong") &&
	       is_text(&r->items[1], "");
}

static bool ends_with(struct rl_slice all, struct rl_slice end)
{
	return all.size >= end.size && memcmp(all.bytes + all.size - end.size, end.bytes, end.size) == 0;
}

/* ["subscribe", channel, 2], which is the last word of what was asked. */
static bool is_done(const struct rl_outbox *asked, const char *word, const struct rl_reply *r)
{
	struct rl_slice command = rl_outbox_front_bytes(asked);
	command.size -= 2;
	return r->value.type == RL_REPLY_ARRAY && r->count == 3 && is_text(&r->items[0], word) &&
	       r->items[1].type == RL_REPLY_STRING && r->items[2].type == RL_REPLY_INTEGER &&
	       ends_with(command, (struct rl_slice){r->items[1].text, r->items[1].kept});
}

/* To what was asked first. A server that refuses the PING is there all the same. */
static bool is_answer(const struct rl_listener *l, const struct rl_reply *r)
{
	const struct rl_outbox *asked = &l->link.outbox;
	if (asked->count == 0 || !rl_outbox_front_sent(asked))
		return false;
	if (r->value.type == RL_REPLY_ERROR)
		return true;
	unsigned setup = rl_outbox_front(asked)->setup;
	return setup == RL_SETUP_NONE
	           ? is_pong(r)
	           : is_done(asked, setup == RL_SETUP_SUBSCRIBE ? "subscribe" : "unsubscribe", r);
}

static void take_answer(struct rl_listener *l, const struct rl_reply *reply, uint64_t now_ns)
{
	bool refused = reply->value.type == RL_REPLY_ERROR;
	l->no_keys |= refused && rl_outbox_front(&l->link.outbox)->setup == RL_SETUP_SUBSCRIBE;
	l->asked_ns = now_ns;
	rl_outbox_pop(&l->link.outbox);
}

static void take_opening(struct rl_listener *l, enum rl_setup setup, const struct rl_reply *reply,
                         uint64_t now_ns)
{
	struct rl_link *link = &l->link;
	bool fits = rl_handshake_fits(setup, reply);
	bool error = reply->value.type == RL_REPLY_ERROR;
	if (!fits || (setup == RL_SETUP_SUBSCRIBE && !error && !is_confirmed(l, reply))) {
		rl_link_fail_protocol(link);
	} else if (!rl_handshake_take(link, setup, reply)) {
		l->refused = redlock_vote_kind(link->failure) == REDLOCK_KIND_FATAL;
	} else if (setup == RL_SETUP_INFO && !link->facts.run_id_known) {
		l->refused = true; /* it will never be known to be the right server */
		rl_link_fail(link, REDLOCK_VOTE_NOPERM, "it does not say who it is");
	} else if (setup == RL_SETUP_INFO && l->asking->facts.run_id_known && !is_same_server(l)) {
		rl_link_fail(link, REDLOCK_VOTE_CLOSED, "another server has answered");
	} else if (rl_handshake_done(link, now_ns)) {
		l->stands = true;
	}
}

static bool is_whole(const struct rl_reply_value *v)
{
	return v->type == RL_REPLY_STRING && v->kept == v->length;
}

/* ["message", "__keyspace@0__:NAME", "del"] */
static bool is_event(const struct rl_listener *l, const struct rl_reply *r, struct rl_heard *ret)
{
	const struct rl_reply_value *items = r->items;
	return r->value.type == RL_REPLY_ARRAY && r->count == 3 && is_text(&items[0], "message") &&
	       is_whole(&items[1]) && is_whole(&items[2]) &&
	       rl_heard_event((struct rl_slice){items[1].text, items[1].kept},
	                      (struct rl_slice){items[2].text, items[2].kept}, l->link.endpoint.database, ret);
}

static bool take_message(struct rl_listener *l, const struct rl_reply *reply, struct rl_heard *ret,
                         uint64_t now_ns)
{
	const struct rl_reply_value *said = &reply->items[2];
	if (is_about(l, reply, "message") && is_whole(said) &&
	    rl_heard_read((struct rl_slice){said->text, said->kept}, ret))
		return rl_listener_hears(l);
	if (is_event(l, reply, ret))
		return ret->gone && rl_listener_hears(l);
	if (is_answer(l, reply))
		take_answer(l, reply, now_ns);
	else
		rl_link_fail_protocol(&l->link);
	return false;
}

/* One reply. False: there is none at present, or it has broken. */
static bool take_next(struct rl_listener *l, struct rl_heard *ret, bool *ret_heard, uint64_t now_ns)
{
	struct rl_link *link = &l->link;
	const struct rl_reply *reply;
	const struct rl_entry *front;
	if (link->state != RL_LINK_OPEN)
		return false;
	if (l->stands) {
		reply = rl_link_hear(link);
		*ret_heard = reply != NULL && take_message(l, reply, ret, now_ns);
		return reply != NULL;
	}
	front = rl_link_next(link, &reply);
	if (front != NULL)
		take_opening(l, (enum rl_setup)front->setup, reply, now_ns);
	return front != NULL;
}

bool rl_listener_next(struct rl_listener *l, struct rl_heard *ret, uint64_t now_ns)
{
	bool heard = false;
	while (!heard && take_next(l, ret, &heard, now_ns)) {
	}
	settle(l, now_ns);
	return heard;
}

void rl_listener_ready(struct rl_listener *l, uint32_t watch_id, uint32_t events, uint64_t now_ns)
{
	rl_link_ready(&l->link, watch_id, events, now_ns);
	flush(l);
}

/* ---- time ---- */

uint64_t rl_listener_deadline(const struct rl_listener *l)
{
	const struct rl_link *link = &l->link;
	if (link->state == RL_LINK_DOWN)
		return is_known(l->asking) ? link->backoff.retry_at_ns : UINT64_MAX;
	if (!l->stands || link->state == RL_LINK_BROKEN)
		return rl_link_deadline(link);
	return link->outbox.count > 0 ? rl_time_add(l->asked_ns, ANSWER_NS)
	                              : rl_time_add(link->progress_ns, QUIET_NS);
}

void rl_listener_tick(struct rl_listener *l, uint64_t now_ns)
{
	if (now_ns < rl_listener_deadline(l))
		return;
	if (l->link.state == RL_LINK_DOWN)
		rl_listener_begin(l, now_ns);
	else if (!l->stands)
		(void)rl_link_tick(&l->link, now_ns);
	else if (l->link.outbox.count > 0)
		rl_link_fail(&l->link, REDLOCK_VOTE_CLOSED, "no answer to a PING");
	else
		ask(l, RL_SETUP_NONE, rl_slice_of("*1\r\n$4\r\nPING\r\n"), now_ns);
	settle(l, now_ns);
}
