/* SPDX-License-Identifier: MIT */
#include "net/submit.h"

#include <string.h>

#include "core/time.h"
#include "net/auth.h"
#include "net/handshake.h"
#include "net/loss.h"

/* The limits of what may pile up for one node. A node that answers may have much in flight. A node that does
 * not is limited soon: requests first, then releases, which must not be forgotten, then debts (ledger.c). One
 * request is always taken, however large. */
#define FRESH_NS (100 * RL_NS_PER_MS)
#define BACKLOG_FRESH_BYTES ((size_t)4 * 1024 * 1024)
#define BACKLOG_BYTES ((size_t)128 * 1024)
#define BACKLOG_RELEASE_BYTES ((size_t)256 * 1024)

/* ---- what is out ---- */

static bool claims(const struct rl_entry *entry)
{
	return rl_ops[entry->operation].claims;
}

static bool gives_back(const struct rl_entry *entry)
{
	return rl_ops[entry->operation].gives_back;
}

static bool is_given_up(const struct rl_entry *entry)
{
	return entry->given_up;
}

static bool is_in(const struct rl_outbox *outbox, bool (*is)(const struct rl_entry *), struct rl_slice name,
                  struct rl_slice token)
{
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		if (!is(e) || e->refused != REDLOCK_VOTE_PENDING)
			continue;
		struct rl_request r = rl_outbox_request(e, rl_outbox_bytes_at(outbox, i));
		if (rl_slice_same(r.name, name) && rl_slice_same(r.token, token))
			return true;
	}
	return false;
}

/* Whether the node is asked for such a thing, or will be, of this name and token. */
static bool is_out(const struct rl_node *n, bool (*is)(const struct rl_entry *), struct rl_slice name,
                   struct rl_slice token)
{
	return is_in(&n->link.outbox, is, name, token) || is_in(&n->talk.parked, is, name, token);
}

bool rl_submit_may_release(const struct rl_node *n, struct rl_slice name, struct rl_slice token,
                           uint64_t now_ns)
{
	return rl_ledger_has_ghost_of(&n->ledger, rl_slice_hash(token), now_ns) ||
	       is_out(n, gives_back, name, token) || is_in(&n->ledger.debts, gives_back, name, token);
}

/* ---- asking again ---- */

static bool upgrades(const struct rl_entry *entry)
{
	return rl_ops[entry->operation].doubts;
}

/* Whether an extend that keeps a key shared would arrive after the upgrade of that key, and undo it. */
static bool is_overtaken(const struct rl_node *n, const struct rl_op *op, const struct rl_request *r)
{
	bool turns = op->change == RL_CHANGE_LENGTHEN && op->ghost == RL_GHOST_ALWAYS;
	return turns && is_out(n, upgrades, r->name, r->token);
}

static bool ask_as_it_can(struct rl_node *n, const struct rl_entry *entry, struct rl_request *r)
{
	r->pass = n->methods.pass;
	return rl_talk_ask(&n->talk, &n->link.outbox, entry, r, rl_method_choose(&n->methods, r));
}

/* The node refuses a place in the queue, so the waiter looks for one elsewhere. A claim that is made again
 * would come after a release of its token. */
static bool ask_plainly(struct rl_node *n, const struct rl_entry *entry, struct rl_request *r)
{
	struct rl_entry claim = *entry;
	bool late = is_out(n, gives_back, r->name, r->token);
	if (r->place.size > 0 || late || rl_method_may_queue(&n->methods))
		return false;
	claim.operation = (uint8_t)(r->operation = rl_ops[entry->operation].plainly);
	return ask_as_it_can(n, &claim, r);
}

/* Nothing is left for a user who may not run scripts: the refusal is the vote, and the next request begins
 * anew. No form follows the text of the plain script, even when another request has begun anew meanwhile:
 * else several that are out together would be asked again and again. */
static bool is_barred(struct rl_node *n, const struct rl_request *r, enum rl_form form)
{
	const struct rl_op *op = &rl_ops[r->operation];
	bool one_form = (op->forms & (op->forms - 1)) == 0;
	bool only = op->scripted || one_form || (op->several && op->plainly == RL_OP_NONE);
	bool left = (op->forms & n->methods.guarded) != 0 || rl_method_forms(&n->methods, r) != 0;
	bool refused = (n->methods.refused >> rl_method_choose(&n->methods, r) & 1) != 0;
	bool barred = only && (form == RL_FORM_TEXT || !left || refused);
	if (barred)
		rl_method_forgive(&n->methods);
	return barred;
}

/* The text of a claim by script, which the server has forgotten, unless it is given back. */
static bool ask_claim(struct rl_node *n, const struct rl_entry *entry, struct rl_request *r)
{
	return !is_out(n, gives_back, r->name, r->token) && ask_as_it_can(n, entry, r);
}

bool rl_submit_again(struct rl_node *n, const struct rl_entry *entry, const struct rl_reply *reply)
{
	const char *error = reply->value.text;
	enum rl_form form = (enum rl_form)entry->form;
	const struct rl_outbox *asked = &n->link.outbox;
	const struct rl_op *op = &rl_ops[entry->operation];
	bool barred =
	    rl_method_forget(&n->methods, op, form, error) || rl_method_refuse(&n->methods, form, error);
	bool guarded = (RL_FORMS_GUARD >> form & 1) != 0;
	if (!barred || (!op->again && !op->scripted && !guarded && !op->several && op->plainly == RL_OP_NONE))
		return false;
	if (guarded && n->methods.guarded == 0)
		return false; /* it lost its vote meanwhile: not in a form that does not ask for that */
	struct rl_request r = rl_outbox_request(entry, rl_outbox_front_bytes(asked));
	if (is_barred(n, &r, form) || is_overtaken(n, op, &r))
		return false;
	if (op->plainly != RL_OP_NONE && !guarded)
		return ask_plainly(n, entry, &r);
	if (op->claims)
		return ask_claim(n, entry, &r);
	r.unqueued = (RL_FORMS_QUEUE >> form & 1) == 0; /* a later form: not back to an earlier one */
	if (entry->own_value && is_out(n, claims, r.name, r.token))
		return false;
	return ask_as_it_can(n, entry, &r);
}

/* The token is not there any more, or never was: nothing is released. */
void rl_submit_wake(struct rl_node *n, const struct rl_entry *release)
{
	struct rl_request r = rl_outbox_request(release, rl_outbox_front_bytes(&n->link.outbox));
	r.operation = rl_ops[release->operation].wakes;
	r.patience_ms = RL_SUBMIT_PATIENCE_MS;
	struct rl_entry wake = {.tag = release->tag, .operation = (uint8_t)r.operation};
	wake.tag.seq = 0;
	(void)ask_as_it_can(n, &wake, &r);
}

bool rl_submit_debts(struct rl_node *n)
{
	struct rl_outbox *debts = &n->ledger.debts;
	const struct rl_entry *debt;
	while ((debt = rl_outbox_front(debts)) != NULL) {
		struct rl_slice bytes = rl_outbox_front_bytes(debts);
		struct rl_request r = rl_outbox_request(debt, bytes);
		bool parks = rl_method_choose(&n->methods, &r) == RL_FORM_WATCH;
		if (!(parks ? rl_talk_park(&n->talk, debt, &r, bytes) : rl_outbox_push(&n->link.outbox, debt, bytes)))
			return false;
		rl_outbox_pop(debts);
	}
	return true;
}

/* ---- the caller's own value ---- */

void rl_submit_give_up(struct rl_node *n, struct rl_tag tag)
{
	if (!rl_outbox_give_up(&n->talk.parked, tag) && !rl_outbox_give_up(&n->link.outbox, tag))
		n->ledger.lingering++;
}

bool rl_submit_give_back(struct rl_node *n, const struct rl_entry *claim)
{
	struct rl_request r = rl_outbox_request(claim, rl_outbox_front_bytes(&n->link.outbox));
	r.operation = rl_ops[claim->operation].undo;
	struct rl_entry release = {.tag = claim->tag,
	                           .operation = (uint8_t)r.operation,
	                           .owed = true,
	                           .own_value = true,
	                           .goes_on = !claim->own_value,
	                           .token_hash = rl_slice_hash(r.token)};
	release.tag.seq = 0;
	return ask_as_it_can(n, &release, &r);
}

bool rl_submit_anew(struct rl_node *n, const struct rl_entry *entry)
{
	struct rl_request r = rl_outbox_request(entry, rl_outbox_front_bytes(&n->link.outbox));
	return ask_as_it_can(n, entry, &r);
}

/* ---- submitting ---- */

static bool has_room(const struct rl_node *n, bool release, size_t size, uint64_t now_ns)
{
	const struct rl_outbox *asked = &n->link.outbox, *parked = &n->talk.parked;
	if (n->ledger.debts.count > 0)
		return false; /* a debt was asked for earlier: nothing may overtake it */
	bool fresh = now_ns - n->link.progress_ns < FRESH_NS;
	size_t limit = fresh ? BACKLOG_FRESH_BYTES : release ? BACKLOG_RELEASE_BYTES : BACKLOG_BYTES;
	size_t waiting = parked->count > 0 ? rl_outbox_size(parked) : 0;
	return asked->count + parked->count == 0 || rl_outbox_size(asked) + waiting + size <= limit;
}

/* Whether the SET that this release belongs to is still waiting to be handed out as never sent. */
static bool behind_unsent_set(const struct rl_node *n, const struct rl_entry *entry)
{
	const struct rl_outbox *asked = &n->link.outbox;
	if (n->link.state != RL_LINK_BROKEN)
		return false;
	if (rl_outbox_find_claim(&n->talk.parked, entry->tag) != 0)
		return true;
	uint64_t set = rl_outbox_find_claim(asked, entry->tag);
	return set != 0 && !rl_loss_is_unknown(rl_loss_vote(n, rl_outbox_is_unsent(asked, set)));
}

static enum redlock_vote_code refuse(struct rl_node *n, enum redlock_vote_code vote,
                                     const struct rl_entry *entry, const struct rl_buffer *form)
{
	if (!entry->owed || behind_unsent_set(n, entry))
		return vote;
	if (form != NULL)
		rl_ledger_keep(&n->ledger, entry, (struct rl_slice){form->bytes, form->size});
	else
		n->ledger.lingering++;
	return vote;
}

/* Where the SET of an owed release is, if it may be that it is never sent. */
static void find_set(const struct rl_node *n, struct rl_entry *entry, bool parks)
{
	entry->set_number = parks ? rl_outbox_find_claim(&n->talk.parked, entry->tag) : 0;
	entry->set_parked = entry->set_number != 0;
	if (entry->set_number == 0 && (n->link.setup.count + n->link.gate > 0 || n->link.login == RL_LOGIN_HOLDS))
		entry->set_number = rl_outbox_find_claim(&n->link.outbox, entry->tag);
}

/* There is no memory for a request. An ASKING before it would be for the next one. */
static enum redlock_vote_code refuse_alone(struct rl_node *n, const struct rl_request *r,
                                           const struct rl_entry *entry, const struct rl_buffer *form)
{
	enum redlock_vote_code vote = refuse(n, REDLOCK_VOTE_BACKLOG, entry, form);
	if (r->asking)
		rl_link_fail_memory(&n->link);
	return vote;
}

/* For how long a request waits for the replicas of a node that has them; 0: not at all. While some are
 * missing, only a request that finds nothing under way waits for the whole time: the others would wait one
 * after the other, and releases after them. */
static uint16_t wait_ms_of(const struct rl_node *n, const struct rl_request *r)
{
	if (!rl_ops[r->operation].relies)
		return 0;
	bool missing = n->unreplicated && n->link.outbox.count > 0;
	return missing || r->wait_ms == 0 ? 1 : r->wait_ms;
}

enum redlock_vote_code rl_submit_request(struct rl_node *n, const struct rl_request *r, struct rl_wire *wire,
                                         uint64_t now_ns)
{
	struct rl_link *l = &n->link;
	const struct rl_op *op = &rl_ops[r->operation];
	if (op->relies && r->own_value && is_out(n, is_given_up, r->name, r->token))
		return REDLOCK_VOTE_STALE;
	enum rl_form form = rl_method_choose(&n->methods, r);
	bool parks = form == RL_FORM_WATCH ||
	             (n->talk.parked.count > 0 && !op->several && rl_talk_is_parked(&n->talk, r->name));
	if (parks)
		form = op->parked_as;
	const struct rl_buffer *bytes = rl_request_bytes(wire, r, form);
	struct rl_entry entry = {
	    .tag = r->tag,
	    .operation = (uint8_t)r->operation,
	    .form = (uint8_t)form,
	    .owed = (r->owed >> n->id & 1) != 0,
	    .own_value = r->own_value,
	    .fenced = r->fenced,
	    .timed = r->timed,
	    .hops = r->hops,
	    .wait_ms = l->endpoint.replicas > 0 ? wait_ms_of(n, r) : 0,
	    .replicas = (uint8_t)l->endpoint.replicas,
	};
	if (l->state == RL_LINK_DOWN || l->state == RL_LINK_BROKEN)
		return refuse(n, rl_loss_unsent_vote(n, REDLOCK_VOTE_DOWN), &entry, bytes);
	if (bytes == NULL || !has_room(n, op->gives_back, bytes->size, now_ns))
		return refuse(n, REDLOCK_VOTE_BACKLOG, &entry, bytes);
	if (l->outbox.count == 0)
		l->progress_ns = now_ns;
	if (entry.owed && (parks || l->setup.count + l->gate > 0 || l->login == RL_LOGIN_HOLDS))
		find_set(n, &entry, parks);
	struct rl_slice all = {bytes->bytes, bytes->size};
	if (r->asking && (parks || !rl_handshake_asking(&l->outbox)))
		return refuse(n, REDLOCK_VOTE_BLOCKED, &entry, bytes);
	bool asked = parks               ? rl_talk_park(&n->talk, &entry, r, all)
	             : entry.wait_ms > 0 ? rl_outbox_ask(&l->outbox, &entry, all)
	                                 : rl_outbox_push(&l->outbox, &entry, all);
	if (!asked)
		return refuse_alone(n, r, &entry, bytes);
	return REDLOCK_VOTE_PENDING;
}

/* ---- sending ---- */

/* Not before the opening commands are answered, which may say that this is another server; nor when a login
 * waits for what is under way. */
static bool may_talk(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	bool ready = l->state == RL_LINK_OPEN && l->setup.count == 0 && l->gate == 0 && l->login == RL_LOGIN_NONE;
	return ready && rl_talk_may_go_on(&n->talk);
}

bool rl_submit_can_send(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	if (l->state != RL_LINK_OPEN || l->watching_write)
		return l->state == RL_LINK_BROKEN;
	return rl_link_has_unsent(l) || may_talk(n);
}

/* Queues the next request that no caller asked for. False: out of memory. */
static bool ask_more(struct rl_node *n)
{
	bool idle = n->link.outbox.count + n->talk.parked.count == 0; /* the SETs of all debts have left */
	if (idle && n->ledger.debts.count > 0 && !rl_submit_debts(n))
		return false;
	return n->talk.parked.count == 0 || !may_talk(n) || rl_talk_go_on(&n->talk, &n->methods, &n->link.outbox);
}

void rl_submit_flush(struct rl_node *n)
{
	struct rl_link *l = &n->link;
	if (l->state != RL_LINK_OPEN)
		return;
	if ((n->ledger.debts.count | n->talk.parked.count) > 0 && !ask_more(n)) {
		rl_link_fail_memory(&n->link);
		return;
	}
	if (rl_link_send(l) && l->login != RL_LOGIN_NONE && !rl_talk_is_begun(&n->talk) && rl_auth_go_on(l))
		(void)rl_link_send(l);
}
