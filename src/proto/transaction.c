/* SPDX-License-Identifier: MIT */
#include "proto/transaction.h"

#include <stdio.h>
#include <string.h>

#include "proto/answer.h"
#include "proto/command.h"

/* ---- what is sent ---- */

static bool put(struct rl_buffer *out, const char *command)
{
	return rl_command_write(out, (struct rl_slice[]){rl_slice_of(command)}, 1);
}

static bool put_key(struct rl_buffer *out, const char *command, struct rl_slice key)
{
	return rl_command_write(out, (struct rl_slice[]){rl_slice_of(command), key}, 2);
}

static struct rl_slice digits(char text[24], uint64_t number)
{
	return (struct rl_slice){text, (size_t)snprintf(text, 24, "%llu", (unsigned long long)number)};
}

/* One byte more than the token, so that a longer value does not look like it. */
static bool put_range(struct rl_buffer *out, struct rl_slice key, uint64_t last)
{
	char text[24];
	struct rl_slice words[] = {rl_slice_of("GETRANGE"), key, rl_slice_of("0"), digits(text, last)};
	return rl_command_write(out, words, 4);
}

static bool put_read(const struct rl_transaction *t, struct rl_buffer *out)
{
	struct rl_slice watch[1 + RL_BATCH] = {rl_slice_of("WATCH")};
	for (unsigned i = 0; i < t->count; i++)
		watch[1 + i] = t->parts[i].name;
	bool ok = put(out, "MULTI") && put(out, "EXEC") && rl_command_write(out, watch, 1 + t->count);
	for (unsigned i = 0; ok && i < t->count; i++) {
		const struct rl_part *p = &t->parts[i];
		ok = put_range(out, p->name, p->token.size) &&
		     (p->op->change != RL_CHANGE_LENGTHEN || put_key(out, "PTTL", p->name));
	}
	return ok;
}

static bool put_look(const struct rl_transaction *t, struct rl_buffer *out)
{
	struct rl_slice name = t->parts[0].name;
	return put(out, "MULTI") && put(out, "EXEC") && put(out, "MULTI") && put_key(out, "TYPE", name) &&
	       put_key(out, "PTTL", name) && put_key(out, "STRLEN", name) && put_range(out, name, 1023) &&
	       put(out, "EXEC");
}

/* An expiry that is late enough, or none at all, stays as it is. */
static bool lengthens(const struct rl_part *p)
{
	return p->left >= 0 && (uint64_t)p->left < p->ttl_ms;
}

static bool put_change(const struct rl_part *p, struct rl_buffer *out)
{
	char text[24];
	if (p->op->change == RL_CHANGE_DELETE)
		return put_key(out, "DEL", p->name);
	if (!lengthens(p))
		return put_key(out, "PTTL", p->name);
	struct rl_slice words[] = {rl_slice_of("PEXPIRE"), p->name, digits(text, p->ttl_ms)};
	return rl_command_write(out, words, 3);
}

static void enter(struct rl_transaction *t, enum rl_step step)
{
	t->step = step;
	t->replies = 0;
}

/* The requests' bytes may move while the conversation goes on. */
static bool keep(struct rl_transaction *t, const struct rl_request *requests, unsigned count)
{
	size_t size = 0;
	for (unsigned i = 0; i < count; i++)
		size += requests[i].name.size + requests[i].token.size;
	t->kept.size = 0;
	if (!rl_buffer_reserve(&t->kept, size))
		return false;
	char *at = t->kept.bytes;
	for (unsigned i = 0; i < count; i++) {
		const struct rl_request *r = &requests[i];
		struct rl_slice name = {at, r->name.size}, token = {at + r->name.size, r->token.size};
		memcpy(at, r->name.bytes, name.size);
		memcpy(at + name.size, r->token.bytes, token.size);
		at += name.size + token.size;
		t->parts[i] =
		    (struct rl_part){.op = &rl_ops[r->operation], .name = name, .token = token, .ttl_ms = r->ttl_ms};
	}
	t->count = count;
	return true;
}

bool rl_transaction_begin(struct rl_transaction *t, const struct rl_request *requests, unsigned count,
                          struct rl_buffer *out)
{
	bool look = rl_ops[requests[0].operation].change == RL_CHANGE_LOOK;
	if (!keep(t, requests, count) || !(look ? put_look(t, out) : put_read(t, out)))
		return false;
	t->error[0] = '\0';
	t->reading = 0;
	t->unopened = t->aborted = false;
	enter(t, look ? RL_STEP_LOOK : RL_STEP_READ);
	return true;
}

bool rl_transaction_change(struct rl_transaction *t, struct rl_buffer *out)
{
	bool ok = put(out, "MULTI");
	for (unsigned i = 0; ok && i < t->count; i++)
		ok = !t->parts[i].changes || put_change(&t->parts[i], out);
	if (!ok || !put(out, "EXEC"))
		return false;
	enter(t, RL_STEP_CHANGE);
	return true;
}

/* ---- what is answered ---- */

static bool is_error(const struct rl_reply *r)
{
	return r->value.type == RL_REPLY_ERROR;
}

static bool is_status(const struct rl_reply *r, const char *text)
{
	return r->value.type == RL_REPLY_STATUS && strcmp(r->value.text, text) == 0;
}

/* The first error tells why; later ones follow from it ("EXEC without MULTI"). */
static void note(struct rl_transaction *t, const char *text)
{
	static const char discarded[] = "EXECABORT Transaction discarded because of: ";
	size_t skip = strncmp(text, discarded, sizeof discarded - 1) == 0 ? sizeof discarded - 1 : 0;
	if (t->error[0] == '\0')
		snprintf(t->error, sizeof t->error, "%s", text + skip);
}

/* Everything that has no vote yet gets this one. */
static enum rl_progress finish(struct rl_transaction *t, enum redlock_vote_code vote)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->parts[i].vote == REDLOCK_VOTE_PENDING)
			t->parts[i].vote = vote;
	t->step = RL_STEP_NONE;
	return RL_PROGRESS_DONE;
}

static enum rl_progress fail_part(struct rl_transaction *t, struct rl_part *p, const char *text)
{
	p->vote = rl_answer_of_error(text);
	if (p->vote != REDLOCK_VOTE_NO)
		note(t, text);
	return RL_PROGRESS_MORE;
}

/* MULTI, EXEC or WATCH itself failed: because they are not available, or because of the server's state. */
static enum rl_progress fail_all(struct rl_transaction *t)
{
	bool unknown = strncmp(t->error, "ERR unknown command", 19) == 0;
	bool forbidden = strncmp(t->error, "NOPERM", 6) == 0 && strstr(t->error, "to run the '") != NULL;
	finish(t, rl_answer_of_error(t->error));
	return unknown || forbidden ? RL_PROGRESS_REFUSED : RL_PROGRESS_DONE;
}

static enum rl_progress expect(struct rl_transaction *t, const struct rl_reply *r, const char *status)
{
	if (is_error(r)) {
		t->unopened = true;
		note(t, r->value.text);
		return RL_PROGRESS_MORE;
	}
	return is_status(r, status) ? RL_PROGRESS_MORE : RL_PROGRESS_GARBAGE;
}

/* An EXEC of nothing may answer nil, when what was watched before was touched. */
static enum rl_progress expect_nothing(struct rl_transaction *t, const struct rl_reply *r)
{
	bool nothing = r->value.type == RL_REPLY_NIL || (r->value.type == RL_REPLY_ARRAY && r->count == 0);
	return nothing ? RL_PROGRESS_MORE : expect(t, r, "");
}

/* ---- READ ---- */

/* All was read. */
static enum rl_progress decide(struct rl_transaction *t)
{
	bool any = false;
	if (t->unopened)
		return fail_all(t);
	for (unsigned i = 0; i < t->count; i++) {
		struct rl_part *p = &t->parts[i];
		if (p->vote == REDLOCK_VOTE_PENDING && (!p->ours || p->left == -2)) /* -2: expired in between */
			p->vote = REDLOCK_VOTE_NO;
		p->changes = p->vote == REDLOCK_VOTE_PENDING;
		any |= p->changes;
	}
	return any ? RL_PROGRESS_GO_ON : finish(t, REDLOCK_VOTE_NO);
}

static enum rl_progress next_part(struct rl_transaction *t)
{
	return ++t->reading < t->count ? RL_PROGRESS_MORE : decide(t);
}

static enum rl_progress take_value(struct rl_transaction *t, struct rl_part *p, const struct rl_reply *r)
{
	const struct rl_reply_value *v = &r->value;
	if (t->unopened && is_status(r, "QUEUED"))
		return RL_PROGRESS_STUCK;
	if (v->type != RL_REPLY_STRING && v->type != RL_REPLY_ERROR)
		return RL_PROGRESS_GARBAGE;
	if (v->type == RL_REPLY_ERROR)
		fail_part(t, p, v->text);
	else
		p->ours = v->length == p->token.size && memcmp(v->text, p->token.bytes, p->token.size) == 0;
	p->valued = true;
	return p->op->change == RL_CHANGE_LENGTHEN ? RL_PROGRESS_MORE : next_part(t);
}

static enum rl_progress take_left(struct rl_transaction *t, struct rl_part *p, const struct rl_reply *r)
{
	if (r->value.type != RL_REPLY_INTEGER && r->value.type != RL_REPLY_ERROR)
		return RL_PROGRESS_GARBAGE;
	if (r->value.type == RL_REPLY_ERROR)
		fail_part(t, p, r->value.text);
	p->left = r->value.integer;
	return next_part(t);
}

static enum rl_progress take_read(struct rl_transaction *t, const struct rl_reply *r, unsigned number)
{
	struct rl_part *p = &t->parts[t->reading];
	if (number == 1)
		return expect_nothing(t, r);
	if (number < 3)
		return expect(t, r, "OK");
	return p->valued ? take_left(t, p, r) : take_value(t, p, r);
}

/* ---- CHANGE ---- */

static enum redlock_vote_code vote_of_change(struct rl_transaction *t, const struct rl_part *p,
                                             const struct rl_reply_value *v)
{
	if (v->type == RL_REPLY_ERROR) {
		note(t, v->text);
		return rl_answer_of_error(v->text);
	}
	bool looked = p->op->change == RL_CHANGE_LENGTHEN && !lengthens(p);
	bool fits = looked ? v->integer >= -2 : v->integer == 0 || v->integer == 1;
	if (v->type != RL_REPLY_INTEGER || !fits)
		return REDLOCK_VOTE_GARBAGE;
	bool there = looked ? v->integer != -2 : v->integer == 1;
	return there ? REDLOCK_VOTE_YES : REDLOCK_VOTE_NO;
}

static enum rl_progress take_results(struct rl_transaction *t, const struct rl_reply *r)
{
	unsigned item = 0;
	for (unsigned i = 0; i < t->count; i++) {
		struct rl_part *p = &t->parts[i];
		if (p->changes)
			p->vote = vote_of_change(t, p, &r->items[item++]);
		if (p->vote == REDLOCK_VOTE_GARBAGE)
			return RL_PROGRESS_GARBAGE;
	}
	t->step = RL_STEP_NONE;
	return RL_PROGRESS_DONE;
}

/* The answer of EXEC. PENDING is what was discarded through no fault of its own. */
static enum rl_progress take_exec(struct rl_transaction *t, const struct rl_reply *r, unsigned commands)
{
	if (t->unopened) /* what was in between was executed alone, or refused too */
		return finish(t, rl_answer_of_error(t->error));
	if (r->value.type == RL_REPLY_NIL)
		return finish(t, REDLOCK_VOTE_PENDING); /* a key was touched */
	if (is_error(r)) {
		note(t, r->value.text);
		return finish(t, t->aborted ? REDLOCK_VOTE_PENDING : rl_answer_of_error(t->error));
	}
	if (t->aborted || r->value.type != RL_REPLY_ARRAY || r->count != commands)
		return RL_PROGRESS_GARBAGE;
	return RL_PROGRESS_GO_ON;
}

/* The part that the command number `number` after MULTI belongs to, the first being 1; NULL: EXEC. */
static struct rl_part *queued(struct rl_transaction *t, unsigned number, unsigned *ret_changes)
{
	struct rl_part *part = NULL;
	*ret_changes = 0;
	for (unsigned i = 0; i < t->count; i++)
		if (t->parts[i].changes && ++*ret_changes == number)
			part = &t->parts[i];
	return part;
}

static enum rl_progress take_change(struct rl_transaction *t, const struct rl_reply *r, unsigned number)
{
	unsigned changes;
	struct rl_part *p = queued(t, number, &changes);
	if (number == 0)
		return expect(t, r, "OK");
	if (p == NULL) {
		enum rl_progress progress = take_exec(t, r, changes);
		return progress == RL_PROGRESS_GO_ON ? take_results(t, r) : progress;
	}
	if (t->unopened)
		return RL_PROGRESS_MORE;
	if (is_error(r)) {
		t->aborted = true;
		return fail_part(t, p, r->value.text);
	}
	return is_status(r, "QUEUED") ? RL_PROGRESS_MORE : RL_PROGRESS_GARBAGE;
}

/* ---- LOOK ---- */

/* In the shape that ops/query.lua gives; a value that is no string is not looked at. */
static enum rl_progress take_finding(struct rl_transaction *t, const struct rl_reply *r)
{
	struct rl_reply finding = *r;
	struct rl_reply_value *items = finding.items;
	if (items[0].type != RL_REPLY_STATUS)
		return RL_PROGRESS_GARBAGE;
	items[0].type = RL_REPLY_STRING;
	if (strcmp(items[0].text, "string") != 0) {
		items[2] = (struct rl_reply_value){.type = RL_REPLY_INTEGER};
		items[3] = (struct rl_reply_value){.type = RL_REPLY_STRING, .text = ""};
	}
	for (unsigned i = 0; i < 4; i++) {
		if (items[i].type != RL_REPLY_ERROR)
			continue;
		fail_part(t, &t->parts[0], items[i].text);
		return finish(t, REDLOCK_VOTE_NO);
	}
	rl_answer_read(t->parts[0].op->outcomes, &finding, &t->found);
	return t->found.code == REDLOCK_VOTE_GARBAGE ? RL_PROGRESS_GARBAGE : finish(t, t->found.code);
}

static enum rl_progress take_look(struct rl_transaction *t, const struct rl_reply *r, unsigned number)
{
	enum { OPENING = 3, COMMANDS = 4 };
	if (number == 1)
		return expect_nothing(t, r);
	if (number < OPENING)
		return expect(t, r, "OK");
	if (number < OPENING + COMMANDS) {
		if (t->unopened || is_status(r, "QUEUED"))
			return RL_PROGRESS_MORE;
		t->aborted = true; /* EXEC will say so */
		return is_error(r) ? fail_part(t, &t->parts[0], r->value.text) : RL_PROGRESS_GARBAGE;
	}
	if (t->unopened)
		return fail_all(t);
	enum rl_progress progress = take_exec(t, r, COMMANDS);
	return progress == RL_PROGRESS_GO_ON ? take_finding(t, r) : progress;
}

enum rl_progress rl_transaction_take(struct rl_transaction *t, const struct rl_reply *reply)
{
	unsigned number = t->replies++;
	switch (t->step) {
	case RL_STEP_READ:
		return take_read(t, reply, number);
	case RL_STEP_CHANGE:
		return take_change(t, reply, number);
	case RL_STEP_LOOK:
		return take_look(t, reply, number);
	case RL_STEP_NONE:
	case RL_STEP_WAIT:
		break;
	}
	return RL_PROGRESS_GARBAGE;
}

void rl_transaction_drop(struct rl_transaction *t)
{
	t->step = RL_STEP_NONE;
	t->count = 0;
}

void rl_transaction_free(struct rl_transaction *t)
{
	rl_buffer_free(&t->kept);
}
