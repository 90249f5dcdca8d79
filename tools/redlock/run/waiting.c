/* SPDX-License-Identifier: MIT */
/* Who is being waited for. */
#include "waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../standing.h"
#include "notify.h"

int waiting_ask(struct waiting *waiting, struct session *session, const char *name)
{
	int code = session_lock(session, name, NULL, &waiting->question);
	if (code == EXIT_OK && redlock_start_query(waiting->question) < 0)
		code = EXIT_INTERNAL;
	return code;
}

static bool is_own(const struct redlock_finding *finding, const char *name)
{
	const char *own_name = getenv("REDLOCK_NAME"), *own_token = getenv("REDLOCK_TOKEN");
	return own_name != NULL && own_token != NULL && strcmp(own_name, name) == 0 &&
	       finding->value_kept == strlen(own_token) &&
	       memcmp(finding->value, own_token, finding->value_kept) == 0;
}

bool waiting_tell(struct waiting *waiting, const struct session *session, const char *name)
{
	char shown[PRINTABLE_MAX];
	printable(name, strlen(name), shown, sizeof shown);
	waiting->seen_ns = clock_ns();
	struct standing standing;
	standing_read(&standing, session, waiting->question);
	const struct redlock_finding *best = &standing.finding[standing.best];
	if (standing.most == 0)
		return true; /* free again: there is nobody to name */
	if (is_own(best, name)) {
		say(session->settings,
		    "'%s' is held by the command that this one runs under: it would wait for itself", shown);
		return false;
	}
	const char *left = best->pttl_ms == -1 ? "; its key has no expiry" : "";
	char holder[HOLDER_TEXT_MAX];
	standing_who(best, holder, sizeof holder);
	notify_status("", "waiting for '%s', held by %s%s", shown, holder, left);
	if (session->settings->verbose || isatty(STDERR_FILENO)) {
		say(session->settings, "waiting for '%s', held by %s%s", shown, holder, left);
		waiting->said = true;
	}
	return true;
}

bool waiting_saw(const struct waiting *waiting, const struct session *session,
                 const struct redlock_finding *holder)
{
	if (waiting->seen_ns == 0)
		return false;
	struct standing standing;
	standing_read(&standing, session, waiting->question);
	return standing.most > 0 && holder_same(&standing.finding[standing.best], holder);
}

void waiting_end(struct waiting *waiting)
{
	redlock_lock_free(waiting->question);
	waiting->question = NULL;
}
