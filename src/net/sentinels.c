/* SPDX-License-Identifier: MIT */
#include "net/sentinels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "net/handshake.h"
#include "os/resolve.h"
#include "proto/answer.h"

#define ANSWER_NS (1000 * RL_NS_PER_MS)
#define QUIET_NS (10000 * RL_NS_PER_MS)
#define HEED_NS (100 * RL_NS_PER_MS) /* for so long the first answer waits for the others */

/* Ids in the poller: each Sentinel begins this far above the one before. */
#define WATCH_ID_STEP (RL_WATCH_LINKS << 17)
_Static_assert(RL_URL_SENTINELS < 8, "a dial has 1 << 20 serial numbers");

struct sentinel {
	bool asking;               /* it has a question that it has not answered */
	bool knows_none;           /* its last answer is that it has no such master */
	uint64_t asked_ns;         /* the last question */
	uint64_t told_ns;          /* the last question with an answer */
	uint64_t changed_ns;       /* when it named another address than before; 0: never */
	struct rl_address address; /* the last that it named */
	char host[64];             /* the same as text: the name for TLS */
	struct rl_link link;       /* the last: it ends with a large buffer */
};

struct rl_sentinels {
	struct rl_link *link; /* of the node */
	unsigned count;
	uint64_t heed_ns; /* until when an answer that has come waits for the others; 0: none does */
	struct rl_address chosen;
	char host[64];
	struct sentinel *list[RL_URL_SENTINELS];
};

/* ---- life ---- */

static struct sentinel *new_sentinel(struct rl_link *node, unsigned index, uint32_t number)
{
	struct rl_endpoint endpoint;
	struct sentinel *one = malloc(sizeof *one);
	if (one == NULL || !rl_url_sentinel(&node->endpoint, index, &endpoint)) {
		free(one);
		return NULL;
	}
	memset(one, 0, offsetof(struct sentinel, link));
	if (rl_link_open(&one->link, &endpoint, node->tls, node->poller, number + index * WATCH_ID_STEP))
		return one;
	rl_link_close(&one->link, false);
	free(one);
	return NULL;
}

struct rl_sentinels *rl_sentinels_new(struct rl_link *link, uint32_t number)
{
	struct rl_sentinels *s = calloc(1, sizeof *s);
	unsigned count = rl_url_count_hosts(&link->endpoint);
	bool ok = s != NULL;
	for (unsigned i = 0; ok && i < count; i++) {
		s->list[i] = new_sentinel(link, i, number + RL_WATCH_SENTINELS);
		ok = s->list[i] != NULL;
		s->count += ok;
	}
	if (ok) {
		s->link = link;
		link->tls_peer.host = s->host;
		return s;
	}
	rl_sentinels_free(s, false);
	return NULL;
}

void rl_sentinels_free(struct rl_sentinels *s, bool child)
{
	for (unsigned i = 0; s != NULL && i < s->count; i++) {
		rl_link_close(&s->list[i]->link, child);
		free(s->list[i]);
	}
	free(s);
}

/* ---- which master ---- */

static unsigned count_of(const struct rl_sentinels *s, const struct rl_address *address)
{
	unsigned count = 0;
	for (unsigned i = 0; i < s->count; i++)
		count += rl_socket_same_address(&s->list[i]->address, address);
	return count;
}

static bool is_better(const struct rl_sentinels *s, const struct sentinel *a, const struct sentinel *b)
{
	if (a->changed_ns != b->changed_ns)
		return a->changed_ns > b->changed_ns;
	return count_of(s, &a->address) > count_of(s, &b->address);
}

/* NULL: none of them has named one. */
static const struct sentinel *choose(const struct rl_sentinels *s)
{
	const struct sentinel *best = NULL;
	for (unsigned i = 0; i < s->count; i++) {
		const struct sentinel *one = s->list[i];
		if (one->address.length > 0 && (best == NULL || is_better(s, one, best)))
			best = one;
	}
	return best;
}

static bool has_named(const struct sentinel *one, const struct rl_address *address, uint64_t since_ns)
{
	return one->told_ns >= since_ns && rl_socket_same_address(&one->address, address);
}

/* Since when most of the listed Sentinels have named this address, each in answer to a question asked since
 * then. 0: most of them have not. */
static uint64_t confirmed_ns(const struct rl_sentinels *s, const struct rl_address *address)
{
	uint64_t newest_ns = 0;
	for (unsigned i = 0; i < s->count; i++) {
		uint64_t since_ns = s->list[i]->told_ns;
		unsigned count = 0;
		for (unsigned k = 0; k < s->count; k++)
			count += has_named(s->list[k], address, since_ns);
		if (count > s->count / 2)
			newest_ns = rl_time_max(newest_ns, since_ns);
	}
	return newest_ns;
}

static bool is_asking(const struct rl_sentinels *s)
{
	bool asking = false;
	for (unsigned i = 0; i < s->count; i++)
		asking |= s->list[i]->asking;
	return asking;
}

/* Tells the link how old the address is, and whether a Sentinel that is being asked may still confirm it. */
static void confirm(struct rl_sentinels *s)
{
	struct rl_dial *d = &s->link->dial;
	if (s->chosen.length > 0)
		d->told_ns = confirmed_ns(s, &s->chosen);
	d->confirms = is_asking(s) && d->told_ns < d->asked_ns;
}

/* Whether no answer that is still to come can count for more: the Sentinel has changed its mind, most of them
 * name this address, or none is asked. Else a Sentinel that is wrong would be followed if it answers first.
 */
static bool is_settled(const struct rl_sentinels *s, const struct sentinel *best)
{
	return best->changed_ns > 0 || count_of(s, &best->address) > s->count / 2 || !is_asking(s);
}

/* A Sentinel has named an address. */
static void found(struct rl_sentinels *s, uint64_t now_ns)
{
	struct rl_lookup_result result = {.addresses.count = 1};
	const struct sentinel *best = choose(s);
	if (best == NULL || (!s->link->dial.seeks && rl_socket_same_address(&best->address, &s->chosen)))
		return;
	if (s->link->dial.seeks && !is_settled(s, best) && (s->heed_ns == 0 || now_ns < s->heed_ns)) {
		s->heed_ns = s->heed_ns > 0 ? s->heed_ns : rl_time_add(now_ns, HEED_NS);
		return;
	}
	s->heed_ns = 0;
	result.addresses.list[0] = s->chosen = best->address;
	snprintf(s->host, sizeof s->host, "%s", best->host);
	rl_link_found(s->link, &result, confirmed_ns(s, &s->chosen), now_ns);
}

/* Tells that nothing was found, unless some Sentinel may still answer. */
static void give_up(struct rl_sentinels *s, uint64_t now_ns)
{
	struct rl_lookup_result result = {.certain = true};
	const char *why = "";
	for (unsigned i = 0; i < s->count; i++) {
		const struct sentinel *one = s->list[i];
		result.certain &= one->knows_none;
		if (!one->knows_none && why[0] == '\0')
			why = one->link.failure_text;
	}
	if (is_asking(s) || !s->link->dial.seeks)
		return;
	if (result.certain)
		snprintf(result.why, sizeof result.why, "no Sentinel knows a master %.63s", s->link->endpoint.master);
	else
		snprintf(result.why, sizeof result.why, "no Sentinel names the master: %.80s", why);
	rl_link_found(s->link, &result, now_ns, now_ns);
}

/* ---- asking ---- */

static void flush(struct sentinel *one)
{
	struct rl_link *l = &one->link;
	if (l->state != RL_LINK_OPEN)
		return;
	(void)rl_link_send(l);
}

/* A link that has broken is down until it is made again. */
static void settle(struct sentinel *one, uint64_t now_ns)
{
	if (one->link.state != RL_LINK_BROKEN)
		return;
	one->asking = false;
	rl_outbox_clear(&one->link.outbox);
	rl_link_end(&one->link, true, now_ns);
}

static void connect_to(const struct rl_sentinels *s, struct sentinel *one, uint64_t now_ns)
{
	if (!rl_link_begin(&one->link, now_ns))
		return;
	one->asking = true;
	one->asked_ns = now_ns;
	if (rl_handshake_resolve(&one->link, s->link->endpoint.master))
		rl_link_dial(&one->link, now_ns);
	else
		rl_link_fail_memory(&one->link);
}

/* A link that connects asks by itself, and a Sentinel with a question is not asked again. */
static void ask(const struct rl_sentinels *s, struct sentinel *one, uint64_t now_ns)
{
	struct rl_link *l = &one->link;
	if (l->state == RL_LINK_DOWN && (l->backoff.failures == 0 || now_ns >= l->backoff.retry_at_ns))
		connect_to(s, one, now_ns);
	if (l->state != RL_LINK_OPEN || one->asking)
		return;
	one->asking = true;
	one->asked_ns = l->progress_ns = now_ns;
	if (!rl_handshake_resolve_again(l, s->link->endpoint.master))
		rl_link_fail_memory(l);
	flush(one);
}

void rl_sentinels_seek(struct rl_sentinels *s, uint64_t now_ns)
{
	if (s == NULL || !s->link->dial.seeks)
		return;
	for (unsigned i = 0; i < s->count; i++) {
		ask(s, s->list[i], now_ns);
		settle(s->list[i], now_ns);
	}
	confirm(s);
	give_up(s, now_ns);
}

/* ---- answers ---- */

static bool is_whole(const struct rl_reply_value *v)
{
	return v->type == RL_REPLY_STRING && v->kept == v->length;
}

/* [host, port]. False: it is no such answer. */
static bool read_address(struct sentinel *one, const struct rl_reply *r, struct rl_address *ret)
{
	if (r->value.type != RL_REPLY_ARRAY || r->count != 2 || !is_whole(&r->items[0]) ||
	    !is_whole(&r->items[1]))
		return false;
	unsigned long port = strtoul(r->items[1].text, NULL, 10);
	if (!rl_resolve_literal(r->items[0].text, (uint16_t)port, ret))
		return false;
	snprintf(one->host, sizeof one->host, "%s", r->items[0].text);
	return true;
}

static void take_address(struct sentinel *one, const struct rl_reply *r, uint64_t now_ns)
{
	struct rl_address address = {0};
	struct rl_link *l = &one->link;
	one->knows_none = r->value.type == RL_REPLY_NIL;
	if (r->value.type == RL_REPLY_ERROR) {
		enum redlock_vote_code why = rl_answer_of_error(r->value.text);
		bool other = why == REDLOCK_VOTE_COMMAND;
		rl_link_fail(l, why, other ? "the server that answers is not a Sentinel" : r->value.text);
	} else if (!one->knows_none && !read_address(one, r, &address)) {
		rl_link_fail(l, REDLOCK_VOTE_GARBAGE, "a Sentinel names no IP address (announce-hostnames no)");
	} else {
		if (one->address.length > 0 && !rl_socket_same_address(&one->address, &address))
			one->changed_ns = now_ns;
		one->address = address;
		one->told_ns = one->asked_ns;
		one->asking = false;
	}
}

static void take(struct sentinel *one, enum rl_setup setup, const struct rl_reply *reply, uint64_t now_ns)
{
	if (setup == RL_SETUP_MASTER)
		take_address(one, reply, now_ns);
	else if (setup == RL_SETUP_AUTH && !rl_handshake_fits(setup, reply))
		rl_link_fail_protocol(&one->link);
	else if (setup == RL_SETUP_AUTH)
		(void)rl_handshake_take(&one->link, setup, reply);
}

static bool is_text(const struct rl_reply_value *v, const char *text)
{
	return is_whole(v) && v->kept == strlen(text) && memcmp(v->text, text, v->kept) == 0;
}

static bool is_message(const struct rl_reply *r)
{
	return r->value.type == RL_REPLY_ARRAY && r->count == 3 && is_text(&r->items[0], "message");
}

/* ["message", "+switch-master", "NAME old-host old-port new-host new-port"]: the Sentinel is asked again. */
static bool is_about(const struct rl_reply *r, const char *master)
{
	size_t size = strlen(master);
	const struct rl_reply_value *said = &r->items[2];
	return is_whole(said) && said->kept > size && memcmp(said->text, master, size) == 0 &&
	       said->text[size] == ' ';
}

static void hear(const struct rl_sentinels *s, struct sentinel *one, const struct rl_reply *reply,
                 uint64_t now_ns)
{
	struct rl_outbox *asked = &one->link.outbox;
	if (is_message(reply)) {
		if (is_about(reply, s->link->endpoint.master))
			ask(s, one, now_ns);
	} else if (asked->count == 0 || !rl_outbox_front_sent(asked)) {
		rl_link_fail_protocol(&one->link);
	} else {
		take(one, (enum rl_setup)rl_outbox_front(asked)->setup, reply, now_ns);
		rl_outbox_pop(asked);
	}
}

/* Takes one reply. False: no reply has come yet, or the link has broken. */
static bool take_next(const struct rl_sentinels *s, struct sentinel *one, uint64_t now_ns)
{
	const struct rl_reply *reply;
	struct rl_link *l = &one->link;
	if (l->state != RL_LINK_OPEN)
		return false;
	if (l->setup.count == 0) {
		reply = rl_link_hear(l);
		if (reply != NULL)
			hear(s, one, reply, now_ns);
		return reply != NULL;
	}
	const struct rl_entry *front = rl_link_next(l, &reply);
	if (front == NULL)
		return false;
	take(one, (enum rl_setup)front->setup, reply, now_ns);
	(void)rl_handshake_done(l, now_ns);
	return true;
}

void rl_sentinels_ready(struct rl_sentinels *s, uint32_t watch_id, uint32_t events, uint64_t now_ns)
{
	for (unsigned i = 0; s != NULL && i < s->count; i++) {
		struct sentinel *one = s->list[i];
		uint64_t told_ns = one->told_ns;
		bool asking = one->asking;
		rl_link_ready(&one->link, watch_id, events, now_ns);
		flush(one);
		while (take_next(s, one, now_ns)) {
		}
		settle(one, now_ns);
		if (one->told_ns != told_ns || (s->heed_ns > 0 && asking && !one->asking))
			found(s, now_ns);
		confirm(s);
		if (asking && !one->asking)
			give_up(s, now_ns);
	}
}

/* ---- time ---- */

static uint64_t deadline_of(const struct sentinel *one)
{
	if (one->link.state == RL_LINK_OPEN && !one->asking)
		return rl_time_add(one->asked_ns, QUIET_NS);
	uint64_t next = rl_link_deadline(&one->link);
	return one->asking ? rl_time_min(next, rl_time_add(one->asked_ns, ANSWER_NS)) : next;
}

uint64_t rl_sentinels_deadline(const struct rl_sentinels *s)
{
	uint64_t next = s != NULL && s->heed_ns > 0 ? s->heed_ns : UINT64_MAX;
	for (unsigned i = 0; s != NULL && i < s->count; i++)
		next = rl_time_min(next, deadline_of(s->list[i]));
	return next;
}

static void tick(const struct rl_sentinels *s, struct sentinel *one, uint64_t now_ns)
{
	if (one->asking && now_ns >= rl_time_add(one->asked_ns, ANSWER_NS))
		rl_link_fail(&one->link, REDLOCK_VOTE_TIMEOUT, "no answer within a second");
	else if (one->link.state == RL_LINK_OPEN || rl_link_tick(&one->link, now_ns))
		ask(s, one, now_ns);
	settle(one, now_ns);
}

void rl_sentinels_tick(struct rl_sentinels *s, uint64_t now_ns)
{
	bool due = now_ns >= rl_sentinels_deadline(s);
	for (unsigned i = 0; due && i < s->count; i++)
		if (now_ns >= deadline_of(s->list[i]))
			tick(s, s->list[i], now_ns);
	if (!due)
		return;
	if (s->heed_ns > 0)
		found(s, now_ns);
	confirm(s);
	give_up(s, now_ns);
}

void rl_sentinels_leap(struct rl_sentinels *s, uint64_t leap_ns)
{
	for (unsigned i = 0; s != NULL && i < s->count; i++) {
		s->list[i]->told_ns = rl_time_sub(s->list[i]->told_ns, leap_ns);
		s->list[i]->asked_ns = rl_time_sub(s->list[i]->asked_ns, leap_ns);
	}
}
