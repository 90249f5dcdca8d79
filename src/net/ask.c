/* SPDX-License-Identifier: MIT */
/*
 * The requests of one node: whether there is room for one, in which form it is asked, and what becomes of it
 * when the server refuses that form (method.h). A refusal is no vote: the same request is asked again in the
 * next form, behind all that was asked meanwhile.
 *
 * So a SET may overtake a release that is asked again. With a fresh token for each attempt that is harmless:
 * the release does not match the new one. With the caller's own value it would delete the key of the next
 * acquisition. Such a request is asked again only if no SET of its name waits behind it; else the refusal is
 * its vote, and the key is counted as lingering.
 *
 * And the release of an attempt with the caller's own value that has failed is not sent behind its SET: that
 * may find the key of an earlier acquisition, or be executed before a later one, and the release would delete
 * that. It waits for the SET to say that it made the key, and is sent then. Until it has said so, the node
 * takes no other SET of that name and value. A SET whose connection ends first says nothing: what it may have
 * made is counted as lingering.
 */
#include <string.h>

#include "core/quorum.h"
#include "net/node.h"

/* What may pile up for one node. A node that answers may have much in flight. One that does not is limited
 * soon: requests first, then releases, which must not be forgotten, then debts (node.c). One request is
 * always taken, however large. */
#define FRESH_NS (100 * RL_NS_PER_MS)
#define BACKLOG_FRESH_BYTES ((size_t)4 * 1024 * 1024)
#define BACKLOG_BYTES ((size_t)128 * 1024)
#define BACKLOG_RELEASE_BYTES ((size_t)256 * 1024)

struct rl_request rl_ask_request(const struct rl_entry *entry, struct rl_slice bytes)
{
	struct rl_request r = {
	    .operation = entry->operation,
	    .tag = entry->tag,
	    .by_text = entry->own,
	};
	rl_request_read(bytes, (enum rl_form)entry->form, &r);
	return r;
}

/* ---- the caller's own value ---- */

static void give_up_claim(struct rl_node *n, struct rl_tag tag)
{
	if (!rl_outbox_give_up(&n->parked, tag) && !rl_outbox_give_up(&n->outbox, tag))
		n->lingering++;
}

/* Whether an older SET that was given up is not answered. */
static bool has_given_up(const struct rl_outbox *outbox, const struct rl_request *r)
{
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		if (!e->given_up)
			continue;
		struct rl_request old = rl_ask_request(e, rl_outbox_bytes_at(outbox, i));
		if (rl_slice_same(old.name, r->name) && rl_slice_same(old.token, r->token))
			return true;
	}
	return false;
}

bool rl_ask_to_give_back(struct rl_node *n, const struct rl_entry *set)
{
	struct rl_request r = rl_ask_request(set, rl_outbox_front_bytes(&n->outbox));
	r.operation = rl_ops[set->operation].undo;
	struct rl_entry release = {.tag = set->tag, .operation = (uint8_t)r.operation, .owed = true, .own = true};
	release.tag.seq = 0;
	return rl_ask_as(n, &release, &r, rl_method_choose(&n->methods, &r));
}

/* ---- submitting ---- */

static bool has_room(const struct rl_node *n, bool release, size_t size, uint64_t now_ns)
{
	if (n->debts.count > 0)
		return false; /* a debt was asked for earlier: nothing may overtake it */
	bool fresh = now_ns - n->progress_ns < FRESH_NS;
	size_t limit = fresh ? BACKLOG_FRESH_BYTES : release ? BACKLOG_RELEASE_BYTES : BACKLOG_BYTES;
	size_t parked = n->parked.count > 0 ? rl_outbox_size(&n->parked) : 0;
	return n->outbox.count + n->parked.count == 0 || rl_outbox_size(&n->outbox) + parked + size <= limit;
}

/* Whether the SET that this release belongs to is still waiting to be handed out as never sent. */
static bool behind_unsent_set(const struct rl_node *n, const struct rl_entry *entry)
{
	if (n->link != RL_LINK_BROKEN)
		return false;
	if (rl_outbox_find_claim(&n->parked, entry->tag) != 0)
		return true;
	uint64_t set = rl_outbox_find_claim(&n->outbox, entry->tag);
	if (set == 0)
		return false;
	enum redlock_vote_code vote = rl_node_broken_vote(n, rl_outbox_is_unsent(&n->outbox, set));
	return vote != REDLOCK_VOTE_CLOSED && vote != REDLOCK_VOTE_GARBAGE;
}

static enum redlock_vote_code refuse(struct rl_node *n, enum redlock_vote_code vote,
                                     const struct rl_entry *entry, const struct rl_buffer *form)
{
	if (!entry->owed || behind_unsent_set(n, entry))
		return vote;
	if (form != NULL)
		rl_node_keep_debt(n, entry, (struct rl_slice){form->bytes, form->size});
	else
		n->lingering++;
	return vote;
}

/* Where the SET of an owed release is, if it may be that it is never sent. */
static void find_set(const struct rl_node *n, struct rl_entry *entry, bool parks)
{
	entry->set_number = parks ? rl_outbox_find_claim(&n->parked, entry->tag) : 0;
	entry->set_parked = entry->set_number != 0;
	if (entry->set_number == 0 && (n->setup.count > 0 || n->login_holds))
		entry->set_number = rl_outbox_find_claim(&n->outbox, entry->tag);
}

enum redlock_vote_code rl_node_submit(struct rl_node *n, const struct rl_request *r, struct rl_wire *wire,
                                      uint64_t now_ns)
{
	if (n->dial.known.count == 0 && !n->dial.by_name)
		return REDLOCK_VOTE_NAME;
	if (r->unproven) {
		give_up_claim(n, r->tag);
		return REDLOCK_VOTE_PENDING;
	}
	if (n->link == RL_LINK_DOWN && n->failures == 0)
		rl_node_connect(n, now_ns);
	const struct rl_op *op = &rl_ops[r->operation];
	if (op->claims && r->by_text && (has_given_up(&n->outbox, r) || has_given_up(&n->parked, r)))
		return REDLOCK_VOTE_STALE;
	enum rl_form form = rl_method_choose(&n->methods, r);
	bool parks = form == RL_FORM_WATCH || (n->parked.count > 0 && rl_talk_is_parked(n, r->name));
	if (parks)
		form = op->parked_as;
	const struct rl_buffer *bytes = rl_wire_form(wire, r, form);
	struct rl_entry entry = {
	    .tag = r->tag,
	    .operation = (uint8_t)r->operation,
	    .form = (uint8_t)form,
	    .owed = (r->owed >> n->id & 1) != 0,
	    .own = r->by_text,
	};
	if (n->link == RL_LINK_DOWN || n->link == RL_LINK_BROKEN)
		return refuse(n, rl_node_unsent_vote(n, REDLOCK_VOTE_DOWN), &entry, bytes);
	if (bytes == NULL || !has_room(n, op->gives_back, bytes->size, now_ns))
		return refuse(n, REDLOCK_VOTE_BACKLOG, &entry, bytes);
	if (n->outbox.count == 0)
		n->progress_ns = now_ns;
	if (entry.owed && (parks || n->setup.count > 0 || n->login_holds))
		find_set(n, &entry, parks);
	struct rl_slice all = {bytes->bytes, bytes->size};
	if (!(parks ? rl_talk_park(n, &entry, r->name, all) : rl_outbox_push(&n->outbox, &entry, all)))
		return refuse(n, REDLOCK_VOTE_BACKLOG, &entry, bytes);
	return REDLOCK_VOTE_PENDING;
}

/* ---- asking again ---- */

static bool has_set_of(const struct rl_outbox *outbox, struct rl_slice name)
{
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		if (!rl_ops[e->operation].claims)
			continue;
		struct rl_request r = rl_ask_request(e, rl_outbox_bytes_at(outbox, i));
		if (rl_slice_same(r.name, name))
			return true;
	}
	return false;
}

bool rl_ask_as(struct rl_node *n, const struct rl_entry *entry, const struct rl_request *r, enum rl_form form)
{
	struct rl_buffer bytes = {0};
	struct rl_entry again = *entry;
	bool parks = form == RL_FORM_WATCH;
	again.form = (uint8_t)(parks ? rl_ops[r->operation].parked_as : form);
	again.set_number = 0;
	again.set_parked = false;
	bool ok = rl_request_write(&bytes, r, (enum rl_form)again.form);
	struct rl_slice all = {bytes.bytes, bytes.size};
	ok = ok && (parks ? rl_talk_park(n, &again, r->name, all) : rl_outbox_push(&n->outbox, &again, all));
	rl_buffer_free(&bytes);
	return ok;
}

bool rl_ask_again(struct rl_node *n, const struct rl_entry *entry, const struct rl_reply *reply)
{
	const char *error = reply->value.text;
	enum rl_form form = (enum rl_form)entry->form;
	if (!rl_ops[entry->operation].again)
		return false;
	bool noscript = form == RL_FORM_SHA && strncmp(error, "NOSCRIPT", 8) == 0;
	if (!noscript && !rl_method_refuse(&n->methods, form, error))
		return false;
	struct rl_request r = rl_ask_request(entry, rl_outbox_front_bytes(&n->outbox));
	if (entry->own && (has_set_of(&n->outbox, r.name) || has_set_of(&n->parked, r.name)))
		return false;
	r.by_text |= noscript;
	return rl_ask_as(n, entry, &r, rl_method_choose(&n->methods, &r));
}

bool rl_ask_debts(struct rl_node *n)
{
	const struct rl_entry *debt;
	while ((debt = rl_outbox_front(&n->debts)) != NULL) {
		struct rl_slice bytes = rl_outbox_front_bytes(&n->debts);
		struct rl_request r = rl_ask_request(debt, bytes);
		bool parks = rl_method_choose(&n->methods, &r) == RL_FORM_WATCH;
		if (!(parks ? rl_talk_park(n, debt, r.name, bytes) : rl_outbox_push(&n->outbox, debt, bytes)))
			return false;
		rl_outbox_pop(&n->debts);
	}
	return true;
}
