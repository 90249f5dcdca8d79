/* SPDX-License-Identifier: MIT */
#include "net/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "core/validity.h"
#include "net/flush.h"
#include "net/handshake.h"
#include "os/clock.h"
#include "os/random.h"
#include "proto/answer.h"

/* How soon a node that does not vote is asked again, if somebody wants its vote: by then another client may
 * have admitted it, or an operator mended what is wrong. */
#define SOON_NS (20 * RL_NS_PER_MS)
#define LATER_NS (1000 * RL_NS_PER_MS)

/* How often a node tells its time: with renewals, and with claims. */
#define TIMED_NS (50 * RL_NS_PER_MS)
#define TIMED_CLAIM_NS (1000 * RL_NS_PER_MS)

/* How old a connection may be: this part of the longest TTL, but not less than that. As ops/meet.lua has
 * it. */
enum { AGE_PART = 4 };
#define LEAST_AGE_NS (1000 * RL_NS_PER_MS)

/* A clock that is off by more than this is worth a word, though it harms nobody. */
#define APART_NS ((int64_t)1000000000)

bool rl_admission_new(struct rl_node *n, struct rl_set *set)
{
	n->admission = calloc(1, sizeof *n->admission);
	n->guards = n->admission != NULL;
	if (n->admission != NULL)
		n->admission->set = set;
	return n->admission != NULL;
}

/* ---- asking ---- */

/* All but the id of a question to a node, which is what is in `a->id` now. */
static struct rl_request question(struct rl_node *n, unsigned operation, const char *floor,
                                  struct rl_slice record[RL_RECORD_WORDS], char digits[2][24])
{
	struct rl_admission *a = n->admission;
	const struct rl_set *set = a->set;
	bool known = set->config[0] != '\0';
	snprintf(digits[0], 24, "%llu", (unsigned long long)set->ttl_ms);
	snprintf(digits[1], 24, "%llu", (unsigned long long)set->step);
	record[RL_RECORD_ID] = rl_slice_of(a->id);
	record[RL_RECORD_MEMBERS] = rl_slice_of(set->members);
	record[RL_RECORD_QUORUM] = rl_slice_of(set->quorum_text);
	record[RL_RECORD_TTL] = rl_slice_of(known ? digits[0] : "");
	record[RL_RECORD_SET] = rl_slice_of(set->id);
	record[RL_RECORD_STEP] = rl_slice_of(digits[1]);
	record[RL_RECORD_CONFIG] = rl_slice_of(set->config);
	record[RL_RECORD_FLOOR] = rl_slice_of(floor);
	record[RL_RECORD_MEMBER] = rl_slice_of(set->addresses[n->id]);
	return (struct rl_request){.operation = operation, .record = record};
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

bool rl_admission_begin(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	struct rl_slice record[RL_RECORD_WORDS];
	struct rl_buffer bytes = {0};
	struct rl_entry entry = {.setup = RL_SETUP_MEET};
	char digits[2][24];
	rl_set_forget(a->set, n->id);
	rl_set_await(a->set, n->id, now_ns);
	a->opinion = (struct rl_set_opinion){.kind = RL_SET_HOLD};
	a->holds = a->set->require || a->set->hears_all || rl_set_is_guarded(a->set);
	a->passed = false;
	n->guards = true;
	if (!a->leaves)
		n->refusals = 0; /* all were handed out when it broke */
	a->leaves = false;
	a->asking = true;
	a->timing = false;
	a->asked_ns = a->timed_ns = now_ns;
	n->methods.guarded = 0;
	n->link.gate += a->holds;
	bool ok = draw(a);
	struct rl_request r = question(n, RL_OP_MEET, "", record, digits);
	ok = ok && rl_request_write(&bytes, &r, RL_FORM_TEXT) &&
	     rl_outbox_push(&n->link.setup, &entry, (struct rl_slice){bytes.bytes, bytes.size});
	rl_buffer_free(&bytes);
	return ok;
}

/* Behind all that was asked before. */
static void ask(struct rl_node *n, unsigned operation, const char *floor, uint64_t now_ns)
{
	struct rl_slice record[RL_RECORD_WORDS];
	struct rl_entry entry = {.operation = (uint8_t)operation};
	char digits[2][24];
	struct rl_request r = question(n, operation, floor, record, digits);
	if (n->link.outbox.count == 0)
		n->link.progress_ns = now_ns; /* the server was not asked anything before, so it does not stall */
	n->admission->asking = rl_talk_ask(&n->talk, &n->link.outbox, &entry, &r, RL_FORM_TEXT);
	n->admission->asked_ns = now_ns;
}

/* ---- a connection's age ---- */

static bool is_aged(const struct rl_node *n, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	const struct rl_dial *d = &n->link.dial;
	uint64_t age_ns = rl_time_max(rl_time_ms(a->set->ttl_ms) / AGE_PART, LEAST_AGE_NS);
	uint64_t since_ns = d->by_name ? rl_time_min(n->link.begun_ns, d->told_ns) : n->link.begun_ns;
	return a->set->ttl_ms > 0 && now_ns >= rl_time_add(since_ns, age_ns);
}

/* Half a request, or half a transaction, must not be abandoned: the queued bytes are sent first. */
bool rl_admission_leave(struct rl_node *n)
{
	rl_flush(n);
	bool sent = rl_outbox_unsent(&n->link.outbox).size == 0 && !rl_talk_is_begun(&n->talk);
	if (n->link.state != RL_LINK_OPEN || !sent)
		return false;
	n->admission->leaves = true;
	n->link.gate++;
	return true;
}

bool rl_admission_must_leave(const struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	bool relied = (rl_ops[r->operation].forms & RL_FORMS_GUARD) != 0 && a->opinion.kind == RL_SET_PASSES;
	return n->link.state == RL_LINK_OPEN && relied && !a->leaves && is_aged(n, now_ns);
}

static bool may_ask(const struct rl_node *n)
{
	const struct rl_admission *a = n->admission;
	return !a->asking && !a->holds && !a->leaves && n->link.state == RL_LINK_OPEN;
}

void rl_admission_ask(struct rl_node *n, uint64_t now_ns)
{
	n->admission->wanted = false;
	if (may_ask(n) && is_aged(n, now_ns))
		(void)rl_admission_leave(n); /* the new connection asks */
	else if (may_ask(n) && draw(n->admission))
		ask(n, RL_OP_MEET, "", now_ns);
}

void rl_admission_look(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	if (n->link.state != RL_LINK_OPEN || a->opinion.kind != RL_SET_ASK)
		return; /* its record comes with the connection */
	a->opinion = (struct rl_set_opinion){.kind = RL_SET_HOLD};
	n->guards = true;
	if (!a->asking)
		rl_admission_ask(n, now_ns);
	if (!a->asking)
		rl_link_fail_memory(&n->link);
}

void rl_admission_admit(struct rl_node *n, const char *floor, uint64_t now_ns)
{
	if (!may_ask(n))
		return;
	memcpy(n->admission->id, n->admission->set->records[n->id].quarantine, sizeof n->admission->id);
	ask(n, RL_OP_ADMIT, floor, now_ns);
}

/* ---- its clock ---- */

bool rl_admission_times(const struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	const struct rl_op *op = &rl_ops[r->operation];
	uint64_t every_ns = op->claims ? TIMED_CLAIM_NS : TIMED_NS;
	return rl_ops_relies(op) && !a->timing && now_ns >= rl_time_add(a->timed_ns, every_ns);
}

void rl_admission_timed(struct rl_node *n, uint64_t now_ns)
{
	n->admission->timing = true;
	n->admission->timed_ns = now_ns;
}

bool rl_admission_is_off(const struct rl_node *n)
{
	return n->admission->set->offsets[n->id].out_until_ns != 0;
}

/* Takes the server's time, which was asked for at `sent_ns`. The time at the beginning of this turn would be
 * too early for when the answer was received. */
static void read_clock(struct rl_node *n, uint64_t sent_ns, int64_t wall_ms)
{
	struct rl_set *set = n->admission->set;
	struct rl_offset_rules *rules = &set->clocks;
	uint64_t ttl_ns = rl_time_ms(set->ttl_ms);
	int64_t wall_ns;
	struct rl_offset_reading reading = {sent_ns, rl_clock_read(&wall_ns), wall_ms};
	if (ttl_ns == 0)
		return; /* it has no guard */
	rules->out_ns = rl_time_add(ttl_ns, rl_validity_drift(ttl_ns, rules->drift_ppm, rules->drift_ns));
	uint64_t was_until_ns = set->offsets[n->id].out_until_ns;
	uint32_t news = rl_offset_read(set->offsets, set->count, n->id, rules, &reading);
	set->doubts |= news != 0;
	set->changed |= news != 0 || was_until_ns != 0;
	for (unsigned i = 0; i < set->count; i++) {
		uint32_t bit = UINT32_C(1) << i;
		bool apart = rl_offset_apart_ns(set->offsets, set->count, i, wall_ns, APART_NS) != 0;
		news |= apart && (set->apart & bit) == 0 ? bit : 0;
		set->apart |= apart ? bit : 0;
	}
	set->wall_ns = wall_ns;
	set->warned |= news;
}

void rl_admission_warn(struct rl_node *n)
{
	const struct rl_set *set = n->admission->set;
	const struct rl_offset *o = &set->offsets[n->id];
	bool off = o->out_until_ns != 0, odd = off || o->odd_ns != 0;
	int64_t ns = odd ? rl_offset_moved_ns(o)
	                 : rl_offset_apart_ns(set->offsets, set->count, n->id, set->wall_ns, APART_NS);
	char text[128];
	snprintf(text, sizeof text, "its clock %s %+.3f s%s",
	         odd ? "has moved by" : "differs from ours and others' by", (double)ns / 1e9,
	         off ? ": it does not vote for a while" : "");
	rl_link_remember(&n->link, REDLOCK_VOTE_CLOCK, text);
}

/* ---- what was learnt ---- */

static void learn(struct rl_node *n, const struct rl_vote *vote, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	rl_set_learn(a->set, n->id, vote);
	if (vote->code == REDLOCK_VOTE_YES)
		read_clock(n, a->asked_ns, vote->time_ms);
	a->over_ns = rl_time_max(rl_time_add(now_ns, rl_time_ms(a->set->records[n->id].left_ms)),
	                         a->set->offsets[n->id].out_until_ns);
	rl_admission_settle(n, now_ns);
}

/* An answer to another question must not be taken for one to this. */
static bool is_quoted(const struct rl_node *n, const struct rl_vote *vote)
{
	return rl_vote_tells(vote, RL_FIELD_ID) && rl_slice_same(vote->id, rl_slice_of(n->admission->id));
}

void rl_admission_meet(struct rl_node *n, const struct rl_reply *reply, uint64_t now_ns)
{
	struct rl_vote vote;
	n->admission->asking = false;
	rl_answer_read(rl_ops[RL_OP_MEET].outcomes, reply, &vote);
	if (vote.code == REDLOCK_VOTE_GARBAGE || (vote.code == REDLOCK_VOTE_YES && !is_quoted(n, &vote))) {
		rl_link_fail(&n->link, REDLOCK_VOTE_GARBAGE, "the answer is not one to what was asked");
		return;
	}
	if (reply->value.type == RL_REPLY_ERROR)
		rl_link_remember(&n->link, vote.code, reply->value.text);
	learn(n, &vote, now_ns);
}

/* ---- what waited for it ---- */

static bool is_guarded(const struct rl_entry *entry)
{
	return (rl_ops[entry->operation].forms & RL_FORMS_GUARD) != 0;
}

/* In the form that is due now, or without a byte and with its vote. False: out of memory. */
static bool push_again(struct rl_node *n, struct rl_entry entry, struct rl_slice bytes, uint64_t now_ns)
{
	struct rl_request r = rl_outbox_request(&entry, bytes);
	entry.refused = (uint8_t)rl_admission_vote(n, &r, now_ns);
	n->refusals += entry.refused != REDLOCK_VOTE_PENDING;
	if (entry.refused != REDLOCK_VOTE_PENDING)
		return rl_outbox_push(&n->link.outbox, &entry, (struct rl_slice){"", 0});
	struct rl_buffer again = {0};
	entry.form = (uint8_t)rl_method_choose(&n->methods, &r);
	r.pass = n->methods.pass;
	bool ok = rl_request_write(&again, &r, (enum rl_form)entry.form) &&
	          rl_outbox_push(&n->link.outbox, &entry, (struct rl_slice){again.bytes, again.size});
	rl_buffer_free(&again);
	return ok;
}

/* Nothing of it has left; the numbers of the entries stay. */
static bool ask_all_again(struct rl_node *n, uint64_t now_ns)
{
	struct rl_outbox before = n->link.outbox;
	bool ok = true;
	n->link.outbox = (struct rl_outbox){.popped = before.popped};
	n->refusals = 0;
	for (unsigned i = 0; ok && i < before.count; i++) {
		const struct rl_entry *e = rl_outbox_at(&before, i);
		struct rl_slice bytes = rl_outbox_bytes_at(&before, i);
		bool voted = e->refused != REDLOCK_VOTE_PENDING;
		n->refusals += voted;
		ok = is_guarded(e) && !voted ? push_again(n, *e, bytes, now_ns)
		                             : rl_outbox_push(&n->link.outbox, e, bytes);
	}
	if (ok) {
		rl_outbox_free(&before);
	} else {
		rl_outbox_free(&n->link.outbox);
		n->link.outbox = before;
	}
	return ok;
}

static bool is_unsent(const struct rl_node *n)
{
	return n->link.outbox.count > 0 && rl_outbox_front_unsent(&n->link.outbox);
}

/* Whether the connection took so long to open that the requests waiting for it must not be sent on it: the
 * server was slow, nobody drove the loop meanwhile, or the address is from an old lookup while the next one
 * is under way. Reconnects once for that. */
static bool opened_too_late(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	bool relied = a->opinion.kind == RL_SET_PASSES && n->link.outbox.count > 0, late = a->late;
	a->late = false;
	if (!relied || !is_aged(n, now_ns))
		return false;
	bool looks_up = rl_dial_looks_up(&n->link.dial);
	a->late = looks_up ? late : !late;
	if (!looks_up && late)
		rl_link_fail(&n->link, REDLOCK_VOTE_DOWN, "it takes too long to find and to reach it");
	else if (!looks_up)
		a->leaves = true, a->holds = false;
	return true;
}

static void let_go(struct rl_node *n, uint64_t now_ns)
{
	if (opened_too_late(n, now_ns))
		return;
	n->admission->holds = false;
	n->link.progress_ns = now_ns;
	if (n->link.outbox.count > 0 && !ask_all_again(n, now_ns))
		rl_link_fail_memory(&n->link);
	else
		rl_handshake_pass(&n->link);
}

/* A login has kept back what was asked, in the plain form. */
static void ask_in_time(struct rl_node *n, uint64_t now_ns)
{
	if (is_aged(n, now_ns))
		rl_link_fail(&n->link, REDLOCK_VOTE_DOWN, "it takes too long to find and to reach it");
	else if (!ask_all_again(n, now_ns))
		rl_link_fail_memory(&n->link);
}

/* The node was asked without a TTL, so it has no quarantine yet, or did not tell the id of one that is over.
 */
static bool lacks_quarantine(const struct rl_set_record *r)
{
	return r->verdict == RL_SET_BARE || (r->verdict == RL_SET_OVER && r->quarantine[0] == '\0');
}

void rl_admission_settle(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	const struct rl_set_opinion *o = &a->opinion;
	if (n->link.state != RL_LINK_OPEN)
		return;
	bool held = o->kind == RL_SET_HOLD;
	rl_set_judge(a->set, n->id, &a->opinion);
	a->passed |= o->kind == RL_SET_PASSES;
	n->guards = o->kind != RL_SET_ASK || a->passed;
	n->methods.guarded = o->kind == RL_SET_PASSES ? RL_FORMS_GUARD : 0;
	n->methods.pass = rl_slice_of(o->pass);
	if (o->kind == RL_SET_REFUSE && o->why != NULL)
		rl_link_remember(&n->link, o->vote, o->why);
	if (a->holds && o->kind != RL_SET_HOLD)
		let_go(n, now_ns);
	else if (held && n->methods.guarded != 0 && is_unsent(n))
		ask_in_time(n, now_ns);
	if (a->set->config[0] != '\0' && lacks_quarantine(&a->set->records[n->id]))
		rl_admission_ask(n, now_ns); /* now with the TTL that decides how long its quarantine is */
}

bool rl_admission_renews(struct rl_node *n, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	struct rl_link *l = &n->link;
	if (l->state != RL_LINK_OPEN || !(a->holds || a->leaves))
		return false;
	if (a->holds && a->opinion.kind != RL_SET_HOLD)
		let_go(n, now_ns); /* its name was looked up meanwhile */
	bool idle = rl_outbox_front_unsent(&l->outbox) && n->talk.resolved == 0 && !rl_talk_is_begun(&n->talk);
	if (!a->leaves || !idle || l->state != RL_LINK_OPEN)
		return false;
	rl_link_leave(l);
	return true;
}

static struct rl_vote refusal(const struct rl_node *n, enum redlock_vote_code code, uint64_t now_ns)
{
	return (struct rl_vote){.code = code, .left_ms = (int64_t)rl_admission_left_ms(n, now_ns)};
}

bool rl_admission_next(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	const struct rl_entry *front;
	while ((front = rl_outbox_front(&n->link.outbox)) != NULL && front->refused != REDLOCK_VOTE_PENDING) {
		*ret = (struct rl_answer){
		    .tag = front->tag, .operation = front->operation, .vote = refusal(n, front->refused, now_ns)};
		rl_outbox_pop(&n->link.outbox);
		n->refusals--;
		if (ret->tag.seq != 0)
			return true;
	}
	return false;
}

/* ---- votes ---- */

void rl_admission_leap(struct rl_node *n, uint64_t leap_ns)
{
	n->link.begun_ns = rl_time_sub(n->link.begun_ns, leap_ns);
	n->link.dial.told_ns = rl_time_sub(n->link.dial.told_ns, leap_ns);
}

uint64_t rl_admission_left_ms(const struct rl_node *n, uint64_t now_ns)
{
	uint64_t left_ns = rl_time_sub(n->admission->over_ns, now_ns);
	return left_ns / RL_NS_PER_MS + (left_ns % RL_NS_PER_MS > 0);
}

static void ask_if_due(struct rl_node *n, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	bool mends = a->opinion.vote != REDLOCK_VOTE_FOREIGN && a->opinion.vote != REDLOCK_VOTE_UNGUARDED;
	uint64_t due_ns = rl_time_add(a->asked_ns, mends ? SOON_NS : LATER_NS);
	if (now_ns >= due_ns && now_ns >= a->over_ns)
		rl_admission_ask(n, now_ns);
	else
		n->admission->wanted = mends;
}

uint64_t rl_admission_deadline(const struct rl_node *n)
{
	const struct rl_admission *a = n->admission;
	return a->wanted ? rl_time_max(a->over_ns, rl_time_add(a->asked_ns, SOON_NS)) : UINT64_MAX;
}

void rl_admission_tick(struct rl_node *n, uint64_t now_ns)
{
	n->admission->wanted = false;
	if (n->admission->opinion.kind == RL_SET_REFUSE)
		rl_admission_ask(n, now_ns);
}

/* Without a record there are no counters. */
static bool needs_guard(const struct rl_request *r)
{
	const struct rl_op *op = &rl_ops[r->operation];
	return (op->claims && r->fenced) || op->forms == RL_FORMS_GUARD;
}

void rl_admission_hold(struct rl_node *n, const struct rl_request *r)
{
	struct rl_admission *a = n->admission;
	bool unknown = a->opinion.kind == RL_SET_HOLD && !a->holds && needs_guard(r);
	if (!unknown || n->link.state == RL_LINK_DOWN || (n->link.outbox.count > 0 && !is_unsent(n)))
		return;
	a->holds = true;
	n->link.gate++;
}

/* The vote of an admitted node on a request that it must not be asked; PENDING: it may be asked. */
static enum redlock_vote_code object(struct rl_node *n, const struct rl_request *r)
{
	const struct rl_admission *a = n->admission;
	if (needs_guard(r) && a->opinion.objection != NULL) {
		rl_link_remember(&n->link, REDLOCK_VOTE_FOREIGN, a->opinion.objection);
		return REDLOCK_VOTE_FOREIGN;
	}
	return r->ttl_ms > a->set->ttl_ms ? REDLOCK_VOTE_LONG_TTL : REDLOCK_VOTE_PENDING;
}

enum redlock_vote_code rl_admission_vote(struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	const struct rl_op *op = &rl_ops[r->operation];
	if (n->link.state != RL_LINK_OPEN) /* it may have to connect first */
		return REDLOCK_VOTE_PENDING;
	if (a->holds || a->opinion.kind == RL_SET_HOLD)
		return REDLOCK_VOTE_PENDING;
	bool checks = (op->forms & RL_FORMS_GUARD) != 0;
	if (!checks && !rl_ops_relies(op))
		return REDLOCK_VOTE_PENDING;
	if (a->opinion.kind == RL_SET_ASK)
		return needs_guard(r) ? REDLOCK_VOTE_UNGUARDED : REDLOCK_VOTE_PENDING;
	if (!checks)
		return REDLOCK_VOTE_UNCHECKED;
	if (a->opinion.kind == RL_SET_PASSES)
		return object(n, r);
	ask_if_due(n, now_ns);
	return a->opinion.kind == RL_SET_REFUSE ? a->opinion.vote : REDLOCK_VOTE_QUARANTINE;
}

/* ---- answers ---- */

/* A "no" of a claim needs no record: somebody has the key, whatever this node has forgotten. */
enum rl_admission_weight rl_admission_weigh(const struct rl_node *n, const struct rl_entry *entry,
                                            const struct rl_reply *reply, struct rl_vote *ret)
{
	const struct rl_op *op = &rl_ops[entry->operation];
	const struct rl_set_opinion *o = &n->admission->opinion;
	bool unguarded = rl_ops_relies(op) && (RL_FORMS_GUARD >> entry->form & 1) == 0;
	if (!unguarded || o->kind == RL_SET_ASK || reply->value.type == RL_REPLY_ERROR)
		return RL_ADMISSION_COUNTS;
	rl_answer_read(op->outcomes, reply, ret);
	bool yes = ret->code == REDLOCK_VOTE_YES, no = ret->code == REDLOCK_VOTE_NO;
	if ((!yes && !no) || (no && op->claims && o->kind != RL_SET_REFUSE))
		return RL_ADMISSION_COUNTS;
	return o->kind == RL_SET_HOLD ? RL_ADMISSION_WAITS : RL_ADMISSION_VOID;
}

struct rl_vote rl_admission_vote_anew(struct rl_node *n, const struct rl_entry *entry, uint64_t now_ns)
{
	struct rl_request r = rl_outbox_request(entry, rl_outbox_front_bytes(&n->link.outbox));
	enum redlock_vote_code code = rl_admission_vote(n, &r, now_ns);
	bool stays = n->admission->leaves || !is_aged(n, now_ns) || rl_admission_leave(n);
	if (code == REDLOCK_VOTE_PENDING && !stays)
		code = REDLOCK_VOTE_UNSENT; /* the next request makes a new connection */
	return refusal(n, code, now_ns);
}

enum redlock_vote_code rl_admission_of_talk(const struct rl_node *n)
{
	const struct rl_set_opinion *o = &n->admission->opinion;
	if (o->kind == RL_SET_ASK)
		return REDLOCK_VOTE_YES;
	return o->kind == RL_SET_REFUSE ? o->vote : REDLOCK_VOTE_QUARANTINE;
}

static void hear_record(struct rl_node *n, const struct rl_entry *entry, struct rl_vote *vote,
                        uint64_t now_ns)
{
	n->admission->asking = false;
	if (rl_vote_tells(vote, RL_FIELD_ID) && !is_quoted(n, vote))
		vote->code = REDLOCK_VOTE_GARBAGE;
	if (vote->code != REDLOCK_VOTE_GARBAGE && entry->operation == RL_OP_MEET)
		learn(n, vote, now_ns);
	if (entry->operation == RL_OP_ADMIT)
		rl_admission_ask(n, now_ns);
}

uint8_t rl_admission_generation(const struct rl_node *n, const struct rl_entry *entry)
{
	const struct rl_set *set = n->admission->set;
	struct rl_slice pass = rl_request_word(rl_outbox_front_bytes(&n->link.outbox), entry->operation,
	                                       (enum rl_form)entry->form, RL_WORD_PASS);
	size_t size = strlen(set->config);
	bool ends = pass.size > size && memcmp(pass.bytes + pass.size - size, set->config, size) == 0 &&
	            (size == 0 || pass.bytes[pass.size - size - 1] == ':');
	return ends ? set->generation : 0;
}

void rl_admission_hear(struct rl_node *n, const struct rl_entry *entry, struct rl_vote *vote, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	if (entry->timed) {
		a->timing = false;
		if ((vote->code == REDLOCK_VOTE_YES || vote->code == REDLOCK_VOTE_NO) && vote->time_ms > 0)
			read_clock(n, a->timed_ns, vote->time_ms);
	}
	if ((RL_FORMS_GUARD >> entry->form & 1) != 0 && rl_vote_tells(vote, RL_FIELD_TOKEN))
		n->methods.knows |= UINT64_C(1) << rl_ops[entry->operation].guard_script;
	if (entry->operation == RL_OP_MEET || entry->operation == RL_OP_ADMIT) {
		hear_record(n, entry, vote, now_ns);
	} else if ((RL_FORMS_GUARD >> entry->form & 1) != 0 && vote->code == REDLOCK_VOTE_QUARANTINE) {
		a->over_ns = now_ns;
		a->opinion = (struct rl_set_opinion){.kind = RL_SET_REFUSE, .vote = REDLOCK_VOTE_QUARANTINE};
		rl_admission_ask(n, now_ns);
	}
}
