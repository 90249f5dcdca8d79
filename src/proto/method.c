/* SPDX-License-Identifier: MIT */
#include "proto/method.h"

#include <string.h>

enum {
	NATIVE = RL_FORMS_NATIVE,
	SCRIPT = RL_FORM_BIT(RL_FORM_SHA) | RL_FORM_BIT(RL_FORM_TEXT),
	ANY = NATIVE | SCRIPT | RL_FORM_BIT(RL_FORM_WATCH),
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

bool rl_method_refuse(struct rl_methods *m, enum rl_form form, const char *error)
{
	for (unsigned i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		bool prefixed = strncmp(error, refusals[i].prefix, strlen(refusals[i].prefix)) == 0;
		if (!prefixed || strstr(error, refusals[i].inside) == NULL ||
		    (refusals[i].forms & RL_FORM_BIT(form)) == 0)
			continue;
		m->refused |= RL_FORM_BIT(form);
		return true;
	}
	return false;
}
