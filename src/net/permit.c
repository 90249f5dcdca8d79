/* SPDX-License-Identifier: MIT */
#include "net/permit.h"

#include "core/time.h"
#include "net/record.h"
#include "proto/answer.h"

/* How soon a node that does not vote is asked again, if somebody wants its vote: by then another client may
 * have admitted it, or an operator mended what is wrong. */
#define SOON_NS (20 * RL_NS_PER_MS)
#define LATER_NS (1000 * RL_NS_PER_MS)

/* ---- a node that does not vote ---- */

int64_t rl_permit_left_ms(const struct rl_node *n, uint64_t now_ns)
{
	uint64_t left_ns = rl_time_sub(n->admission->over_ns, now_ns);
	if (n->admission->opinion.has_no_end)
		return -1;
	return (int64_t)(left_ns / RL_NS_PER_MS + (left_ns % RL_NS_PER_MS > 0));
}

static struct rl_vote refusal(const struct rl_node *n, enum redlock_vote_code code, uint64_t now_ns)
{
	return (struct rl_vote){.code = code, .left_ms = rl_permit_left_ms(n, now_ns)};
}

bool rl_permit_next(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
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

static void ask_if_due(struct rl_node *n, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	bool mends = a->opinion.vote != REDLOCK_VOTE_FOREIGN && a->opinion.vote != REDLOCK_VOTE_UNGUARDED;
	uint64_t due_ns = rl_time_add(a->asked_ns, mends ? SOON_NS : LATER_NS);
	if (now_ns >= due_ns && now_ns >= a->over_ns)
		rl_record_ask(n, now_ns);
	else
		n->admission->wanted = mends;
}

uint64_t rl_permit_deadline(const struct rl_node *n)
{
	const struct rl_admission *a = n->admission;
	return a->wanted ? rl_time_max(a->over_ns, rl_time_add(a->asked_ns, SOON_NS)) : UINT64_MAX;
}

void rl_permit_tick(struct rl_node *n, uint64_t now_ns)
{
	n->admission->wanted = false;
	if (n->admission->opinion.kind == RL_SET_REFUSE)
		rl_record_ask(n, now_ns);
}

/* ---- requests ---- */

/* Whether the question for the record is among the requests. */
static bool is_asked_in_turn(const struct rl_node *n)
{
	bool asked = false;
	for (unsigned i = 0; i < n->link.outbox.count && !asked; i++)
		asked = rl_outbox_at(&n->link.outbox, i)->operation == RL_OP_MEET;
	return asked;
}

bool rl_permit_is_unsent(const struct rl_node *n)
{
	return n->link.outbox.count > 0 && rl_outbox_front_unsent(&n->link.outbox);
}

void rl_permit_hold(struct rl_node *n, const struct rl_request *r)
{
	struct rl_admission *a = n->admission;
	bool unknown = a->opinion.kind == RL_SET_HOLD && !a->holds && r->fenced;
	if (!unknown || n->link.state == RL_LINK_DOWN)
		return;
	if (is_asked_in_turn(n)) { /* it would wait for itself; the request waits for a new connection */
		a->awaited |= !a->leaves && rl_record_leave(n);
		return;
	}
	if (n->link.outbox.count > 0 && !rl_permit_is_unsent(n))
		return;
	a->holds = true;
	n->link.gate++;
}

/* The vote of an admitted node on a request that it must not be asked; PENDING: it may be asked. */
static enum redlock_vote_code object(struct rl_node *n, const struct rl_request *r)
{
	const struct rl_admission *a = n->admission;
	if (r->fenced && a->opinion.objection != NULL) {
		rl_link_remember(&n->link, REDLOCK_VOTE_FOREIGN, a->opinion.objection);
		return REDLOCK_VOTE_FOREIGN;
	}
	return r->ttl_ms > a->set->ttl_ms ? REDLOCK_VOTE_LONG_TTL : REDLOCK_VOTE_PENDING;
}

/* Only a guarded node set has fencing numbers. */
static enum redlock_vote_code refuse_number(struct rl_node *n)
{
	rl_link_remember(&n->link, REDLOCK_VOTE_UNGUARDED, RL_SET_NO_RECORD);
	return REDLOCK_VOTE_UNGUARDED;
}

enum redlock_vote_code rl_permit_vote(struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	const struct rl_op *op = &rl_ops[r->operation];
	if (n->link.state != RL_LINK_OPEN) /* it may have to connect first */
		return REDLOCK_VOTE_PENDING;
	if (a->holds || a->opinion.kind == RL_SET_HOLD)
		return REDLOCK_VOTE_PENDING;
	bool checks = (op->forms & RL_FORMS_GUARD) != 0;
	if (!checks && !op->relies)
		return REDLOCK_VOTE_PENDING;
	if (a->opinion.kind == RL_SET_ASK)
		return r->fenced ? refuse_number(n) : REDLOCK_VOTE_PENDING;
	if (!checks && (a->set->require || rl_set_is_guarded(a->set)))
		return REDLOCK_VOTE_UNCHECKED;
	if (a->opinion.kind == RL_SET_PASSES)
		return object(n, r);
	ask_if_due(n, now_ns);
	return a->opinion.kind == RL_SET_REFUSE ? a->opinion.vote : REDLOCK_VOTE_QUARANTINE;
}

/* ---- answers ---- */

/* A "no" of a claim needs no record: somebody has the key, whatever this node has forgotten. */
enum rl_permit_weight rl_permit_weigh(const struct rl_node *n, const struct rl_entry *entry,
                                      const struct rl_reply *reply, struct rl_vote *ret)
{
	const struct rl_op *op = &rl_ops[entry->operation];
	const struct rl_set_opinion *o = &n->admission->opinion;
	bool unguarded = op->relies && (RL_FORMS_GUARD >> entry->form & 1) == 0;
	if (!unguarded || o->kind == RL_SET_ASK || reply->value.type == RL_REPLY_ERROR)
		return RL_PERMIT_COUNTS;
	rl_answer_read(op->outcomes, reply, ret);
	bool yes = ret->code == REDLOCK_VOTE_YES, no = ret->code == REDLOCK_VOTE_NO;
	if ((!yes && !no) || (no && op->claims && o->kind != RL_SET_REFUSE))
		return RL_PERMIT_COUNTS;
	if (o->kind != RL_SET_HOLD || n->admission->seen)
		return RL_PERMIT_VOID;
	const struct rl_set *set = n->admission->set;
	if (set->records[n->id].met || !is_asked_in_turn(n)) /* else the record comes after this answer */
		return RL_PERMIT_WAITS;
	return rl_set_is_guarded(set) ? RL_PERMIT_VOID : RL_PERMIT_COUNTS;
}

struct rl_vote rl_permit_vote_anew(struct rl_node *n, const struct rl_entry *entry, uint64_t now_ns)
{
	struct rl_request r = rl_outbox_request(entry, rl_outbox_front_bytes(&n->link.outbox));
	enum redlock_vote_code code = rl_permit_vote(n, &r, now_ns);
	bool stays = n->admission->leaves || !rl_record_is_aged(n, now_ns) || rl_record_leave(n);
	if (code == REDLOCK_VOTE_PENDING && !stays)
		code = REDLOCK_VOTE_UNSENT; /* the next request makes a new connection */
	return refusal(n, code, now_ns);
}

enum redlock_vote_code rl_permit_of_talk(const struct rl_node *n)
{
	const struct rl_set_opinion *o = &n->admission->opinion;
	if (o->kind == RL_SET_ASK)
		return REDLOCK_VOTE_YES;
	return o->kind == RL_SET_REFUSE ? o->vote : REDLOCK_VOTE_QUARANTINE;
}
