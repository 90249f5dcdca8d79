/* SPDX-License-Identifier: MIT */
#include "net/admission.h"

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "net/handshake.h"
#include "net/permit.h"
#include "net/record.h"
#include "net/server_clock.h"
#include "proto/answer.h"

bool rl_admission_new(struct rl_node *n, struct rl_set *set)
{
	n->admission = calloc(1, sizeof *n->admission);
	n->guards = n->admission != NULL;
	if (n->admission != NULL)
		n->admission->set = set;
	return n->admission != NULL;
}

/* ---- what waited for the record ---- */

static bool is_guarded(const struct rl_entry *entry)
{
	return (rl_ops[entry->operation].forms & RL_FORMS_GUARD) != 0;
}

/* In the form that is due now, or without a byte and with its vote. False: out of memory. */
static bool push_again(struct rl_node *n, struct rl_entry entry, struct rl_slice bytes, uint64_t now_ns)
{
	struct rl_request r = rl_outbox_request(&entry, bytes);
	entry.refused = (uint8_t)rl_permit_vote(n, &r, now_ns);
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

static void fail_late(struct rl_node *n, uint64_t now_ns)
{
	if (rl_record_is_unconfirmed(n, now_ns))
		rl_link_fail(&n->link, REDLOCK_VOTE_MASTER, "most of its Sentinels have not named it lately");
	else
		rl_link_fail(&n->link, REDLOCK_VOTE_DOWN, "it takes too long to find and to reach it");
}

/* Whether the connection took so long to open that the requests waiting for it must not be sent on it: the
 * server was slow, nobody drove the loop meanwhile, or the address is from an old lookup while the next one
 * is under way. Reconnects once for that. */
static bool opened_too_late(struct rl_node *n, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	bool relied = a->opinion.kind == RL_SET_PASSES && n->link.outbox.count > 0, late = a->late;
	a->late = false;
	if (!relied || !rl_record_is_aged(n, now_ns))
		return false;
	bool looks_up = rl_dial_looks_up(&n->link.dial) || n->link.dial.confirms;
	a->late = looks_up ? late : !late;
	if (!looks_up && late)
		fail_late(n, now_ns);
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
	if (rl_record_is_aged(n, now_ns))
		fail_late(n, now_ns);
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
	else if (held && n->methods.guarded != 0 && rl_permit_is_unsent(n))
		ask_in_time(n, now_ns);
	if (a->set->config[0] != '\0' && lacks_quarantine(&a->set->records[n->id]))
		rl_record_ask(n, now_ns); /* now with the TTL that decides how long its quarantine is */
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

/* ---- what was learnt ---- */

static void learn(struct rl_node *n, const struct rl_vote *vote, uint64_t now_ns)
{
	struct rl_admission *a = n->admission;
	rl_set_learn(a->set, n->id, vote);
	a->seen = false;
	if (vote->code == REDLOCK_VOTE_YES && vote->time_ms > 0)
		rl_server_clock_read(n, a->asked_ns, vote->time_ms);
	const struct rl_set_record *r = &a->set->records[n->id];
	uint64_t until_ns = rl_time_add(now_ns, rl_time_ms(r->left_ms));
	if (r->verdict == RL_SET_ADMITTED) {
		a->set->unseen_until_ns = rl_time_max(a->set->unseen_until_ns, until_ns);
		until_ns = now_ns;
	}
	a->over_ns = rl_time_max(until_ns, a->set->offsets[n->id].out_until_ns);
	rl_admission_settle(n, now_ns);
}

/* An answer to another question must not be taken for one to this. */
static bool is_quoted(const struct rl_node *n, const struct rl_vote *vote)
{
	return rl_vote_tells(vote, RL_FIELD_ID) && rl_slice_same(vote->id, rl_slice_of(n->admission->id));
}

void rl_admission_look(struct rl_node *n, const struct rl_reply *reply, uint64_t now_ns)
{
	struct rl_vote vote;
	bool error = reply->value.type == RL_REPLY_ERROR;
	if (!error && !rl_handshake_is_bare(reply)) {
		rl_record_saw(n, now_ns);
		return;
	}
	n->admission->asking = false;
	if (error) {
		rl_answer_read(rl_ops[RL_OP_MEET].outcomes, reply, &vote);
		rl_link_remember(&n->link, vote.code, reply->value.text);
	} else {
		vote = rl_set_bare_vote();
	}
	learn(n, &vote, now_ns);
}

void rl_admission_meet(struct rl_node *n, const struct rl_reply *reply, uint64_t now_ns)
{
	struct rl_vote vote;
	n->admission->asking = false;
	rl_answer_read(rl_ops[RL_OP_MEET].outcomes, reply, &vote);
	if (vote.code == REDLOCK_VOTE_GARBAGE || (vote.code == REDLOCK_VOTE_YES && !is_quoted(n, &vote))) {
		rl_link_fail(&n->link, REDLOCK_VOTE_GARBAGE, "the answer is not to this request");
		return;
	}
	if (reply->value.type == RL_REPLY_ERROR)
		rl_link_remember(&n->link, vote.code, reply->value.text);
	learn(n, &vote, now_ns);
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
		rl_record_ask(n, now_ns);
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
			rl_server_clock_read(n, a->timed_ns, vote->time_ms);
	}
	if ((RL_FORMS_GUARD >> entry->form & 1) != 0 && rl_vote_tells(vote, RL_FIELD_TOKEN))
		n->methods.knows |= UINT64_C(1) << rl_ops[entry->operation].guard_script;
	if (entry->operation == RL_OP_MEET || entry->operation == RL_OP_ADMIT) {
		hear_record(n, entry, vote, now_ns);
	} else if ((RL_FORMS_GUARD >> entry->form & 1) != 0 && vote->code == REDLOCK_VOTE_QUARANTINE) {
		a->over_ns = now_ns;
		a->opinion = (struct rl_set_opinion){.kind = RL_SET_REFUSE, .vote = REDLOCK_VOTE_QUARANTINE};
		rl_record_ask(n, now_ns);
	}
}
