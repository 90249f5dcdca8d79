/* SPDX-License-Identifier: MIT */
/* The messages about a node with which init cannot go on. */
#include <stdarg.h>
#include <stdio.h>

#include "../exit_codes.h"
#include "../guard_move.h"
#include "../message.h"
#include "../outcome.h"
#include "init.h"

int init_refuse(const struct init *in, unsigned node, enum message_id id, const char *format, ...)
{
	char text[GUARD_MOVE_MAX + 256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	complain(id, "node %u %s: %s", node + 1, init_address(in, node), text);
	return EXIT_CONFIG;
}

unsigned init_complain_silent(const struct init *in, const bool *of, const char *why)
{
	unsigned count = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		if (of[i] && in->record[i].state == GUARD_SILENT_) {
			(void)init_refuse(in, i, MSG(INIT_SILENT), in->record[i].why, why);
			count++;
		}
	return count;
}

static struct redlock_vote vote_of(const struct init *in, unsigned node)
{
	bool used = in->wanted[node] || (int)node == in->joins;
	bool silent = used && in->record[node].state == GUARD_SILENT_;
	return (struct redlock_vote){.code = silent ? in->record[node].vote : REDLOCK_VOTE_PENDING};
}

int init_check_logins(const struct init *in)
{
	const char *hint = NULL;
	for (unsigned i = 0; i < in->nodes; i++) {
		struct redlock_vote vote = vote_of(in, i);
		struct outcome outcome = outcome_of(REDLOCK_E_NOQUORUM, &vote, 1);
		if (outcome.code != EXIT_AUTH)
			continue;
		bool is_protected = outcome_is_protected(vote.code, in->record[i].why);
		outcome = is_protected ? outcome_protected : outcome;
		(void)init_refuse(in, i, MSG(INIT_LOGIN),
		                  is_protected ? outcome_protected_text : redlock_vote_text(vote.code),
		                  in->record[i].why);
		hint = hint != NULL ? hint : outcome.hint;
	}
	if (hint != NULL)
		say(in->settings, MSG(HINT), hint);
	return hint != NULL ? EXIT_AUTH : EXIT_OK;
}
