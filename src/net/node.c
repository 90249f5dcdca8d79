/* SPDX-License-Identifier: MIT */
#include "net/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/quorum.h"
#include "net/answer.h"

/* What may pile up for one node. A node that answers may have much in flight. One that does not is limited
 * soon: requests first, then releases, which must not be forgotten, then debts. One request is always taken,
 * however large. */
#define FRESH_NS (100 * RL_NS_PER_MS)
#define BACKLOG_FRESH_BYTES ((size_t)4 * 1024 * 1024)
#define BACKLOG_BYTES ((size_t)128 * 1024)
#define BACKLOG_RELEASE_BYTES ((size_t)256 * 1024)
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
	*n = (struct rl_node){.endpoint = *endpoint, .poller = poller, .id = id, .stream = {.fd = -1}};
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
	n->set_unanswered = false;
	n->first_unsent = 0;
	n->link = RL_LINK_BROKEN;
}

/* Debts go behind the opening commands, which have ended the connection that they come from. */
bool rl_node_move_debts(struct rl_node *n)
{
	const struct rl_entry *debt;
	while ((debt = rl_outbox_front(&n->debts)) != NULL) {
		if (!rl_outbox_push(&n->outbox, debt, rl_outbox_front_bytes(&n->debts)))
			return false;
		rl_outbox_pop(&n->debts);
	}
	return true;
}

/* ---- debts ---- */

static void keep_debt(struct rl_node *n, const struct rl_entry *entry, struct rl_slice bytes)
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

/* Everything unanswered was handed out: the node is down until the next connection. */
static void end_break(struct rl_node *n, uint64_t now_ns)
{
	n->ghost_stays = n->ghost_stays && now_ns < n->ghost_gone_ns;
	if (n->set_unanswered)
		add_ghost(n);
	rl_backoff_begin(n, now_ns);
	rl_outbox_clear(&n->setup);
	n->link = RL_LINK_DOWN;
}

/* The votes that leave open whether something was executed. */
static bool is_unknown(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE;
}

/* Why nothing could be sent: never one of the votes that leave open whether something was executed. */
static enum redlock_vote_code unsent_vote(const struct rl_node *n, enum redlock_vote_code otherwise)
{
	return is_unknown(n->failure) ? otherwise : n->failure;
}

/* What was sent has an unknown outcome; what was not sent did not happen, nor what came behind an opening
 * command that the server refused. */
static enum redlock_vote_code broken_vote(const struct rl_node *n, bool unsent)
{
	if (unsent)
		return unsent_vote(n, REDLOCK_VOTE_UNSENT);
	bool garbage = n->failure == REDLOCK_VOTE_GARBAGE;
	enum redlock_vote_code unknown = garbage ? REDLOCK_VOTE_GARBAGE : REDLOCK_VOTE_CLOSED;
	return n->setup.count > 0 ? unsent_vote(n, unknown) : unknown;
}

static bool next_broken(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	const struct rl_entry *front;
	while ((front = rl_outbox_front(&n->outbox)) != NULL) {
		struct rl_entry entry = *front;
		enum redlock_vote_code vote = broken_vote(n, rl_outbox_front_unsent(&n->outbox));
		if (!is_unknown(vote) && n->first_unsent == 0)
			n->first_unsent = n->outbox.popped + 1;
		bool set_unsent = n->first_unsent != 0 && entry.set_number >= n->first_unsent;
		if (entry.owed && !set_unsent)
			keep_debt(n, &entry, rl_outbox_front_bytes(&n->outbox));
		if (entry.operation == REDLOCK_OP_ACQUIRE && is_unknown(vote))
			n->set_unanswered = true;
		rl_outbox_pop(&n->outbox);
		if (entry.tag.seq == 0)
			continue;
		*ret = (struct rl_answer){
		    .tag = entry.tag, .operation = (enum redlock_operation)entry.operation, .vote = vote};
		return true;
	}
	end_break(n, now_ns);
	return false;
}

/* ---- requests ---- */

static bool has_room(const struct rl_node *n, const struct rl_entry *entry, size_t size, uint64_t now_ns)
{
	if (n->debts.count > 0)
		return false; /* a debt was asked for earlier: nothing may overtake it */
	bool fresh = now_ns - n->progress_ns < FRESH_NS;
	bool release = entry->operation == REDLOCK_OP_RELEASE;
	size_t limit = fresh ? BACKLOG_FRESH_BYTES : release ? BACKLOG_RELEASE_BYTES : BACKLOG_BYTES;
	return n->outbox.count == 0 || rl_outbox_size(&n->outbox) + size <= limit;
}

/* Before a connection is open and its gate is, no operation has left on it. */
static bool may_have_sent(const struct rl_node *n)
{
	return n->link != RL_LINK_CONNECTING && n->gate == 0;
}

/* Whether the SET that this release belongs to is still waiting to be handed out as never sent. */
static bool behind_unsent_set(const struct rl_node *n, const struct rl_entry *entry)
{
	uint64_t set = n->link == RL_LINK_BROKEN ? rl_outbox_find_acquire(&n->outbox, entry->tag) : 0;
	return set != 0 && !is_unknown(broken_vote(n, rl_outbox_is_unsent(&n->outbox, set)));
}

static enum redlock_vote_code refuse(struct rl_node *n, enum redlock_vote_code vote,
                                     const struct rl_entry *entry, const struct rl_buffer *form)
{
	if (!entry->owed || behind_unsent_set(n, entry))
		return vote;
	if (form != NULL)
		keep_debt(n, entry, (struct rl_slice){form->bytes, form->size});
	else
		n->lingering++;
	return vote;
}

enum redlock_vote_code rl_node_submit(struct rl_node *n, const struct rl_request *r, struct rl_wire *wire,
                                      uint64_t now_ns)
{
	if (n->dial.known.count == 0 && !n->dial.by_name)
		return REDLOCK_VOTE_NAME;
	if (n->link == RL_LINK_DOWN && n->failures == 0)
		rl_node_connect(n, now_ns);
	enum rl_script script = rl_script_of(r->operation);
	bool by_text = script != RL_SCRIPT_COUNT && (r->by_text || !n->knows[script]);
	const struct rl_buffer *form = rl_wire_form(wire, r, by_text);
	struct rl_entry entry = {
	    .tag = r->tag,
	    .operation = (uint8_t)r->operation,
	    .by_sha = script != RL_SCRIPT_COUNT && !by_text,
	    .owed = (r->owed >> n->id & 1) != 0,
	};
	if (n->link == RL_LINK_DOWN || n->link == RL_LINK_BROKEN)
		return refuse(n, unsent_vote(n, REDLOCK_VOTE_DOWN), &entry, form);
	if (form == NULL || !has_room(n, &entry, form->size, now_ns))
		return refuse(n, REDLOCK_VOTE_BACKLOG, &entry, form);
	if (n->outbox.count == 0)
		n->progress_ns = now_ns;
	if (entry.owed && n->setup.count > 0)
		entry.set_number = rl_outbox_find_acquire(&n->outbox, entry.tag);
	if (!rl_outbox_push(&n->outbox, &entry, (struct rl_slice){form->bytes, form->size}))
		return refuse(n, REDLOCK_VOTE_BACKLOG, &entry, form);
	return REDLOCK_VOTE_PENDING;
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

void rl_node_flush(struct rl_node *n)
{
	if (n->link != RL_LINK_OPEN)
		return;
	if (n->outbox.count == 0 && n->debts.count > 0 && !rl_node_move_debts(n)) {
		rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
		return;
	}
	bool both = n->gate == 0 && rl_outbox_unsent(&n->outbox).size > 0;
	bool all = send_from(n, &n->setup, both) && (!both || send_from(n, &n->outbox, false));
	rl_node_watch(n, !all || rl_stream_wants_write(&n->stream));
}

/* ---- answers ---- */

static bool is_noscript(const struct rl_reply *reply)
{
	return reply->value.type == RL_REPLY_ERROR && strncmp(reply->value.text, "NOSCRIPT", 8) == 0;
}

/* The node does not know the script (restart, SCRIPT FLUSH): ask again with its text. */
static bool ask_by_text(struct rl_node *n, const struct rl_entry *entry)
{
	struct rl_buffer form = {0};
	struct rl_entry again = *entry;
	again.by_sha = false;
	enum rl_script script = rl_script_of((enum redlock_operation)entry->operation);
	bool ok = rl_request_by_text(&form, script, rl_outbox_front_bytes(&n->outbox)) &&
	          rl_outbox_push(&n->outbox, &again, (struct rl_slice){form.bytes, form.size});
	rl_buffer_free(&form);
	return ok;
}

/* A release that was answered with an error, or "not there" while a late SET may still come, settles nothing.
 */
static bool may_linger(const struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote,
                       uint64_t now_ns)
{
	if (!entry->owed || vote == REDLOCK_VOTE_YES)
		return false;
	return vote == REDLOCK_VOTE_NO ? n->ghost_stays && now_ns < n->ghost_gone_ns : true;
}

/* An answer that no server gives to this question belongs to another one: those behind it would be taken for
 * the wrong ones too, and what became of this request is not known. */
static void go_astray(struct rl_node *n, const struct rl_entry *entry)
{
	rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "the answer is not one to what was asked");
	n->set_unanswered = entry->operation == REDLOCK_OP_ACQUIRE;
}

static void take_answer(struct rl_node *n, const struct rl_entry *entry, const struct rl_reply *reply,
                        struct rl_answer *ret, uint64_t now_ns)
{
	enum redlock_operation operation = (enum redlock_operation)entry->operation;
	enum redlock_vote_code vote = rl_vote_of_reply(operation, reply);
	enum rl_script script = rl_script_of(operation);
	if (vote == REDLOCK_VOTE_READONLY)
		rl_dial_doubt(&n->dial, now_ns);
	if (reply->value.type == RL_REPLY_ERROR && vote != REDLOCK_VOTE_NO)
		rl_node_remember_failure(n, vote, reply->value.text);
	else if (script != RL_SCRIPT_COUNT)
		n->knows[script] = true;
	if (may_linger(n, entry, vote, now_ns))
		n->lingering++;
	*ret = (struct rl_answer){.tag = entry->tag, .operation = operation, .vote = vote, .reply = reply};
	if (vote == REDLOCK_VOTE_GARBAGE)
		go_astray(n, entry);
}

static void take_garbage(struct rl_node *n)
{
	rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "the answer is not the Redis protocol");
}

bool rl_node_next(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	while (n->link == RL_LINK_OPEN) {
		const struct rl_reply *reply;
		int got = rl_resp_next(&n->resp, &reply);
		if (got == 0)
			return false;
		bool opening = n->setup.count > 0;
		const struct rl_outbox *asked = opening ? &n->setup : &n->outbox;
		const struct rl_entry *front = rl_outbox_front(asked);
		/* Nobody can know the answer to half a request. Its other half would be dropped with it, and the
		 * server would read the next requests as a part of it. */
		if (got < 0 || front == NULL || !rl_outbox_front_sent(asked)) {
			take_garbage(n);
			break;
		}
		struct rl_entry entry = *front;
		if (opening) {
			rl_handshake_answer(n, (enum rl_setup)entry.setup, reply, now_ns);
			continue;
		}
		bool again = entry.by_sha && is_noscript(reply) && ask_by_text(n, &entry);
		if (entry.setup == RL_SETUP_AUTH)
			rl_auth_answer(n, reply);
		else if (!again)
			take_answer(n, &entry, reply, ret, now_ns);
		rl_outbox_pop(&n->outbox);
		if (!again && entry.tag.seq != 0)
			return true;
	}
	return n->link == RL_LINK_BROKEN && next_broken(n, ret, now_ns);
}

unsigned rl_node_owed(const struct rl_node *n)
{
	unsigned owed = n->debts.count;
	for (unsigned i = 0; i < n->outbox.count; i++) {
		const struct rl_entry *e = &n->outbox.ring[(n->outbox.first + i) & (n->outbox.ring_capacity - 1)];
		owed += e->owed && (e->set_number == 0 || may_have_sent(n));
	}
	return owed;
}
