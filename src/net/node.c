/* SPDX-License-Identifier: MIT */
#include "net/node.h"

#include <stdlib.h>
#include <string.h>

#include "core/queue.h"
#include "core/time.h"
#include "net/admission.h"
#include "net/auth.h"
#include "net/handshake.h"
#include "net/loss.h"
#include "net/permit.h"
#include "net/record.h"
#include "net/replicas.h"
#include "net/server_clock.h"
#include "net/submit.h"
#include "proto/answer.h"

#define LINGER_NS (10000 * RL_NS_PER_MS)
#define DEAF_NS (60000 * RL_NS_PER_MS)

/* ---- life ---- */

bool rl_node_open(struct rl_node *n, const struct rl_endpoint *endpoint, struct rl_tls_context *tls,
                  struct rl_poller *poller, uint32_t id)
{
	memset(n, 0, offsetof(struct rl_node, link));
	n->id = id;
	n->listener_id = id + RL_WATCH_NODES;
	if (!rl_link_open(&n->link, endpoint, tls, poller, id))
		return false;
	if (n->link.endpoint.master != NULL)
		n->sentinels = rl_sentinels_new(&n->link, id);
	return n->link.endpoint.master == NULL || n->sentinels != NULL;
}

void rl_node_close(struct rl_node *n, bool child)
{
	rl_listener_free(n->listener, child);
	rl_sentinels_free(n->sentinels, child);
	rl_link_close(&n->link, child);
	rl_outbox_free(&n->ledger.debts);
	rl_talk_free(&n->talk);
	free(n->admission);
}

/* Whether INFO must have told which server this is before anything is asked of it. */
static bool waits_for_info(const struct rl_node *n)
{
	return n->ledger.ghost_count > 0 || n->link.in_cluster;
}

static bool begin_handshake(struct rl_node *n, uint64_t now_ns)
{
	return rl_handshake_begin(&n->link, waits_for_info(n)) &&
	       (n->admission == NULL || rl_record_begin(n, now_ns));
}

void rl_node_connect(struct rl_node *n, uint64_t now_ns)
{
	if (!rl_link_begin(&n->link, now_ns))
		return;
	rl_method_connect(&n->methods);
	if (begin_handshake(n, now_ns) && rl_submit_debts(n))
		rl_link_dial(&n->link, now_ns);
	else
		rl_link_fail_memory(&n->link);
	rl_sentinels_seek(n->sentinels, now_ns);
}

/* No byte of a connection that is being made has left: it opens with the new ones. */
void rl_node_renew(struct rl_node *n, uint64_t now_ns)
{
	struct rl_link *l = &n->link;
	l->new_credentials = true;
	n->deaf_until_ns = 0;
	if (n->listener != NULL)
		rl_listener_renew(n->listener, now_ns); /* a listening link cannot log in again */
	switch (l->state) {
	case RL_LINK_DOWN:
		if (l->failure != REDLOCK_VOTE_AUTH)
			break;
		l->backoff.failures = 0;
		rl_node_connect(n, now_ns);
		break;
	case RL_LINK_CONNECTING:
		if (!begin_handshake(n, now_ns))
			rl_link_fail_memory(&n->link); /* half of it must not be said */
		break;
	case RL_LINK_OPEN:
		rl_auth_accepted(l); /* what was refused before were the old ones */
		break;
	case RL_LINK_BROKEN:
		break; /* rl_link_end() comes */
	}
}

void rl_node_tick(struct rl_node *n, uint64_t now_ns)
{
	if (now_ns >= rl_link_deadline(&n->link) && rl_link_tick(&n->link, now_ns))
		rl_node_connect(n, now_ns);
}

/* ---- votes ---- */

/* Counts what an answer says of the node, and of a key that was owed. `error`: what the server said, NULL if
 * it was no error. */
static void settle(struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote,
                   const char *error, uint64_t now_ns)
{
	if (vote == REDLOCK_VOTE_READONLY || vote == REDLOCK_VOTE_REPLICAS) {
		rl_dial_doubt(&n->link.dial, now_ns);
		rl_sentinels_seek(n->sentinels, now_ns);
	}
	if (error != NULL && vote != REDLOCK_VOTE_NO)
		rl_link_remember(&n->link, vote, error);
	rl_ledger_settle(&n->ledger, entry, vote, now_ns);
}

static bool next_of_talk(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	struct rl_talk_result r;
	enum rl_talk_news news;
	while ((news = rl_talk_next(&n->talk, &n->methods, &n->link.outbox, &r)) != RL_TALK_WAITS) {
		if (news == RL_TALK_BROKEN) {
			rl_link_fail_memory(&n->link);
			continue;
		}
		settle(n, &r.entry, r.vote.code, r.error, now_ns);
		*ret = (struct rl_answer){.tag = r.entry.tag, .operation = r.entry.operation, .vote = r.vote};
		if (n->guards && r.vote.code == REDLOCK_VOTE_YES && rl_ops[r.entry.operation].relies)
			ret->vote.code = rl_permit_of_talk(n);
		if (r.vote.code == REDLOCK_VOTE_YES && n->link.endpoint.replicas > 0 &&
		    rl_ops[r.entry.operation].relies)
			ret->vote.code = REDLOCK_VOTE_UNREPLICATED; /* a transaction has no WAIT after it */
		if (r.vote.code == REDLOCK_VOTE_YES && n->ledger.ghost_stays &&
		    rl_ledger_doubts_yes(&n->ledger, &r.entry, NULL, now_ns))
			ret->vote.code = REDLOCK_VOTE_STALE;
		if (r.entry.tag.seq != 0)
			return true;
	}
	return false;
}

/* Hands out everything that is unanswered; then the node is down until the next connection. */
static bool next_broken(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	rl_loss_begin(n);
	if (next_of_talk(n, ret, now_ns) || rl_loss_next(n, ret))
		return true;
	n->breaking = false;
	rl_ledger_break(&n->ledger, &n->link.facts, now_ns);
	rl_link_end(&n->link, n->ledger.debts.count > 0, now_ns);
	rl_talk_end(&n->talk);
	if (n->admission != NULL)
		rl_set_give_up(n->admission->set, UINT32_C(1) << n->id);
	return false;
}

/* ---- requests ---- */

static void renew_if_due(struct rl_node *n, uint64_t now_ns)
{
	if (rl_admission_renews(n, now_ns))
		rl_node_connect(n, now_ns);
}

/* False: it can go neither by this connection nor by a new one yet. */
static bool may_go(struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	if (!rl_record_must_leave(n, r, now_ns))
		return true;
	bool leaves = rl_record_leave(n);
	renew_if_due(n, now_ns);
	return leaves;
}

/* A node of a guarded set may have a vote without being asked, and is asked with a pass of its own. */
static enum redlock_vote_code submit_guarded(struct rl_node *n, const struct rl_request *r,
                                             struct rl_wire *wire, uint64_t now_ns)
{
	struct rl_request guarded = *r;
	if (!may_go(n, r, now_ns))
		return REDLOCK_VOTE_BACKLOG;
	rl_permit_hold(n, r);
	enum redlock_vote_code refused = rl_permit_vote(n, r, now_ns);
	if (refused != REDLOCK_VOTE_PENDING)
		return refused;
	guarded.pass = n->methods.pass;
	guarded.timed = rl_server_clock_times(n, r, now_ns);
	rl_request_pass(wire, &guarded);
	enum redlock_vote_code vote = rl_submit_request(n, &guarded, wire, now_ns);
	if (guarded.timed && vote == REDLOCK_VOTE_PENDING)
		rl_server_clock_timed(n, now_ns);
	return vote;
}

/* A claim at a known duplicate could arrive before that of the node whose vote counts, which the server would
 * then refuse. A new connection may lead to another server. */
static bool is_known_duplicate(const struct rl_node *n, const struct rl_request *r)
{
	bool opened = n->link.state == RL_LINK_OPEN && n->link.setup.count == 0;
	return opened && rl_ops[r->operation].claims;
}

/* Sends what needs a check first, off the path of plain locks. */
static __attribute__((noinline)) enum redlock_vote_code submit_restricted(struct rl_node *n,
                                                                          const struct rl_request *r,
                                                                          struct rl_wire *wire,
                                                                          uint64_t now_ns)
{
	if (n->duplicate && is_known_duplicate(n, r))
		return REDLOCK_VOTE_DUPLICATE;
	bool looks = n->guards || (r->fenced && n->admission != NULL);
	return looks ? submit_guarded(n, r, wire, now_ns) : rl_submit_request(n, r, wire, now_ns);
}

enum redlock_vote_code rl_node_submit(struct rl_node *n, const struct rl_request *r, struct rl_wire *wire,
                                      uint64_t now_ns)
{
	const struct rl_link *l = &n->link;
	if (l->dial.known.count == 0 && !l->dial.by_name)
		return REDLOCK_VOTE_NAME;
	if (r->unproven) {
		rl_submit_give_up(n, r->tag);
		return REDLOCK_VOTE_PENDING;
	}
	if (l->state == RL_LINK_DOWN && l->backoff.failures == 0)
		rl_node_connect(n, now_ns);
	bool restricted = n->guards | n->duplicate | r->fenced;
	return restricted ? submit_restricted(n, r, wire, now_ns) : rl_submit_request(n, r, wire, now_ns);
}

/* ---- answers ---- */

/* Breaks the connection. The outcome of the request that was not answered is unknown. */
static void go_astray(struct rl_node *n, const struct rl_entry *entry)
{
	rl_link_fail(&n->link, REDLOCK_VOTE_GARBAGE, "the answer is not to this request");
	rl_ledger_lose(&n->ledger, entry);
}

/* Whether the answer, which quotes a token, quotes another one than that of the front entry: it answers
 * another question. */
static bool misquotes(const struct rl_node *n, const struct rl_entry *entry, const struct rl_vote *vote)
{
	struct rl_slice bytes = rl_outbox_front_bytes(&n->link.outbox);
	enum rl_form form = (enum rl_form)entry->form;
	return !rl_slice_same(rl_request_word(bytes, entry->operation, form, RL_WORD_TOKEN), vote->token);
}

/* Reads an answer of a guarded set: in its forms an answer says more, and quotes the token. */
static __attribute__((noinline)) void read_guarded(struct rl_node *n, const struct rl_entry *entry,
                                                   const struct rl_reply *reply, struct rl_answer *ret,
                                                   uint64_t now_ns)
{
	struct rl_vote *vote = &ret->vote;
	bool guarded = (RL_FORMS_GUARD >> entry->form & 1) != 0;
	rl_answer_read(rl_ops_outcomes(&rl_ops[entry->operation], (enum rl_form)entry->form), reply, vote);
	if ((vote->told & RL_TOLD(TOKEN)) != 0 && misquotes(n, entry, vote))
		*vote = (struct rl_vote){.code = REDLOCK_VOTE_GARBAGE};
	rl_admission_hear(n, entry, vote, now_ns);
	bool relied = guarded && vote->code == REDLOCK_VOTE_YES && rl_ops[entry->operation].relies;
	ret->generation = relied ? rl_admission_generation(n, entry) : 0;
	if (relied && ret->generation == 0)
		vote->code = REDLOCK_VOTE_TIMEOUT; /* the key is there */
}

/* As rl_ledger_doubts_yes(). */
static bool is_stale(const struct rl_node *n, const struct rl_entry *entry, uint64_t now_ns)
{
	struct rl_slice bytes = rl_outbox_front_bytes(&n->link.outbox);
	return rl_ledger_doubts_yes(&n->ledger, entry, &bytes, now_ns);
}

static void take_answer(struct rl_node *n, const struct rl_entry *entry, const struct rl_reply *reply,
                        struct rl_answer *ret, uint64_t now_ns)
{
	const struct rl_op *op = &rl_ops[entry->operation];
	bool error = reply->value.type == RL_REPLY_ERROR;
	ret->tag = entry->tag;
	ret->operation = entry->operation;
	if (n->guards)
		read_guarded(n, entry, reply, ret, now_ns);
	else
		rl_answer_read(op->outcomes, reply, &ret->vote);
	if (!n->guards && (ret->vote.told & RL_TOLD(TOKEN)) != 0 && misquotes(n, entry, &ret->vote))
		ret->vote = (struct rl_vote){.code = REDLOCK_VOTE_GARBAGE};
	rl_method_learn(&n->methods, op, (enum rl_form)entry->form, error ? reply->value.text : NULL);
	enum redlock_vote_code vote = ret->vote.code;
	if (op->wakes != RL_OP_NONE && entry->tag.seq != 0 && rl_queue_tells_of_others(ret->vote.verdict))
		rl_submit_wake(n, entry);
	if (error || entry->owed)
		settle(n, entry, vote, error ? reply->value.text : NULL, now_ns);
	bool stale = vote == REDLOCK_VOTE_YES && n->ledger.ghost_stays && is_stale(n, entry, now_ns);
	bool made = op->claims && (entry->own_value || (stale && !op->doubts)) && vote == REDLOCK_VOTE_YES;
	bool off = vote == REDLOCK_VOTE_YES && op->relies && n->guards && rl_server_clock_is_off(n);
	if (made && (stale || off || entry->given_up) && !rl_submit_give_back(n, entry))
		n->ledger.lingering++;
	if (stale || off)
		ret->vote.code = stale ? REDLOCK_VOTE_STALE : REDLOCK_VOTE_CLOCK;
	if (vote == REDLOCK_VOTE_GARBAGE)
		go_astray(n, entry);
}

static void take_step(struct rl_node *n, const struct rl_reply *reply)
{
	struct rl_link *l = &n->link;
	enum rl_talk_news news = rl_talk_take(&n->talk, &n->methods, &l->outbox, reply);
	if (news == RL_TALK_BROKEN)
		rl_link_fail(l, n->talk.refused, n->talk.transaction.error);
	else if (news == RL_TALK_TAKEN && !rl_outbox_front_sent(&l->outbox))
		rl_link_fail_protocol(l);
	else if (news == RL_TALK_TAKEN)
		rl_outbox_pop(&l->outbox);
}

/* Whether a claim must not be asked anew: it was given up, or its release is queued, and the new key would
 * outlive that. */
static bool is_over(const struct rl_node *n, const struct rl_entry *claim)
{
	return claim->given_up || rl_outbox_owes(&n->link.outbox, claim->tag) ||
	       rl_outbox_owes(&n->talk.parked, claim->tag);
}

/* An answer in a form that does not look at the record, where the set may be guarded. If it is, the key is
 * given back, and the node asked anew unless it has no vote. True: `ret` has the vote (PENDING: anew). */
static __attribute__((noinline)) bool take_unguarded(struct rl_node *n, const struct rl_entry *entry,
                                                     const struct rl_reply *reply, struct rl_answer *ret,
                                                     uint64_t now_ns)
{
	struct rl_vote vote;
	if (rl_permit_weigh(n, entry, reply, &vote) != RL_PERMIT_VOID)
		return false;
	bool over = is_over(n, entry), made = rl_ops[entry->operation].claims && vote.code == REDLOCK_VOTE_YES;
	*ret = (struct rl_answer){.tag = entry->tag, .operation = entry->operation};
	if (made && !rl_submit_give_back(n, entry))
		n->ledger.lingering++;
	ret->vote = rl_permit_vote_anew(n, entry, now_ns);
	bool asks = ret->vote.code == REDLOCK_VOTE_PENDING;
	if (asks && (over || !rl_submit_anew(n, entry)))
		ret->vote.code = REDLOCK_VOTE_BACKLOG;
	return true;
}

/* A server of a cluster: whether the reply says that the request is to be asked elsewhere, or is that to
 * ASKING. */
static __attribute__((noinline)) bool is_sent_on(struct rl_node *n, const struct rl_entry *entry,
                                                 const struct rl_reply *reply, struct rl_answer *ret)
{
	bool error = reply->value.type == RL_REPLY_ERROR;
	bool asking = entry->setup == RL_SETUP_ASKING;
	n->redirect->kind = RL_REDIRECT_NONE;
	if (asking && (error || !rl_handshake_fits(RL_SETUP_ASKING, reply)))
		rl_link_fail_protocol(&n->link); /* the request that follows is not for it */
	else if (!asking && (!error || !rl_redirect_take(n->redirect, &n->link.outbox, reply->value.text)))
		return false;
	else
		rl_outbox_pop(&n->link.outbox);
	bool late = n->redirect->kind == RL_REDIRECT_LATE || n->redirect->kind == RL_REDIRECT_SPLIT;
	if (late)
		rl_link_remember(&n->link, REDLOCK_VOTE_SHARD, reply->value.text);
	*ret = (struct rl_answer){.tag = entry->tag,
	                          .operation = entry->operation,
	                          .vote.code = late ? REDLOCK_VOTE_SHARD : REDLOCK_VOTE_BLOCKED};
	return true;
}

/* Takes one reply. True: it is an answer that somebody waits for. */
static bool take_reply(struct rl_node *n, const struct rl_entry *front, const struct rl_reply *reply,
                       struct rl_answer *ret, uint64_t now_ns)
{
	struct rl_entry entry = *front;
	if (entry.step == RL_STEP_WAIT)
		return rl_replicas_take(n, reply, ret);
	if (entry.step != RL_STEP_NONE) {
		take_step(n, reply);
		return false;
	}
	bool error = reply->value.type == RL_REPLY_ERROR;
	if (n->redirect != NULL && is_sent_on(n, &entry, reply, ret))
		return entry.setup != RL_SETUP_ASKING;
	bool done = error ? rl_submit_again(n, &entry, reply)
	                  : n->guards && take_unguarded(n, &entry, reply, ret, now_ns);
	if (!done)
		take_answer(n, &entry, reply, ret, now_ns);
	bool counts = entry.tag.seq != 0 && !(done && (error || ret->vote.code == REDLOCK_VOTE_PENDING));
	if (entry.wait_ms > 0 && counts && !entry.given_up && rl_replicas_hold(n, ret))
		return false;
	rl_outbox_pop(&n->link.outbox);
	return counts;
}

/* Whether what the node has answered counts is not known before more nodes have told of the set. */
static __attribute__((noinline)) bool must_wait(struct rl_node *n, const struct rl_entry *front,
                                                const struct rl_reply *reply)
{
	struct rl_vote vote;
	return front->step == RL_STEP_NONE && rl_permit_weigh(n, front, reply, &vote) == RL_PERMIT_WAITS;
}

/* The server has reported its run_id, or will not. The ghosts of another process died with it; those of this
 * one are killed before the first operation is sent.
 *
 * Another server, by address and identity, may have taken over the name. Debts follow the name, as the votes
 * do: that server may have a copy of the keys, and the one before no longer counts. But its "not there" says
 * nothing of the one before, which may live on with its keys, and come back. */
static void meet(struct rl_node *n, uint64_t now_ns)
{
	struct rl_link *l = &n->link;
	const struct rl_facts *facts = &l->facts;
	n->identified = true;
	rl_method_meet(&n->methods, facts->same_server);
	if (!facts->same_server) {
		n->deaf_until_ns = 0;
		n->left_ns = now_ns;
	}
	if (n->listener != NULL)
		rl_listener_meet(n->listener, now_ns);
	if (l->dial.elsewhere && !facts->same_server)
		rl_ledger_doubt(&n->ledger);
	l->dial.elsewhere = false;
	for (unsigned i = 0; i < n->ledger.ghost_count; i++) {
		const struct rl_ghost *ghost = &n->ledger.ghosts[i];
		bool same = facts->run_id_known && strcmp(ghost->run_id, facts->run_id) == 0;
		if (!facts->run_id_known || (same && !rl_handshake_kill(l, ghost->client_id)))
			rl_ledger_doubt(&n->ledger);
	}
	if (waits_for_info(n))
		rl_handshake_pass(l);
}

static void take_opening(struct rl_node *n, enum rl_setup setup, const struct rl_reply *reply,
                         uint64_t now_ns)
{
	if (!rl_handshake_take(&n->link, setup, reply))
		return;
	if (setup == RL_SETUP_INFO)
		meet(n, now_ns);
	if (setup == RL_SETUP_LOOK)
		rl_admission_look(n, reply, now_ns);
	if (setup == RL_SETUP_MEET)
		rl_admission_meet(n, reply, now_ns);
	if (setup == RL_SETUP_PROBE)
		rl_method_probed(&n->methods, reply);
	if (setup == RL_SETUP_KILL && reply->value.type == RL_REPLY_ERROR)
		rl_ledger_doubt(&n->ledger);
	if (rl_handshake_done(&n->link, now_ns))
		rl_ledger_opened(&n->ledger, now_ns);
}

static void take_setup(struct rl_node *n, const struct rl_entry *front, const struct rl_reply *reply,
                       uint64_t now_ns)
{
	enum rl_setup setup = (enum rl_setup)front->setup;
	if (!rl_handshake_fits(setup, reply))
		go_astray(n, front);
	else if (n->link.login != RL_LOGIN_NONE)
		rl_auth_answer(&n->link, reply);
	else
		take_opening(n, setup, reply, now_ns);
}

/* Pulls the next answer of a request that has a vote without a reply of its own. The vote of a transaction
 * waits, as a reply does, for the records of the other nodes. */
static bool next_unasked(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	bool waits = n->guards && n->admission->opinion.kind == RL_SET_HOLD && !n->admission->seen;
	return (n->talk.resolved > 0 && !waits && next_of_talk(n, ret, now_ns)) ||
	       (n->refusals > 0 && rl_permit_next(n, ret, now_ns));
}

bool rl_node_next(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	while (n->link.state == RL_LINK_OPEN) {
		const struct rl_reply *reply;
		if ((n->talk.resolved | n->refusals) > 0 && next_unasked(n, ret, now_ns))
			return true;
		bool opening = n->link.setup.count > 0;
		const struct rl_entry *front = rl_link_next(&n->link, &reply);
		if (front == NULL)
			break;
		if (opening) {
			take_setup(n, front, reply, now_ns);
		} else if (n->guards && must_wait(n, front, reply)) {
			rl_link_keep(&n->link);
			break;
		} else if (take_reply(n, front, reply, ret, now_ns)) {
			return true;
		}
	}
	if (n->guards)
		renew_if_due(n, now_ns);
	return n->link.state == RL_LINK_BROKEN && next_broken(n, ret, now_ns);
}

/* ---- what the server says unasked ---- */

static void end_listener(struct rl_node *n, uint64_t now_ns)
{
	rl_listener_end(n->listener, now_ns);
	n->listener_id = n->listener->link.dial.next_watch_id;
	rl_listener_free(n->listener, false);
	n->listener = NULL;
}

static void leave_refused(struct rl_node *n, uint64_t now_ns)
{
	if (!n->listener->refused)
		return;
	n->deaf_until_ns = rl_time_add(now_ns, DEAF_NS);
	end_listener(n, now_ns);
}

void rl_node_listen(struct rl_node *n, const char *channel, uint64_t now_ns)
{
	if (now_ns < n->deaf_until_ns)
		return;
	if (n->listener == NULL)
		n->listener = rl_listener_new(&n->link, n->listener_id, channel);
	if (n->listener == NULL)
		return; /* out of memory: the next call tries again */
	n->listener->until_ns = rl_time_add(now_ns, LINGER_NS);
	rl_listener_begin(n->listener, now_ns);
}

void rl_node_listener_ready(struct rl_node *n, uint32_t watch_id, uint32_t events, uint64_t now_ns)
{
	if (n->listener != NULL)
		rl_listener_ready(n->listener, watch_id, events, now_ns);
}

bool rl_node_hear(struct rl_node *n, struct rl_heard *ret, uint64_t now_ns)
{
	if (n->listener == NULL)
		return false;
	if (rl_listener_next(n->listener, ret, now_ns))
		return true;
	leave_refused(n, now_ns);
	return false;
}

uint64_t rl_node_listener_deadline(const struct rl_node *n)
{
	const struct rl_listener *l = n->listener;
	return l != NULL ? rl_time_min(l->until_ns, rl_listener_deadline(l)) : UINT64_MAX;
}

void rl_node_listener_tick(struct rl_node *n, uint64_t now_ns)
{
	if (n->listener == NULL)
		return;
	if (now_ns >= n->listener->until_ns)
		end_listener(n, now_ns);
	else
		rl_listener_tick(n->listener, now_ns);
}

/* ---- what is owed ---- */

static unsigned owed_in(const struct rl_node *n, const struct rl_outbox *outbox)
{
	/* before a connection is open and its opening commands are answered, no operation has left on it; those
	 * that were answered left on the connection before */
	bool waits = n->link.gate > 0 && rl_outbox_front_unsent(&n->link.outbox);
	bool may_have_sent = n->link.state != RL_LINK_CONNECTING && !waits;
	unsigned owed = 0;
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		bool certain = e->set_number <= (e->set_parked ? n->talk.parked.popped : n->link.outbox.popped);
		owed += (e->owed && certain) || ((e->owed || e->given_up) && may_have_sent);
	}
	return owed;
}

unsigned rl_node_owed(const struct rl_node *n)
{
	return n->ledger.debts.count + owed_in(n, &n->link.outbox) + owed_in(n, &n->talk.parked);
}

bool rl_node_has_unsent(const struct rl_node *n)
{
	return n->ledger.debts.count > 0 || n->talk.parked.count > 0 ||
	       rl_outbox_unsent(&n->link.outbox).size > 0;
}

bool rl_node_may_ask_again(const struct rl_node *n, uint32_t refused)
{
	const struct rl_outbox *asked = &n->link.outbox;
	for (unsigned i = 0; i < asked->count; i++) {
		const struct rl_entry *e = rl_outbox_at(asked, i);
		enum rl_script script = rl_ops_script(&rl_ops[e->operation], (enum rl_form)e->form);
		bool known = (n->methods.knows >> script & 1) != 0;
		if (e->owed && !known && (refused & RL_FORM_BIT(e->form)) != 0)
			return true;
	}
	return false;
}
