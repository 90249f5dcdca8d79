/* SPDX-License-Identifier: MIT */
#include "proto/method.h"

#include <string.h>

#include "proto/answer.h"

enum {
	NATIVE = RL_FORMS_NATIVE,
	QUEUE = RL_FORMS_QUEUE,
	SCRIPT = (RL_FORMS_SHA | RL_FORMS_TEXT) & ~RL_FORMS_GUARD,
	ANY = NATIVE | SCRIPT | RL_FORM_BIT(RL_FORM_WATCH) | RL_FORM_BIT(RL_FORM_GUARD_SHA),
};

/* The errors of servers about a command that they do not have or do not let this user run. "NOPERM ... access
 * one of the keys" is about the key, and a vote, unless it may be about the queue's. Sources: script.c and
 * acl.c of Redis 7 and 8 and of Valkey, scripting.c of Redis 6; the texts of running servers. */
static const struct {
	const char *prefix;
	const char *inside;
	unsigned forms;
} refusals[] = {
    {"ERR unknown command", "", ANY},           {"NOPERM", "to run the '", ANY},
    {"ERR", "not allowed from script", SCRIPT}, {"ERR wrong number of arguments", "", NATIVE},
    {"ERR syntax error", "", NATIVE},           {"NOPERM", " to access ", QUEUE},
    {"ERR ACL failure in script", "", QUEUE},   {"ERR", "The user executing the script can't", QUEUE},
    {"ERR", " command called from ", QUEUE}, /* "Unknown ...", inside a script */
};

void rl_method_connect(struct rl_methods *m)
{
	m->knows = 0;
}

void rl_method_forgive(struct rl_methods *m)
{
	m->refused = 0;
}

void rl_method_meet(struct rl_methods *m, bool same_server)
{
	if (same_server)
		return;
	rl_method_forgive(m);
	m->has = 0;
}

void rl_method_probed(struct rl_methods *m, const struct rl_reply *reply)
{
	bool whole = reply->value.type == RL_REPLY_ARRAY && reply->count == 2;
	m->has = 0;
	if (whole && reply->items[0].type == RL_REPLY_ARRAY)
		m->has |= RL_FORM_BIT(RL_FORM_DELEX);
	if (whole && reply->items[1].type == RL_REPLY_ARRAY)
		m->has |= RL_FORM_BIT(RL_FORM_DELIFEQ);
}

/* The other forms that the refusal of this form holds for: where EVAL is barred it is barred for any script,
 * and a queue is barred in both forms. */
static uint32_t as_well(enum rl_form form, uint32_t forms)
{
	if (forms == QUEUE)
		return QUEUE;
	return (RL_FORMS_SHA >> form & 1) != 0    ? RL_FORMS_SHA
	       : (RL_FORMS_TEXT >> form & 1) != 0 ? RL_FORMS_TEXT
	                                          : 0;
}

bool rl_method_refuse(struct rl_methods *m, enum rl_form form, const char *error)
{
	for (unsigned i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		bool prefixed = strncmp(error, refusals[i].prefix, strlen(refusals[i].prefix)) == 0;
		if (!prefixed || strstr(error, refusals[i].inside) == NULL ||
		    (refusals[i].forms & RL_FORM_BIT(form)) == 0)
			continue;
		m->refused |= RL_FORM_BIT(form) | as_well(form, refusals[i].forms);
		return true;
	}
	return false;
}

bool rl_method_forget(struct rl_methods *m, const struct rl_op *op, enum rl_form form, const char *error)
{
	if ((RL_FORMS_SHA >> form & 1) == 0 || strncmp(error, "NOSCRIPT", 8) != 0)
		return false;
	m->knows &= ~(UINT64_C(1) << rl_ops_script(op, form));
	return true;
}

/* A key of another type is an error of a command inside: the script has run. */
void rl_method_learn_error(struct rl_methods *m, const struct rl_op *op, enum rl_form form, const char *error)
{
	if (rl_answer_of_error(error) == REDLOCK_VOTE_NO)
		m->knows |= UINT64_C(1) << rl_ops_script(op, form);
}
