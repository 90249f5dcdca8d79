/* SPDX-License-Identifier: MIT */
#include "net/talk.h"

#include <stdio.h>

#include "proto/answer.h"

/* How often one request is asked again because its key was touched. Only the holder of a lock touches its
 * key, apart from expiry and foreign programs. */
enum { MOST_TRIES = 16 };

/* How much of a server's refusal is kept: the hint after it needs room too. */
enum { MOST_OF_REFUSAL = 70 };

/* ---- parking ---- */

bool rl_talk_park(struct rl_talk *t, const struct rl_entry *entry, const struct rl_request *r,
                  struct rl_slice bytes)
{
	struct rl_entry parked = *entry;
	parked.name_hash = rl_slice_hash(r->name);
	parked.token_hash = rl_slice_hash(r->token);
	return rl_outbox_push(&t->parked, &parked, bytes);
}

bool rl_talk_is_parked(const struct rl_talk *t, struct rl_slice name)
{
	uint32_t hash = rl_slice_hash(name);
	for (unsigned i = 0; i < t->parked.count; i++)
		if (rl_outbox_at(&t->parked, i)->name_hash == hash)
			return true;
	return false;
}

/* ---- asking ---- */

bool rl_talk_ask(struct rl_talk *t, struct rl_outbox *asked, const struct rl_entry *entry,
                 const struct rl_request *r, enum rl_form form)
{
	struct rl_buffer bytes = {0};
	struct rl_entry again = *entry;
	bool parks = form == RL_FORM_WATCH;
	again.form = (uint8_t)(parks ? rl_ops[r->operation].parked_as : form);
	again.set_number = 0;
	again.set_parked = false;
	bool ok = rl_request_write(&bytes, r, (enum rl_form)again.form);
	struct rl_slice all = {bytes.bytes, bytes.size};
	ok = ok && (parks ? rl_talk_park(t, &again, r, all) : rl_outbox_ask(asked, &again, all));
	rl_buffer_free(&bytes);
	return ok;
}

static struct rl_request parked_request(const struct rl_talk *t, unsigned index)
{
	return rl_outbox_request(rl_outbox_at(&t->parked, index), rl_outbox_bytes_at(&t->parked, index));
}

/* Asks a parked request in the ordinary way if it needs no transaction (any more). */
static bool move_front(struct rl_talk *t, const struct rl_methods *m, struct rl_outbox *asked)
{
	struct rl_request r = parked_request(t, 0);
	r.pass = m->pass;
	bool ok = rl_talk_ask(t, asked, rl_outbox_front(&t->parked), &r, rl_method_choose(m, &r));
	if (ok)
		rl_outbox_pop(&t->parked);
	return ok;
}

static enum rl_change change_of(const struct rl_entry *entry)
{
	return rl_ops[entry->operation].change;
}

/* Whether one of the first `count` extends the key that this one extends. Each would be compared with the
 * expiry that was read: a shorter extend after a longer one, of two handles with one value, would undo the
 * longer one. */
static bool extends_again(const struct rl_talk *t, unsigned count)
{
	const struct rl_entry *last = rl_outbox_at(&t->parked, count);
	for (unsigned i = 0; i < count && change_of(last) == RL_CHANGE_LENGTHEN; i++) {
		const struct rl_entry *e = rl_outbox_at(&t->parked, i);
		if (change_of(e) == RL_CHANGE_LENGTHEN && e->name_hash == last->name_hash)
			return true;
	}
	return false;
}

/* After an EXEC that was for nothing the first request goes alone, so that others do not suffer for it. */
static unsigned gather(const struct rl_talk *t, const struct rl_methods *m, struct rl_request *requests)
{
	unsigned most = t->tries > 0 ? 1 : RL_BATCH, count = 0;
	while (count < most && count < t->parked.count) {
		requests[count] = parked_request(t, count);
		bool query = change_of(rl_outbox_at(&t->parked, count)) == RL_CHANGE_LOOK;
		bool fits = rl_method_choose(m, &requests[count]) == RL_FORM_WATCH;
		if (!fits || (query && count > 0) || extends_again(t, count))
			break;
		count++;
		if (query)
			break;
	}
	return count;
}

static bool push_step(const struct rl_talk *t, struct rl_outbox *asked, struct rl_buffer *bytes)
{
	struct rl_entry step = {.step = (uint8_t)t->transaction.step};
	bool ok = rl_outbox_push(asked, &step, (struct rl_slice){bytes->bytes, bytes->size});
	rl_buffer_free(bytes);
	return ok;
}

static bool begin(struct rl_talk *t, const struct rl_methods *m, struct rl_outbox *asked)
{
	struct rl_request requests[RL_BATCH];
	struct rl_buffer bytes = {0};
	unsigned count = gather(t, m, requests);
	t->handed = 0;
	if (count == 0)
		return move_front(t, m, asked);
	if (rl_transaction_begin(&t->transaction, requests, count, &bytes))
		return push_step(t, asked, &bytes);
	rl_buffer_free(&bytes);
	return false;
}

bool rl_talk_go_on(struct rl_talk *t, const struct rl_methods *m, struct rl_outbox *asked)
{
	bool ok = true;
	while (ok && rl_talk_may_go_on(t))
		ok = begin(t, m, asked);
	return ok;
}

/* ---- answers ---- */

static void resolve(struct rl_talk *talk)
{
	struct rl_transaction *t = &talk->transaction;
	unsigned resolved = 0;
	while (resolved < t->count && t->parts[resolved].vote != REDLOCK_VOTE_PENDING)
		resolved++;
	bool rest = resolved < t->count;
	talk->tries = !rest ? 0 : resolved > 0 ? 1 : talk->tries + 1;
	if (talk->tries > MOST_TRIES) {
		snprintf(t->error, sizeof t->error, "the key was touched again and again between WATCH and EXEC");
		t->parts[0].vote = REDLOCK_VOTE_BLOCKED;
		resolved = 1;
		talk->tries = 0;
	}
	talk->resolved = resolved;
	talk->handed = 0;
}

/* All ways are barred. Everything that is parked gets the same answer; what comes next tries anew. */
static void give_up(struct rl_talk *talk, struct rl_methods *m)
{
	struct rl_transaction *t = &talk->transaction;
	char text[sizeof t->error];
	talk->refused = rl_answer_of_error(t->error);
	int length = rl_reply_shown_length(t->error);
	snprintf(text, sizeof text, "%.*s; permit +eval +evalsha or +watch +multi +exec +getrange",
	         length < MOST_OF_REFUSAL ? length : MOST_OF_REFUSAL, t->error);
	snprintf(t->error, sizeof t->error, "%s", text);
	talk->resolved = talk->parked.count;
	talk->handed = 0;
	talk->tries = 0;
	rl_method_forgive(m);
}

static enum rl_talk_news fail(struct rl_talk *t, enum redlock_vote_code vote, const char *text)
{
	t->refused = vote;
	if (text != t->transaction.error)
		snprintf(t->transaction.error, sizeof t->transaction.error, "%s", text);
	return RL_TALK_BROKEN;
}

enum rl_talk_news rl_talk_take(struct rl_talk *t, struct rl_methods *m, struct rl_outbox *asked,
                               const struct rl_reply *reply)
{
	struct rl_buffer bytes = {0};
	switch (rl_transaction_take(&t->transaction, reply)) {
	case RL_PROGRESS_MORE:
		return RL_TALK_WAITS;
	case RL_PROGRESS_GO_ON:
		if (!rl_transaction_change(&t->transaction, &bytes) || !push_step(t, asked, &bytes))
			return fail(t, REDLOCK_VOTE_DOWN, "out of memory");
		break;
	case RL_PROGRESS_DONE:
		resolve(t);
		break;
	case RL_PROGRESS_REFUSED:
		give_up(t, m);
		break;
	case RL_PROGRESS_STUCK:
		return fail(t, rl_answer_of_error(t->transaction.error), t->transaction.error);
	case RL_PROGRESS_GARBAGE:
		return fail(t, REDLOCK_VOTE_GARBAGE, "the answer is not that of a transaction");
	}
	return RL_TALK_TAKEN;
}

/* The vote of the front of `parked`, which is the part number `index`. */
static struct rl_vote vote_of(const struct rl_talk *talk, unsigned index)
{
	const struct rl_transaction *t = &talk->transaction;
	enum redlock_vote_code code = index < t->count ? t->parts[index].vote : talk->refused;
	bool found = code == REDLOCK_VOTE_YES && t->parts[index].op->change == RL_CHANGE_LOOK;
	return found ? t->found : (struct rl_vote){.code = code};
}

enum rl_talk_news rl_talk_next(struct rl_talk *t, const struct rl_methods *m, struct rl_outbox *asked,
                               struct rl_talk_result *ret)
{
	while (t->resolved > 0) {
		ret->entry = *rl_outbox_front(&t->parked);
		unsigned index = t->handed++;
		t->resolved--;
		if (change_of(&ret->entry) == RL_CHANGE_NONE) { /* it only waited */
			if (!move_front(t, m, asked))
				return RL_TALK_BROKEN; /* there is no memory */
			continue;
		}
		ret->vote = vote_of(t, index);
		bool failed = ret->vote.code != REDLOCK_VOTE_YES && ret->vote.code != REDLOCK_VOTE_NO;
		ret->error = failed ? t->transaction.error : NULL;
		rl_outbox_pop(&t->parked);
		return RL_TALK_TAKEN;
	}
	return RL_TALK_WAITS;
}

bool rl_talk_front_begun(struct rl_talk *talk)
{
	const struct rl_transaction *t = &talk->transaction;
	unsigned index = talk->handed++;
	return t->step == RL_STEP_CHANGE && index < t->count && t->parts[index].changes;
}

void rl_talk_end(struct rl_talk *t)
{
	rl_transaction_drop(&t->transaction);
	t->resolved = t->handed = t->tries = 0;
}

void rl_talk_free(struct rl_talk *t)
{
	rl_outbox_free(&t->parked);
	rl_transaction_free(&t->transaction);
}
