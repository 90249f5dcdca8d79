/* SPDX-License-Identifier: MIT */
#include "net/method.h"

#include <string.h>

#define BIT(form) (1u << (form))

enum {
	NATIVE = BIT(RL_FORM_DELEX) | BIT(RL_FORM_DELIFEQ),
	SCRIPT = BIT(RL_FORM_SHA) | BIT(RL_FORM_TEXT),
	ANY = NATIVE | SCRIPT | BIT(RL_FORM_WATCH),
};

/* What servers say of a command that they do not have or do not let this user run. "NOPERM ... access one of
 * the keys" is about the key, and a vote. */
static const struct {
	const char *prefix;
	const char *inside;
	unsigned forms;
} refusals[] = {
    {"ERR unknown command", "", ANY},           {"NOPERM", "to run the '", ANY},
    {"ERR", "not allowed from script", SCRIPT}, {"ERR wrong number of arguments", "", NATIVE},
    {"ERR syntax error", "", NATIVE},
};

void rl_methods_connect(struct rl_methods *m)
{
	memset(m->knows, 0, sizeof m->knows);
}

void rl_methods_forgive(struct rl_methods *m)
{
	memset(m->refused, 0, sizeof m->refused);
}

void rl_methods_meet(struct rl_methods *m, const char *run_id)
{
	if (m->run_id[0] != '\0' && strcmp(m->run_id, run_id) == 0)
		return;
	rl_methods_forgive(m);
	memset(m->has, 0, sizeof m->has);
	strncpy(m->run_id, run_id, sizeof m->run_id - 1);
}

void rl_methods_probed(struct rl_methods *m, const struct rl_reply *reply)
{
	bool whole = reply->value.type == RL_REPLY_ARRAY && reply->count == 2;
	m->has[RL_FORM_DELEX] = whole && reply->items[0].type == RL_REPLY_ARRAY;
	m->has[RL_FORM_DELIFEQ] = whole && reply->items[1].type == RL_REPLY_ARRAY;
}

static bool usable(const struct rl_methods *m, enum rl_form form)
{
	return m->has[form] && !m->refused[form];
}

enum rl_form rl_methods_choose(const struct rl_methods *m, const struct rl_request *r)
{
	enum rl_script script = rl_script_of(r->operation);
	if (script == RL_SCRIPT_COUNT)
		return RL_FORM_SHA; /* a plain command has one form */
	if (r->operation == REDLOCK_OP_RELEASE && usable(m, RL_FORM_DELEX))
		return RL_FORM_DELEX;
	if (r->operation == REDLOCK_OP_RELEASE && usable(m, RL_FORM_DELIFEQ))
		return RL_FORM_DELIFEQ;
	if (m->refused[RL_FORM_TEXT])
		return RL_FORM_WATCH;
	bool by_text = r->by_text || !m->knows[script] || m->refused[RL_FORM_SHA];
	return by_text ? RL_FORM_TEXT : RL_FORM_SHA;
}

bool rl_methods_refuse(struct rl_methods *m, enum rl_form form, const char *error)
{
	for (unsigned i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		bool prefixed = strncmp(error, refusals[i].prefix, strlen(refusals[i].prefix)) == 0;
		if (!prefixed || strstr(error, refusals[i].inside) == NULL || (refusals[i].forms & BIT(form)) == 0)
			continue;
		m->refused[form] = true;
		return true;
	}
	return false;
}
