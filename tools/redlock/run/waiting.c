/* SPDX-License-Identifier: MIT */
/* Who is being waited for. */
#include "waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "notify.h"
#include "reenter.h"

static bool is_own(const struct redlock_finding *finding, const char *name)
{
	const char *own_token = getenv("REDLOCK_TOKEN");
	return own_token != NULL && reenter_is_above(name) && finding->value_kept == strlen(own_token) &&
	       memcmp(finding->value, own_token, finding->value_kept) == 0;
}

/* Puts the holder into words, for systemd too. */
static void name_holder(const struct redlock_finding *holder, bool endless, const char *name, char *words,
                        size_t size)
{
	char who[HOLDER_TEXT_MAX], shown[PRINTABLE_MAX];
	standing_who(holder, who, sizeof who);
	snprintf(words, size, "%s%s", who, endless ? "; its key has no expiry" : "");
	notify_status("", "waiting for '%s', held by %s", printable(name, strlen(name), shown, sizeof shown),
	              words);
}

void waiting_find(struct waiting *waiting, struct session *session, const char *name)
{
	struct redlock_finding holder;
	char words[sizeof waiting->view.found];
	const bool endless = waiting->view.wait.until_ns == REDLOCK_NEVER_NS;
	waiting->known = true;
	if (wait_view_holder(&waiting->view, &holder) && !is_own(&holder, name))
		name_holder(&holder, endless, name, words, sizeof words);
	else if (session_lock(session, name, NULL, &waiting->question) == EXIT_OK &&
	         redlock_start_query(waiting->question) == 0)
		wait_view_hold_back(&waiting->view, true);
}

bool waiting_answered(struct waiting *waiting, const struct session *session, const char *name)
{
	char shown[PRINTABLE_MAX];
	waiting->seen_ns = clock_ns();
	wait_view_hold_back(&waiting->view, false);
	struct standing standing;
	standing_read(&standing, session, waiting->question);
	const struct redlock_finding *best = &standing.finding[standing.best];
	if (standing.most == 0)
		return true; /* free again: there is nobody to name */
	if (is_own(best, name)) {
		say(session->settings,
		    "'%s' is held by the command that this one runs under: it would wait for itself",
		    printable(name, strlen(name), shown, sizeof shown));
		return false;
	}
	name_holder(best, best->pttl_ms == -1, name, waiting->view.found, sizeof waiting->view.found);
	return true;
}

void waiting_date(const struct waiting *waiting, const struct session *session, struct standing *standing)
{
	wait_view_date(&waiting->view, standing);
	if (waiting->seen_ns == 0 || standing->state != STANDING_HELD || standing->seen_ms > 0)
		return;
	struct standing before;
	standing_read(&before, session, waiting->question);
	if (before.most > 0 && holder_same(&before.finding[before.best], &standing->finding[standing->best]))
		standing->seen_ms = (clock_ns() - waiting->seen_ns) / 1000000;
}

void waiting_end(struct waiting *waiting)
{
	redlock_lock_free(waiting->question);
	waiting->question = NULL;
}
