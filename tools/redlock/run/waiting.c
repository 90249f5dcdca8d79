/* SPDX-License-Identifier: MIT */
/* Who is being waited for. */
#include "waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../exit_codes.h"
#include "../holder.h"
#include "../message.h"
#include "notify.h"

int waiting_ask(struct waiting *waiting, struct session *session, const char *name)
{
	int code = session_lock(session, name, NULL, &waiting->question);

	if (code == EXIT_OK && redlock_start_query(waiting->question) < 0)
		code = EXIT_INTERNAL;
	return code;
}

/* What most nodes have. False: none has a key. */
static bool most_frequent(const struct waiting *waiting, unsigned nodes, struct redlock_finding *ret)
{
	struct redlock_finding one, other;
	unsigned most = 0;

	for (unsigned i = 0; i < nodes; i++) {
		unsigned same = 0;

		if (redlock_lock_finding(waiting->question, i, &one) < 0 || !one.known ||
		    holder_kind_of(&one) == HOLDER_NONE)
			continue;
		for (unsigned j = 0; j < nodes; j++)
			same += redlock_lock_finding(waiting->question, j, &other) == 0 && holder_same(&one, &other);
		if (same > most) {
			most = same;
			*ret = one;
		}
	}
	return most > 0;
}

static bool is_own(const struct redlock_finding *finding, const char *name)
{
	const char *own_name = getenv("REDLOCK_NAME"), *own_token = getenv("REDLOCK_TOKEN");

	return own_name && own_token && strcmp(own_name, name) == 0 && finding->value_kept == strlen(own_token) &&
	       memcmp(finding->value, own_token, finding->value_kept) == 0;
}

/* The owner label alone where there is one: the token is of no use to who waits. */
static const char *holder_words(const struct redlock_finding *finding, char *buffer, size_t size)
{
	size_t length;
	const char *owner = holder_owner(finding, &length);

	return owner ? printable(owner, length, buffer, size) : holder_text(finding, buffer, size);
}

bool waiting_tell(struct waiting *waiting, const struct session *session, const char *name)
{
	char shown[PRINTABLE_MAX], holder[HOLDER_TEXT_MAX], left[48] = "";
	struct redlock_finding finding;

	printable(name, strlen(name), shown, sizeof(shown));
	if (!most_frequent(waiting, redlock_node_count(session->client), &finding))
		return true; /* free again: there is nobody to name */
	if (is_own(&finding, name)) {
		say(session->settings,
		    "'%s' is held by the command that this one runs under: it would wait for itself", shown);
		return false;
	}
	if (finding.pttl_ms == -1)
		snprintf(left, sizeof(left), "; its key has no expiry");
	holder_words(&finding, holder, sizeof(holder));
	notify_status("", "waiting for '%s', held by %s%s", shown, holder, left);
	if (session->settings->verbose || isatty(STDERR_FILENO)) {
		say(session->settings, "waiting for '%s', held by %s%s", shown, holder, left);
		waiting->said = true;
	}
	return true;
}

void waiting_end(struct waiting *waiting)
{
	redlock_lock_free(waiting->question);
	waiting->question = NULL;
}
