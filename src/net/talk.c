/* SPDX-License-Identifier: MIT */
/*
 * The requests of one node that need a transaction (transaction.h), because it runs no scripts and has no
 * command of its own for them. They are parked, in order, and served a batch at a time; those that are at the
 * front stay parked until they have their vote, so that a connection that breaks leaves nothing half known.
 *
 * A request with the name of a parked one is parked behind it, whatever it is: so a release is executed
 * before the SET that was asked for after it, and behind its own. SETs of other names go on meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include "net/node.h"
#include "proto/answer.h"

/* How often one request is asked again because its key was touched. Whoever holds a lock is the only one to
 * touch its key, but for its expiry and strangers. */
enum { MOST_TRIES = 16 };

/* Of what a server refuses with: the hint behind it needs room too. */
enum { MOST_OF_REFUSAL = 70 };

/* ---- parking ---- */

/* FNV-1a. Names with one hash are taken for the same one: that costs time only. */
static uint32_t hash_of(struct rl_slice name)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < name.size; i++)
		hash = (hash ^ (unsigned char)name.bytes[i]) * 16777619u;
	return hash;
}

bool rl_talk_park(struct rl_node *n, const struct rl_entry *entry, struct rl_slice name,
                  struct rl_slice bytes)
{
	struct rl_entry parked = *entry;
	parked.name_hash = hash_of(name);
	return rl_outbox_push(&n->parked, &parked, bytes);
}

bool rl_talk_is_parked(const struct rl_node *n, struct rl_slice name)
{
	uint32_t hash = hash_of(name);
	for (unsigned i = 0; i < n->parked.count; i++)
		if (rl_outbox_at(&n->parked, i)->name_hash == hash)
			return true;
	return false;
}

/* ---- asking ---- */

/* What needs no transaction (any more) is asked in the ordinary way. */
static bool move_front(struct rl_node *n, const struct rl_request *r, enum rl_form form)
{
	bool ok = rl_ask_as(n, rl_outbox_front(&n->parked), r, form);
	if (ok)
		rl_outbox_pop(&n->parked);
	return ok;
}

static struct rl_request parked_request(const struct rl_node *n, unsigned index)
{
	return rl_ask_request(rl_outbox_at(&n->parked, index), rl_outbox_bytes_at(&n->parked, index));
}

static enum rl_change change_of(const struct rl_entry *entry)
{
	return rl_ops[entry->operation].change;
}

/* Whether one of the first `count` extends the key that this one extends. Each would be compared with the
 * expiry that was read: a shorter one behind a longer one, of two handles with one value, would undo it. */
static bool extends_again(const struct rl_node *n, unsigned count)
{
	const struct rl_entry *last = rl_outbox_at(&n->parked, count);
	for (unsigned i = 0; i < count && change_of(last) == RL_CHANGE_LENGTHEN; i++) {
		const struct rl_entry *e = rl_outbox_at(&n->parked, i);
		if (change_of(e) == RL_CHANGE_LENGTHEN && e->name_hash == last->name_hash)
			return true;
	}
	return false;
}

/* After an EXEC that was for nothing the first request goes alone, so that others do not suffer for it. */
static unsigned gather(const struct rl_node *n, struct rl_request *requests)
{
	unsigned most = n->talk_tries > 0 ? 1 : RL_BATCH, count = 0;
	while (count < most && count < n->parked.count) {
		requests[count] = parked_request(n, count);
		bool query = change_of(rl_outbox_at(&n->parked, count)) == RL_CHANGE_LOOK;
		bool fits = rl_method_choose(&n->methods, &requests[count]) == RL_FORM_WATCH;
		if (!fits || (query && count > 0) || extends_again(n, count))
			break;
		count++;
		if (query)
			break;
	}
	return count;
}

static bool push_step(struct rl_node *n, const struct rl_buffer *bytes)
{
	struct rl_entry step = {.step = (uint8_t)n->transaction.step};
	return rl_outbox_push(&n->outbox, &step, (struct rl_slice){bytes->bytes, bytes->size});
}

static bool begin(struct rl_node *n)
{
	struct rl_request requests[RL_BATCH];
	struct rl_buffer bytes = {0};
	unsigned count = gather(n, requests);
	n->talk_handed = 0;
	if (count == 0) {
		struct rl_request first = parked_request(n, 0);
		return move_front(n, &first, rl_method_choose(&n->methods, &first));
	}
	bool ok = rl_transaction_begin(&n->transaction, requests, count, &bytes) && push_step(n, &bytes);
	rl_buffer_free(&bytes);
	return ok;
}

/* Not before the opening commands are answered, which may say that this is another server; nor when a login
 * waits for the one that is under way. */
bool rl_talk_may_go_on(const struct rl_node *n)
{
	bool ready = n->link == RL_LINK_OPEN && n->setup.count == 0 && n->login_by_ns == 0;
	return ready && n->talk_resolved == 0 && n->parked.count > 0 && n->transaction.step == RL_STEP_NONE;
}

void rl_talk_go_on(struct rl_node *n)
{
	bool ok = true;
	while (ok && rl_talk_may_go_on(n))
		ok = begin(n);
	if (!ok)
		rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
}

/* ---- answers ---- */

static void resolve(struct rl_node *n)
{
	struct rl_transaction *t = &n->transaction;
	unsigned resolved = 0;
	while (resolved < t->count && t->parts[resolved].vote != REDLOCK_VOTE_PENDING)
		resolved++;
	bool rest = resolved < t->count;
	n->talk_tries = !rest ? 0 : resolved > 0 ? 1 : n->talk_tries + 1;
	if (n->talk_tries > MOST_TRIES) {
		snprintf(t->error, sizeof t->error, "the key was touched again and again between WATCH and EXEC");
		t->parts[0].vote = REDLOCK_VOTE_BLOCKED;
		resolved = 1;
		n->talk_tries = 0;
	}
	n->talk_resolved = resolved;
	n->talk_handed = 0;
}

/* All ways are barred. Everything that is parked gets the same answer; what comes next tries anew. */
static void give_up(struct rl_node *n)
{
	struct rl_transaction *t = &n->transaction;
	char text[sizeof t->error];
	n->talk_refused = rl_answer_of_error(t->error);
	/* of "unknown command 'X', with args ..." only the first part is shown: see rl_node_remember_failure() */
	int length = (int)strcspn(t->error, ",\r\n");
	snprintf(text, sizeof text, "%.*s; permit +eval +evalsha or +watch +multi +exec +getrange",
	         length < MOST_OF_REFUSAL ? length : MOST_OF_REFUSAL, t->error);
	snprintf(t->error, sizeof t->error, "%s", text);
	n->talk_resolved = n->parked.count;
	n->talk_handed = 0;
	n->talk_tries = 0;
	rl_method_forgive(&n->methods);
}

static bool push_change(struct rl_node *n)
{
	struct rl_buffer bytes = {0};
	bool ok = rl_transaction_change(&n->transaction, &bytes) && push_step(n, &bytes);
	rl_buffer_free(&bytes);
	return ok;
}

bool rl_talk_take(struct rl_node *n, const struct rl_reply *reply)
{
	struct rl_transaction *t = &n->transaction;
	switch (rl_transaction_take(t, reply)) {
	case RL_TALK_MORE:
		return false;
	case RL_TALK_GO_ON:
		if (!push_change(n))
			rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
		break;
	case RL_TALK_DONE:
		resolve(n);
		break;
	case RL_TALK_REFUSED:
		give_up(n);
		break;
	case RL_TALK_STUCK:
		rl_node_fail(n, rl_answer_of_error(t->error), t->error);
		break;
	case RL_TALK_GARBAGE:
		rl_node_fail(n, REDLOCK_VOTE_GARBAGE, "the answer is not that of a transaction");
		break;
	}
	return true;
}

static bool hand_out(struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote,
                     struct rl_answer *ret)
{
	rl_outbox_pop(&n->parked);
	*ret = (struct rl_answer){.tag = entry->tag, .operation = entry->operation, .vote.code = vote};
	if (vote == REDLOCK_VOTE_YES && change_of(entry) == RL_CHANGE_LOOK)
		ret->vote = n->transaction.found;
	return entry->tag.seq != 0;
}

bool rl_talk_next(struct rl_node *n, struct rl_answer *ret, uint64_t now_ns)
{
	const struct rl_transaction *t = &n->transaction;
	while (n->talk_resolved > 0) {
		struct rl_entry entry = *rl_outbox_front(&n->parked);
		unsigned index = n->talk_handed++;
		n->talk_resolved--;
		if (change_of(&entry) == RL_CHANGE_NONE) { /* it only waited */
			struct rl_request r = parked_request(n, 0);
			if (!move_front(n, &r, rl_method_choose(&n->methods, &r)))
				rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
			continue;
		}
		enum redlock_vote_code vote = index < t->count ? t->parts[index].vote : n->talk_refused;
		bool failed = vote != REDLOCK_VOTE_YES && vote != REDLOCK_VOTE_NO;
		rl_node_settle(n, &entry, vote, failed ? t->error : NULL, now_ns);
		if (hand_out(n, &entry, vote, ret))
			return true;
	}
	return false;
}

/* What was being changed may be done. What was only looked at, or waited, was not asked. */
bool rl_talk_next_broken(struct rl_node *n, struct rl_answer *ret)
{
	const struct rl_transaction *t = &n->transaction;
	const struct rl_entry *front;
	while ((front = rl_outbox_front(&n->parked)) != NULL) {
		struct rl_entry entry = *front;
		unsigned index = n->talk_handed++;
		bool begun = t->step == RL_STEP_CHANGE && index < t->count && t->parts[index].changes;
		uint64_t unsent_from = entry.set_parked ? n->parked_popped + 1 : n->first_unsent;
		if (entry.owed && (unsent_from == 0 || entry.set_number < unsent_from))
			rl_node_keep_debt(n, &entry, rl_outbox_front_bytes(&n->parked));
		if (hand_out(n, &entry, rl_node_broken_vote(n, !begun), ret))
			return true;
	}
	return false;
}

void rl_talk_end(struct rl_node *n)
{
	rl_transaction_drop(&n->transaction);
	n->talk_resolved = n->talk_handed = n->talk_tries = 0;
}
