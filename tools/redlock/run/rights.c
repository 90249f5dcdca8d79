/* SPDX-License-Identifier: MIT */
/* Whether the lock could be renewed and released. */
#include "rights.h"

#include "../exit_codes.h"

/* No lock has it: it has blanks. An extend under it finds somebody else's key, or none, and changes nothing.
 */
static const char no_token[] = "no token";

bool rights_init(struct rights *rights, const struct session *session)
{
	const struct settings *settings = session->settings;
	rights->named = settings->user != NULL || session->has_password || session->has_user;
	return rights->named;
}

/* Does not use session_lock(): nobody has this value, so no release of it has to be waited for. The question
 * needs no kind of its own instead of an own value: the server's rules are the same for all kinds. */
int rights_prepare(struct rights *rights, struct session *session, const char *name)
{
	struct redlock_lock_options options;
	if (rights->question != NULL)
		return EXIT_OK;
	session_lock_options(session->settings, &options);
	options.token = no_token;
	options.token_len = sizeof no_token - 1;
	options.fence = 0;
	if (options.compat == REDLOCK_COMPAT_SETNX_SAFE)
		options.compat = REDLOCK_COMPAT_OFF;
	return session_lock_with(session, name, &options, &rights->question);
}

int rights_ask(struct rights *rights, struct session *session, const char *name)
{
	int code = rights_prepare(rights, session, name);
	if (code == EXIT_OK && redlock_start_extend(rights->question, 0) < 0)
		code = EXIT_INTERNAL;
	rights->asking = code == EXIT_OK;
	return code;
}

/* The server's rules: not whether it is busy, or in reach. */
static unsigned refusing_count(const struct rights *rights, const struct session *session)
{
	unsigned count = 0;
	for (unsigned i = 0; i < redlock_node_count(session->client); i++) {
		struct redlock_vote vote = {.size = sizeof vote};
		if (redlock_lock_vote(rights->question, i, &vote) == 0)
			count += vote.code == REDLOCK_VOTE_NOPERM || vote.code == REDLOCK_VOTE_COMMAND;
	}
	return count;
}

void rights_take(struct rights *rights, const struct session *session, int result)
{
	unsigned left = redlock_node_count(session->client) - refusing_count(rights, session);
	rights->asking = false;
	rights->proven = result == REDLOCK_E_GONE;
	rights->refused = !rights->proven && left < redlock_quorum(session->client);
}

/* A node that took the SET and did not say who it is: there are rules for the user that has no name too. */
static bool has_rules(const struct session *session)
{
	struct redlock_node_status status = {.size = sizeof status};
	for (unsigned i = 0; i < redlock_node_count(session->client); i++)
		if (redlock_node_status(session->client, i, &status) == 0 && status.connected && !status.run_id[0])
			return true;
	return false;
}

enum rights_wait rights_wait(struct rights *rights, struct session *session, const char *name)
{
	if (rights->asking)
		return RIGHTS_WAIT;
	if (!(rights->named || has_rules(session)) || rights->proven || rights->refused || rights->again)
		return RIGHTS_GO;
	rights->again = true;
	return rights_ask(rights, session, name) == EXIT_OK ? RIGHTS_WAIT : RIGHTS_FAIL;
}

void rights_end(struct rights *rights)
{
	redlock_lock_free(rights->question);
	rights->question = NULL;
}
