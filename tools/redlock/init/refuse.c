/* SPDX-License-Identifier: MIT */
/* The messages about a node with which init cannot go on. */
#include <stdarg.h>
#include <stdio.h>

#include "../exit_codes.h"
#include "../message.h"
#include "../outcome.h"
#include "init.h"

int init_refuse(const struct init *in, unsigned node, enum message_id id, const char *format, ...)
{
	char text[1024];
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

static struct redlock_vote missing_vote(const struct init *in, unsigned node)
{
	bool used = in->wanted[node] || (int)node == in->joins;
	bool silent = used && in->record[node].state == GUARD_SILENT_;
	return (struct redlock_vote){.code = silent ? in->record[node].missing : REDLOCK_VOTE_PENDING};
}

int init_check_logins(const struct init *in)
{
	const char *hint = NULL;
	for (unsigned i = 0; i < in->nodes; i++) {
		struct redlock_vote vote = missing_vote(in, i);
		struct outcome outcome = outcome_of(REDLOCK_E_NOQUORUM, &vote, 1);
		if (outcome.code != EXIT_AUTH)
			continue;
		(void)init_refuse(in, i, MSG(INIT_LOGIN), redlock_vote_text(vote.code), in->record[i].why);
		hint = hint != NULL ? hint : outcome.hint;
	}
	if (hint != NULL)
		say(in->settings, MSG(HINT), hint);
	return hint != NULL ? EXIT_AUTH : EXIT_OK;
}
