/* SPDX-License-Identifier: MIT */
#include "net/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/quorum.h"
#include "proto/answer.h"

/* What is kept of releases for the next connection. One is always taken, however large. */
#define DEBT_BYTES ((size_t)128 * 1024)

/* ---- life ---- */

void rl_node_remember_failure(struct rl_node *n, enum redlock_vote_code vote, const char *text)
{
	n->failure = vote;
	/* "unknown command 'X', with args beginning with: ..." would repeat a token */
	snprintf(n->failure_text, sizeof n->failure_text, "%.*s", (int)strcspn(text, ",\r\n"), text);
}

bool rl_node_open(struct rl_node *n, const struct rl_endpoint *endpoint, struct rl_tls_context *tls,
                  struct rl_poller *poller, uint32_t id)
{
	/* All but the buffer at its end, of which a short-lived client touches no page. */
	memset(n, 0, offsetof(struct rl_node, resp.ahead));
	n->endpoint = *endpoint;
	n->poller = poller;
	n->id = id;
	n->stream.fd = -1;
	n->tls = endpoint->tls ? tls : NULL;
	n->tls_peer.host = n->endpoint.host;
	rl_dial_open(&n->dial, &n->endpoint, poller, id);
	if (n->dial.failure != REDLOCK_VOTE_PENDING)
		rl_node_remember_failure(n, n->dial.failure, n->dial.failure_text);
	return rl_resp_open(&n->resp);
}

void rl_node_close(struct rl_node *n, bool child)
{
	bool held_back = rl_outbox_unsent(&n->outbox).size > 0;
	if (child)
		rl_stream_leave(&n->stream);
	else if (held_back)
		rl_stream_abort(&n->stream);
	else
		rl_stream_close(&n->stream);
	rl_dial_close(&n->dial, child);
	rl_tls_peer_free(&n->tls_peer);
	rl_resp_close(&n->resp);
	rl_outbox_free(&n->setup);
	rl_outbox_free(&n->outbox);
	rl_outbox_free(&n->debts);
	rl_outbox_free(&n->parked);
	rl_transaction_free(&n->transaction);
	rl_endpoint_free(&n->endpoint);
}

void rl_node_fail(struct rl_node *n, enum redlock_vote_code vote, const char *text)
{
	if (n->link == RL_LINK_BROKEN)
		return;
	rl_node_remember_failure(n, vote, text);
	/* Abortively: a SET that the kernel still holds back must not be delivered later. */
	if (n->stream.fd >= 0)
		rl_poller_forget(n->poller, n->stream.fd);
	rl_stream_abort(&n->stream);
	rl_dial_end(&n->dial);
	n->watching_write = false;
	n->left_ghost = false;
	n->first_unsent = 0;
	n->parked_popped = n->parked.popped;
	n->link = RL_LINK_BROKEN;
}

/* ---- debts ---- */

void rl_node_keep_debt(struct rl_node *n, const struct rl_entry *entry, struct rl_slice bytes)
{
	struct rl_entry debt = *entry;
	debt.tag.seq = 0;
	debt.set_number = 0;
	bool room = n->debts.count == 0 || rl_outbox_size(&n->debts) + bytes.size <= DEBT_BYTES;
	if (!room || !rl_outbox_push(&n->debts, &debt, bytes))
		n->lingering++;
}

void rl_node_ghost_stays(struct rl_node *n)
{
	n->ghost_stays = true;
	n->ghost_gone_ns = UINT64_MAX;
}

static void add_ghost(struct rl_node *n)
{
	if (n->client_id > 0 && n->run_id_known && n->ghost_count < RL_GHOSTS) {
		struct rl_ghost *ghost = &n->ghosts[n->ghost_count++];
		ghost->client_id = n->client_id;
		memcpy(ghost->run_id, n->run_id, sizeof ghost->run_id);
	} else {
		rl_node_ghost_stays(n);
	}
}

/* Whether a request that was sent would do harm if the server executed it behind those of the next
 * connection: a SET would come back when it was released, and the release of a value that is used again would
 * delete the key of the next acquisition. */
static bool leaves_ghost(const struct rl_entry *entry)
{
	enum rl_ghost_rule ghost = rl_ops[entry->operation].ghost;
	return ghost == RL_GHOST_ALWAYS || (ghost == RL_GHOST_OWN && entry->own);
}

static void leave_ghost(struct rl_node *n, const struct rl_entry *entry)
{
	bool leaves = leaves_ghost(entry);
	n->left_ghost = n->left_ghost || leaves;
	n->ghost_own = n->ghost_own || (leaves && entry->own);
}

/* Everything unanswered was handed out: the node is down until the next connection. */
static void end_break(struct rl_node *n, uint64_t now_ns)
{
	n->ghost_stays = n->ghost_stays && now_ns < n->ghost_gone_ns;
	if (n->left_ghost)
		add_ghost(n);
	rl_backoff_begin(n, now_ns);
	rl_outbox_clear(&n->setup);
	rl_auth_end(n);
	rl_talk_end(n);
	n->link = RL_LINK_DOWN;
}

/* The votes that leave open whether something was executed. */
static bool is_unknown(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE;
}

/* Why nothing could be sent: never one of the votes that leave open whether something was executed. */
enum redlock_vote_code rl_node_unsent_vote(const struct rl_node *n, enum redlock_vote_code otherwise)
{
	return is_unknown(n->failure) ? otherwise : n->failure;
}

/* What was sent has an unknown outcome; what was not sent did not happen, nor what came behind an opening
 * command that the server refused. */
enum redlock_vote_code rl_node_broken_vote(const struct rl_node *n, bool unsent)
{
	if (unsent)
		return rl_node_unsent_vote(n, REDLOCK_VOTE_UNSENT);
	bool garbage = n->failure == REDLOCK_VOTE_GARBAGE;
	enum redlock_vote_code unknown = garbage ? REDLOCK_VOTE_GARBAGE : REDLOCK_VOTE_CLOSED;
	return n->setup.count > 0 ? rl_node_unsent_vote(n, unknown) : unknown;
}

static bool next_broken(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	const struct rl_entry *front;
	if (rl_talk_next(n, ret, now_ns))
		return true;
	while ((front = rl_outbox_front(&n->outbox)) != NULL) {
		struct rl_entry entry = *front;
		enum redlock_vote_code vote = rl_node_broken_vote(n, rl_outbox_front_unsent(&n->outbox));
		if (!is_unknown(vote) && n->first_unsent == 0)
			n->first_unsent = n->outbox.popped + 1;
		bool set_unsent = n->first_unsent != 0 && entry.set_number >= n->first_unsent;
		if (entry.owed && !set_unsent)
			rl_node_keep_debt(n, &entry, rl_outbox_front_bytes(&n->outbox));
		if (is_unknown(vote))
			leave_ghost(n, &entry);
		if (entry.given_up && is_unknown(vote))
			n->lingering++;
		rl_outbox_pop(&n->outbox);
		if (entry.tag.seq == 0)
			continue;
		*ret = (struct rl_answer){.tag = entry.tag, .operation = entry.operation, .vote.code = vote};
		return true;
	}
	if (rl_talk_next_broken(n, ret))
		return true;
	end_break(n, now_ns);
	return false;
}

/* ---- sending ---- */

bool rl_node_may_have_sent(const struct rl_node *n)
{
	return n->link != RL_LINK_CONNECTING && n->gate == 0;
}

/* Sends what it can of one outbox; `more` follows. Returns whether all of it is sent. An error is not acted
 * on: the socket is then readable, and what the server said before it closed comes first. */
static bool send_from(struct rl_node *n, struct rl_outbox *outbox, bool more)
{
	struct rl_slice unsent = rl_outbox_unsent(outbox);
	if (unsent.size == 0)
		return true;
	ssize_t sent = rl_stream_send(&n->stream, unsent.bytes, unsent.size, more);
	size_t moved = sent > 0 ? (size_t)sent : 0;
	rl_outbox_sent(outbox, moved);
	return moved == unsent.size;
}

/* Opening commands come first. */
static bool send_queued(struct rl_node *n)
{
	bool both = rl_node_may_send(n) && rl_outbox_unsent(&n->outbox).size > 0;
	return send_from(n, &n->setup, both) && (!both || send_from(n, &n->outbox, false));
}

void rl_node_flush(struct rl_node *n)
{
	if (n->link != RL_LINK_OPEN)
		return;
	bool idle = n->outbox.count + n->parked.count == 0; /* the SETs of all debts have left */
	if (idle && n->debts.count > 0 && !rl_ask_debts(n)) {
		rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
		return;
	}
	if (n->parked.count > 0)
		rl_talk_go_on(n);
	if (n->link != RL_LINK_OPEN)
		return;
	bool all = send_queued(n);
	if (all && n->login_by_ns != 0) {
		all = !rl_auth_go_on(n) || send_queued(n);
		if (n->link != RL_LINK_OPEN)
			return;
	}
	rl_node_watch(n, !all || rl_stream_wants_write(&n->stream));
}

/* ---- answers ---- */

static bool has_ghost(const struct rl_node *n, uint64_t now_ns)
{
	return n->ghost_stays && now_ns < n->ghost_gone_ns;
}

/* A release that was answered with an error, or "not there" while a late SET may still come, settles nothing.
 * Nor does one that deleted the key, while an earlier copy of it may still come and the value is used again.
 */
static bool may_linger(const struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote,
                       uint64_t now_ns)
{
	if (!entry->owed)
		return false;
	if (vote == REDLOCK_VOTE_YES)
		return entry->own && n->ghost_own && has_ghost(n, now_ns);
	return vote == REDLOCK_VOTE_NO ? has_ghost(n, now_ns) : true;
}

void rl_node_settle(struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote,
                    const char *error, uint64_t now_ns)
{
	if (vote == REDLOCK_VOTE_READONLY)
		rl_dial_doubt(&n->dial, now_ns);
	if (error != NULL && vote != REDLOCK_VOTE_NO)
		rl_node_remember_failure(n, vote, error);
	if (may_linger(n, entry, vote, now_ns))
		n->lingering++;
}

/* An answer that no server gives to this question belongs to another one: those behind it would be taken for
 * the wrong ones too, and what became of this request is not known. */
static void go_astray(struct rl_node *n, const struct rl_entry *entry)
{
	rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "the answer is not one to what was asked");
	leave_ghost(n, entry);
}

static void take_answer(struct rl_node *n, const struct rl_entry *entry, const struct rl_reply *reply,
                        struct rl_answer *ret, uint64_t now_ns)
{
	const struct rl_op *op = &rl_ops[entry->operation];
	bool error = reply->value.type == RL_REPLY_ERROR;
	ret->tag = entry->tag;
	ret->operation = entry->operation;
	rl_answer_read(op, reply, &ret->vote);
	enum redlock_vote_code vote = ret->vote.code;
	bool script = entry->form == RL_FORM_SHA || entry->form == RL_FORM_TEXT;
	if (script && (!error || vote == REDLOCK_VOTE_NO))
		n->methods.knows |= UINT32_C(1) << op->script;
	if (error || entry->owed)
		rl_node_settle(n, entry, vote, error ? reply->value.text : NULL, now_ns);
	bool made = op->claims && entry->own && vote == REDLOCK_VOTE_YES;
	bool stale = made && n->ghost_own && has_ghost(n, now_ns);
	if ((stale || (made && entry->given_up)) && !rl_ask_to_give_back(n, entry))
		n->lingering++;
	if (stale)
		ret->vote.code = REDLOCK_VOTE_STALE;
	if (vote == REDLOCK_VOTE_GARBAGE)
		go_astray(n, entry);
}

/* CLIENT UNBLOCK says so to a request that waits for the end of CLIENT PAUSE, and Redis 7.0 executes and
 * answers it even so, later: a second answer, which would be taken for that to the next request. */
static bool announces_another(const struct rl_reply *reply)
{
	static const char unblocked[] = "UNBLOCKED ";
	const struct rl_reply_value *v = &reply->value;
	return v->type == RL_REPLY_ERROR && strncmp(v->text, unblocked, sizeof unblocked - 1) == 0;
}

static void take_garbage(struct rl_node *n)
{
	rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "the answer is not the Redis protocol");
}

/* Nobody can know the answer to half a request. Its other half would be dropped with it, and the server would
 * read the next requests as a part of it. A step of a transaction has several commands, which are answered
 * one by one. */
static bool may_answer(const struct rl_outbox *asked, const struct rl_entry *front)
{
	if (front == NULL)
		return false;
	return front->step != RL_STEP_NONE ? !rl_outbox_front_unsent(asked) : rl_outbox_front_sent(asked);
}

/* Takes one reply. True: it is an answer that somebody waits for. */
static bool take_reply(struct rl_node *n, const struct rl_entry *front, const struct rl_reply *reply,
                       struct rl_answer *ret, uint64_t now_ns)
{
	struct rl_entry entry = *front;
	if (entry.step != RL_STEP_NONE) {
		if (!rl_talk_take(n, reply))
			return false;
		if (n->link == RL_LINK_OPEN && !rl_outbox_front_sent(&n->outbox))
			take_garbage(n);
		if (n->link == RL_LINK_OPEN)
			rl_outbox_pop(&n->outbox);
		return false;
	}
	bool error = reply->value.type == RL_REPLY_ERROR;
	bool again = error && rl_ask_again(n, &entry, reply);
	if (!again)
		take_answer(n, &entry, reply, ret, now_ns);
	rl_outbox_pop(&n->outbox);
	return !again && entry.tag.seq != 0;
}

static void take_setup(struct rl_node *n, const struct rl_entry *front, const struct rl_reply *reply,
                       uint64_t now_ns)
{
	enum rl_setup setup = (enum rl_setup)front->setup;
	if (!rl_handshake_fits(setup, reply))
		go_astray(n, front);
	else if (n->login_by_ns != 0)
		rl_auth_answer(n, reply);
	else
		rl_handshake_answer(n, setup, reply, now_ns);
}

bool rl_node_next(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	while (n->link == RL_LINK_OPEN) {
		const struct rl_reply *reply;
		if (n->talk_resolved > 0 && rl_talk_next(n, ret, now_ns))
			return true;
		bool opening = n->setup.count > 0;
		const struct rl_outbox *asked = opening ? &n->setup : &n->outbox;
		const struct rl_entry *front = rl_outbox_front(asked);
		n->resp.nested = front != NULL && front->setup == RL_SETUP_PROBE;
		int got = rl_resp_next(&n->resp, &reply);
		if (got == 0)
			return false;
		if (got < 0 || !may_answer(asked, front)) {
			take_garbage(n);
			break;
		}
		if (announces_another(reply)) {
			rl_node_fail(n, REDLOCK_VOTE_GARBAGE, reply->value.text);
			break;
		}
		if (opening)
			take_setup(n, front, reply, now_ns);
		else if (take_reply(n, front, reply, ret, now_ns))
			return true;
	}
	return n->link == RL_LINK_BROKEN && next_broken(n, ret, now_ns);
}

static unsigned owed_in(const struct rl_node *n, const struct rl_outbox *outbox)
{
	unsigned owed = 0;
	for (unsigned i = 0; i < outbox->count; i++) {
		const struct rl_entry *e = rl_outbox_at(outbox, i);
		bool certain = e->owed && e->set_number == 0;
		owed += certain || ((e->owed || e->given_up) && rl_node_may_have_sent(n));
	}
	return owed;
}

unsigned rl_node_owed(const struct rl_node *n)
{
	return n->debts.count + owed_in(n, &n->outbox) + owed_in(n, &n->parked);
}

bool rl_node_has_unsent(const struct rl_node *n)
{
	return n->debts.count > 0 || n->parked.count > 0 || rl_outbox_unsent(&n->outbox).size > 0;
}
