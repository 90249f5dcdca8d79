/* SPDX-License-Identifier: MIT */
#include "asked.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_list(const struct rl_word *word)
{
	return word->kind == RL_WORD_NAMES || word->kind == RL_WORD_QUEUES || word->kind == RL_WORD_FENCES ||
	       word->kind == RL_WORD_SLOTS;
}

/* Whether a list is there: counters of several names are where a number is drawn, which the last word says.
 */
static bool is_there(const struct rl_word *word, const struct rl_word *row, const struct words *w)
{
	while (row[1].kind != RL_WORD_END)
		row++;
	return word->kind != RL_WORD_FENCES || row->kind != RL_WORD_FENCED || w->at[w->count - 1].size > 0;
}

/* How many words more a list of names is than the word of the row: so many keys there are. One of slots has
 * none where there is one slot. */
static int list_is_longer(const struct rl_word *row, const struct words *w)
{
	int lists = 0, others = 0;
	for (unsigned i = 3; row[2].kind == RL_WORD_KEYS && row[i].kind != RL_WORD_TOKEN; i++) {
		bool list = is_list(&row[i]);
		lists += list && is_there(&row[i], row, w);
		others += !list;
	}
	int keys = lists > 0 && w->count > 2 ? (int)word_number(w->at[2]) - others : lists;
	return lists > 0 && keys >= 0 ? keys / lists - 1 : 0;
}

static bool fits(const struct rl_word *row, const struct words *w, struct asked *ret)
{
	const struct rl_word *first = row;
	int more = list_is_longer(row, w);
	for (unsigned i = 0; i < w->count; i++, row++) {
		if ((row->kind == RL_WORD_SLOTS && more < 0) || !is_there(row, first, w))
			row++;
		if (row->kind == RL_WORD_END ||
		    (row->kind == RL_WORD_FIXED &&
		     !bytes_equal(w->at[i], (struct bytes){row->fixed.bytes, row->fixed.size})) ||
		    (row->kind == RL_WORD_TTL && word_number(w->at[i]) <= 0))
			return false;
		if (row->kind < RL_WORD_FIXED)
			ret->parts[row->kind] = w->at[i];
		if (is_list(row))
			i += (unsigned)more;
	}
	return row->kind == RL_WORD_END;
}

/* Most are not: their first word is another. */
static bool may_fit(const struct rl_word *row, const struct words *w)
{
	return row != NULL && row->fixed.size == w->at[0].size && row->fixed.bytes[0] == *w->at[0].at;
}

bool asked_read(const struct words *w, struct asked *ret)
{
	for (unsigned i = 0; i < RL_OP_COUNT; i++)
		for (unsigned form = 0; form < RL_FORM_WATCH; form++) {
			const struct rl_word *row = rl_ops[i].words[form];
			if (!may_fit(row, w))
				continue;
			*ret = (struct asked){.op = &rl_ops[i], .form = (enum rl_form)form};
			if (fits(row, w, ret))
				return true;
		}
	ret->op = NULL;
	return false;
}

/* An answer with the words of an array as one text. */
static bool is_text(const struct rl_outcome *o, struct bytes answer)
{
	const char *end = memchr(answer.at, '\n', answer.size);
	return o->type == RL_REPLY_ARRAY && o->fields[0] == RL_FIELD_VERDICT && answer.at[0] == '$' &&
	       end != NULL && end + 1 < answer.at + answer.size && o->least <= strtoll(end + 1, NULL, 10) &&
	       strtoll(end + 1, NULL, 10) <= o->most;
}

static bool is_outcome(const struct rl_outcome *o, struct bytes answer)
{
	static const char *const begins[] = {[RL_REPLY_STATUS] = "+OK\r",
	                                     [RL_REPLY_NIL] = "$-1\r",
	                                     [RL_REPLY_INTEGER] = ":",
	                                     [RL_REPLY_ARRAY] = "*",
	                                     [RL_REPLY_ERROR] = "-"};
	size_t size = strlen(begins[o->type]);
	if (is_text(o, answer))
		return true;
	if (answer.size < size || memcmp(answer.at, begins[o->type], size) != 0)
		return false;
	if (o->type == RL_REPLY_ERROR)
		return answer.size > strlen(o->error) && memcmp(answer.at + 1, o->error, strlen(o->error)) == 0;
	const char *first = o->type == RL_REPLY_ARRAY && o->fields[0] == RL_FIELD_VERDICT
	                        ? memchr(answer.at, ':', answer.size)
	                    : o->type == RL_REPLY_INTEGER ? answer.at
	                                                  : NULL;
	int64_t number = first != NULL ? strtoll(first + 1, NULL, 10) : o->least;
	return o->least <= number && number <= o->most;
}

void asked_note(struct asked_seen *seen, const struct asked *asked, struct bytes answer)
{
	const struct rl_outcome *o = asked->op != NULL ? rl_ops_outcomes(asked->op, asked->form) : NULL;
	for (unsigned i = 0; o != NULL && o[i].vote != REDLOCK_VOTE_PENDING; i++)
		if (is_outcome(&o[i], answer)) {
			seen->times[asked_operation(asked)][asked->form][i]++;
			return;
		}
}

/* By digest or by text it is the same script: of several names, which seldom all have one token, and where a
 * record must fit, either will do. */
static uint64_t times_of(const struct asked_seen *seen, unsigned operation, unsigned form, unsigned outcome)
{
	const uint32_t pairs[] = {RL_FORMS_QUEUE, RL_FORM_BIT(RL_FORM_SHA) | RL_FORM_BIT(RL_FORM_TEXT),
	                          RL_FORMS_GUARD};
	uint64_t times = seen->times[operation][form][outcome];
	bool either =
	    rl_ops[operation].several || rl_ops[operation].scripted || (RL_FORMS_GUARD >> form & 1) != 0;
	for (unsigned i = 0; either && i < sizeof pairs / sizeof pairs[0]; i++)
		for (unsigned other = 0; (pairs[i] >> form & 1) != 0 && other < RL_FORM_COUNT; other++)
			if (other != form && (pairs[i] >> other & 1) != 0)
				times += seen->times[operation][other][outcome];
	return times;
}

static int print_row(const struct asked_seen *seen, unsigned operation, unsigned form, enum asked_show show)
{
	const struct rl_op *op = &rl_ops[operation];
	const struct rl_outcome *outcomes = rl_ops_outcomes(op, (enum rl_form)form);
	bool watch = form == RL_FORM_WATCH;
	int never = 0;
	for (unsigned i = 0; watch ? i == 0 : outcomes[i].vote != REDLOCK_VOTE_PENDING; i++) {
		uint64_t times = times_of(seen, operation, form, i);
		if (operation == RL_OP_RAISE && !watch && outcomes[i].vote != REDLOCK_VOTE_YES)
			continue; /* its key would have to go, or all that it knows, between a claim and that */
		if (op->several && !watch && outcomes[i].vote == REDLOCK_VOTE_QUARANTINE)
			continue; /* it would have to forget between a grant and the extend of the few who hold several */
		if (!watch && (outcomes[i].type == RL_REPLY_ERROR || outcomes[i].vote == REDLOCK_VOTE_UNCOUNTED))
			continue; /* a server's mood, and not the operation's result; too few nodes whose numbers are
			             known */
		if ((RL_FORMS_GUARD >> form & 1) != 0 && outcomes[i].vote == REDLOCK_VOTE_SLOTS)
			continue; /* the few who disagree on the number of slots would have to meet in a guarded set */
		never += times == 0;
		if (show == ASKED_ALL || (show == ASKED_MISSING && times == 0))
			printf("  %-15s %10" PRIu64 "  operation %u, outcome %u%s\n",
			       watch ? "WATCH" : op->words[form]->fixed.bytes, times, operation, i,
			       times == 0 ? " never happened" : "");
	}
	return never;
}

/* Those in which it is told apart: a LEAVE or HAND that does not look at the queue has the bytes of a
 * RELEASE. */
static uint32_t own_forms(unsigned operation)
{
	return operation == RL_OP_LEAVE || operation == RL_OP_HAND ? RL_FORMS_QUEUE : UINT32_MAX;
}

int asked_print(const struct asked_seen *seen, uint32_t forms, enum asked_show show)
{
	int never = 0;
	for (unsigned i = 0; i < RL_OP_COUNT; i++)
		for (unsigned form = 0; form < RL_FORM_COUNT; form++)
			if ((rl_ops[i].forms & forms & own_forms(i) & RL_FORM_BIT(form)) != 0)
				never += print_row(seen, i, form, show);
	return never;
}
