/* SPDX-License-Identifier: MIT */
#include "net/ask.h"

#include <string.h>

/* ---- asking again ---- */

static bool has_set_of(const struct rl_outbox *outbox, struct rl_slice name)
{
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		if (!rl_ops[e->operation].claims)
			continue;
		struct rl_request r = rl_outbox_request(e, rl_outbox_bytes_at(outbox, i));
		if (rl_slice_same(r.name, name))
			return true;
	}
	return false;
}

static bool ask_as_it_can(struct rl_node *n, const struct rl_entry *entry, const struct rl_request *r)
{
	return rl_talk_ask(&n->talk, &n->link.outbox, entry, r, rl_method_choose(&n->methods, r));
}

bool rl_ask_again(struct rl_node *n, const struct rl_entry *entry, const struct rl_reply *reply)
{
	const char *error = reply->value.text;
	enum rl_form form = (enum rl_form)entry->form;
	const struct rl_outbox *asked = &n->link.outbox;
	if (!rl_ops[entry->operation].again)
		return false;
	bool noscript = form == RL_FORM_SHA && strncmp(error, "NOSCRIPT", 8) == 0;
	if (!noscript && !rl_method_refuse(&n->methods, form, error))
		return false;
	struct rl_request r = rl_outbox_request(entry, rl_outbox_front_bytes(asked));
	if (entry->own && (has_set_of(asked, r.name) || has_set_of(&n->talk.parked, r.name)))
		return false;
	r.by_text |= noscript;
	return ask_as_it_can(n, entry, &r);
}

bool rl_ask_debts(struct rl_node *n)
{
	struct rl_outbox *debts = &n->ledger.debts;
	const struct rl_entry *debt;
	while ((debt = rl_outbox_front(debts)) != NULL) {
		struct rl_slice bytes = rl_outbox_front_bytes(debts);
		struct rl_request r = rl_outbox_request(debt, bytes);
		bool parks = rl_method_choose(&n->methods, &r) == RL_FORM_WATCH;
		if (!(parks ? rl_talk_park(&n->talk, debt, r.name, bytes)
		            : rl_outbox_push(&n->link.outbox, debt, bytes)))
			return false;
		rl_outbox_pop(debts);
	}
	return true;
}

/* ---- the caller's own value ---- */

void rl_ask_give_up(struct rl_node *n, struct rl_tag tag)
{
	if (!rl_outbox_give_up(&n->talk.parked, tag) && !rl_outbox_give_up(&n->link.outbox, tag))
		n->ledger.lingering++;
}

static bool has_given_up(const struct rl_outbox *outbox, const struct rl_request *r)
{
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		if (!e->given_up)
			continue;
		struct rl_request old = rl_outbox_request(e, rl_outbox_bytes_at(outbox, i));
		if (rl_slice_same(old.name, r->name) && rl_slice_same(old.token, r->token))
			return true;
	}
	return false;
}

bool rl_ask_is_given_up(const struct rl_node *n, const struct rl_request *r)
{
	return has_given_up(&n->link.outbox, r) || has_given_up(&n->talk.parked, r);
}

bool rl_ask_to_give_back(struct rl_node *n, const struct rl_entry *claim)
{
	struct rl_request r = rl_outbox_request(claim, rl_outbox_front_bytes(&n->link.outbox));
	r.operation = rl_ops[claim->operation].undo;
	struct rl_entry release = {
	    .tag = claim->tag, .operation = (uint8_t)r.operation, .owed = true, .own = true};
	release.tag.seq = 0;
	return ask_as_it_can(n, &release, &r);
}
