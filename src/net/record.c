/* SPDX-License-Identifier: MIT */
#include "net/record.h"

#include <stdio.h>
#include <string.h>

#include "core/time.h"
#include "net/handshake.h"
#include "net/submit.h"
#include "os/random.h"

/* How old a connection may be: this part of the longest TTL, but not less than that. As ops/meet.lua has
 * it. */
enum { AGE_PART = 4 };
#define LEAST_AGE_NS (1000 * RL_NS_PER_MS)

/* ---- a connection's age ---- */

static bool is_too_long(const struct rl_node *n, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t ttl_ms = n->admission->set->ttl_ms;
	uint64_t age_ns = rl_time_max(rl_time_ms(ttl_ms) / AGE_PART, LEAST_AGE_NS);
	return ttl_ms > 0 && now_ns >= rl_time_add(since_ns, age_ns);
}

bool rl_record_is_aged(const struct rl_node *n, uint64_t now_ns)
{
	const struct rl_dial *d = &n->link.dial;
	return is_too_long(n, d->by_name ? rl_time_min(n->link.begun_ns, d->told_ns) : n->link.begun_ns, now_ns);
}

bool rl_record_is_unconfirmed(const struct rl_node *n, uint64_t now_ns)
{
	return n->link.endpoint.master != NULL && is_too_long(n, n->link.dial.told_ns, now_ns);
}

/* Half a request, or half a transaction, must not be abandoned: the queued bytes are sent first. */
bool rl_record_leave(struct rl_node *n)
{
	rl_submit_flush(n);
	bool sent = rl_outbox_unsent(&n->link.outbox).size == 0 && !rl_talk_is_begun(&n->talk);
	if (n->link.state != RL_LINK_OPEN || !sent)
		return false;
	n->admission->leaves = true;
	n->link.gate++;
	return true;
}

bool rl_record_must_leave(const struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	bool relied = (rl_ops[r->operation].forms & RL_FORMS_GUARD) != 0 && a->opinion.kind == RL_SET_PASSES;
	return n->link.state == RL_LINK_OPEN && relied && !a->leaves && rl_record_is_aged(n, now_ns);
}

void rl_record_leap(struct rl_node *n, uint64_t leap_ns)
{
	n->link.begun_ns = rl_time_sub(n->link.begun_ns, leap_ns);
	n->link.dial.told_ns = rl_time_sub(n->link.dial.told_ns, leap_ns);
	rl_sentinels_leap(n->sentinels, leap_ns);
}

/* ---- asking ---- */

/* A question to a node, whose id is in `a->id` now. */
static struct rl_request question(struct rl_node *n, unsigned operation, const char *floor, uint64_t now_ns,
                                  struct rl_set_words *record)
{
	rl_set_fill(n->admission->set, n->id, operation, now_ns, record);
	record->words[RL_RECORD_ID] = rl_slice_of(n->admission->id);
	record->words[RL_RECORD_FLOOR] = rl_slice_of(floor);
	return (struct rl_request){.operation = operation, .record = record->words};
}

/* Draws a new id. False: no random bytes are available. */
static bool draw(struct rl_admission *a)
{
	unsigned char random[RL_SET_ID / 2];
	bool ok = rl_random_bytes(random, sizeof random) == 0;
	if (ok)
		*rl_slice_put_hex(a->id, random, sizeof random) = '\0';
	return ok;
}

/* Queues MEET among the opening commands. */
static bool meet(struct rl_node *n, uint64_t now_ns)
{
	struct rl_set_words record;
	struct rl_buffer bytes = {0};
	struct rl_entry entry = {.setup = RL_SETUP_MEET};
	bool ok = draw(n->admission);
	struct rl_request r = question(n, RL_OP_MEET, "", now_ns, &record);
	ok = ok && rl_request_write(&bytes, &r, RL_FORM_TEXT) &&
	     rl_outbox_push(&n->link.setup, &entry, (struct rl_slice){bytes.bytes, bytes.size});
	rl_buffer_free(&bytes);
	return ok;
}

bool rl_record_begin(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	rl_set_forget(a->set, n->id);
	rl_set_await(a->set, n->id, now_ns);
	a->opinion = (struct rl_set_opinion){.kind = RL_SET_HOLD};
	bool known = a->set->require || a->set->hears_all || rl_set_is_guarded(a->set);
	a->holds = known || a->awaited;
	a->awaited = false;
	a->passed = a->seen = false;
	n->guards = true;
	if (!a->leaves)
		n->refusals = 0; /* all were handed out when it broke */
	a->leaves = false;
	a->asking = true;
	a->timing = false;
	a->asked_ns = a->timed_ns = now_ns;
	n->methods.guarded = 0;
	n->link.gate += a->holds;
	return known ? meet(n, now_ns) : rl_handshake_look(&n->link);
}

/* Behind all that was asked before. */
static void ask(struct rl_node *n, unsigned operation, const char *floor, uint64_t now_ns)
{
	struct rl_set_words record;
	struct rl_entry entry = {.operation = (uint8_t)operation};
	struct rl_request r = question(n, operation, floor, now_ns, &record);
	if (n->link.outbox.count == 0)
		n->link.progress_ns = now_ns; /* the server was not asked anything before, so it does not stall */
	n->admission->asking = rl_talk_ask(&n->talk, &n->link.outbox, &entry, &r, RL_FORM_TEXT);
	n->admission->asked_ns = now_ns;
}

static bool may_ask(const struct rl_node *n)
{
	const struct rl_admission *a = n->admission;
	return !a->asking && !a->holds && !a->leaves && n->link.state == RL_LINK_OPEN;
}

void rl_record_ask(struct rl_node *n, uint64_t now_ns)
{
	n->admission->wanted = false;
	if (may_ask(n) && rl_record_is_aged(n, now_ns))
		(void)rl_record_leave(n); /* the new connection asks */
	else if (may_ask(n) && draw(n->admission))
		ask(n, RL_OP_MEET, "", now_ns);
}

void rl_record_look(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	if (n->link.state != RL_LINK_OPEN || a->leaves)
		return; /* its record comes with the connection */
	a->opinion = (struct rl_set_opinion){.kind = RL_SET_HOLD};
	n->guards = true;
	if (!a->asking)
		rl_record_ask(n, now_ns);
	if (!a->asking && !a->leaves)
		rl_link_fail_memory(&n->link);
}

void rl_record_admit(struct rl_node *n, const char *floor, uint64_t now_ns)
{
	if (!may_ask(n))
		return;
	memcpy(n->admission->id, n->admission->set->records[n->id].quarantine, sizeof n->admission->id);
	ask(n, RL_OP_ADMIT, floor, now_ns);
}

/* Requests that have left are answered before MEET. */
void rl_record_saw(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	bool left = n->link.outbox.count > 0 && !rl_outbox_front_unsent(&n->link.outbox), ok;
	a->asked_ns = now_ns;
	if (left) {
		a->seen = true;
		a->asking = false;
		rl_record_ask(n, now_ns);
		ok = a->asking || a->leaves;
	} else {
		n->link.gate += !a->holds;
		a->holds = true;
		ok = meet(n, now_ns);
	}
	if (!ok)
		rl_link_fail_memory(&n->link);
}
