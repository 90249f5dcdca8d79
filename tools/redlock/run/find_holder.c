/* SPDX-License-Identifier: MIT */
/* Finds the holder that a run waits for. */
#include "find_holder.h"

#include <stdio.h>
#include <string.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../printable.h"
#include "above.h"
#include "notify.h"

enum { AGAIN_NS = 1000000000, SPLIT_AGAIN_NS = 100000000 };

/* Puts the holder into words, for systemd too. */
static void name_holder(const struct redlock_finding *holder, bool endless, const char *name, char *words,
                        size_t size)
{
	char who[HOLDER_TEXT_MAX], shown[PRINTABLE_MAX];
	holder_who(holder, who, sizeof who);
	snprintf(words, size, "%s%s", who, endless ? "; its key has no expiry (`redlock break NAME`)" : "");
	notify_status("", "waiting for '%s', held by %s", printable(name, strlen(name), shown, sizeof shown),
	              words);
}

/* Whether a run above claims to hold the name. A run that wants a slot may get another one than the first. */
static bool is_own(const struct settings *settings, const char *name, struct runs_entry *ret)
{
	return above_find(settings, name, ret) && ret->slot == 0 &&
	       (settings->slots == 0 || above_has_slots(settings, name));
}

/* Finds, of several names, the one that a run above claims to hold. NULL: none. */
static const char *find_own(const struct settings *settings, const char *name, struct runs_entry *ret)
{
	if (is_own(settings, name, ret))
		return name;
	for (size_t i = 0; i < settings->also.count; i++)
		if (is_own(settings, settings->also.items[i], ret))
			return settings->also.items[i];
	return NULL;
}

/* By the token of the run above: what is under the name need not show whose it is. */
static bool ask_own(struct waiting *waiting, const struct session *session, const char *first)
{
	struct runs_entry run;
	waiting->own = find_own(session->settings, first, &run);
	if (waiting->own != NULL && above_question(session, &run, waiting->own, &waiting->question) < 0)
		waiting->own = NULL;
	return waiting->own != NULL;
}

void waiting_find(struct waiting *waiting, struct session *session, const char *first, const char *busy)
{
	struct redlock_finding holder;
	char words[sizeof waiting->view.found];
	bool endless = waiting->view.wait.until_ns == REDLOCK_NEVER_NS;
	waiting->due_ns = UINT64_MAX;
	waiting_end(waiting);
	bool is_known = session->settings->quiet && wait_view_holder(&waiting->view, &holder);
	if (!ask_own(waiting, session, first) && is_known)
		name_holder(&holder, endless, busy, words, sizeof words);
	else if ((waiting->own != NULL || session_lock(session, busy, NULL, &waiting->question) == EXIT_OK) &&
	         redlock_start_query(waiting->question) == 0)
		wait_view_hold_back(&waiting->view, true);
}

static void name_nobody(const struct wait_view *view, const char *name)
{
	char shown[PRINTABLE_MAX];
	notify_status("", "waiting for '%s', %s", printable(name, strlen(name), shown, sizeof shown),
	              view->split);
}

static uint64_t split_of(const struct standing *standing)
{
	uint64_t hash = 0;
	for (unsigned i = 0; i < standing->nodes && standing->state == STANDING_SPLIT; i++)
		hash = hash * 31 + holder_identity(&standing->finding[i]);
	return hash;
}

/* Keys that are split for a moment are those of clients that hand a lock over. Two answers that show the same
 * keys are told. */
static void look_for_split(struct waiting *waiting, const struct standing *standing)
{
	struct wait_view *view = &waiting->view;
	uint64_t split = split_of(standing);
	bool stays = split != 0 && split == waiting->split;
	waiting->split = split;
	view->split[0] = '\0';
	if (stays)
		standing_words(standing, view->split, sizeof view->split);
	else if (split != 0)
		wait_view_hold_back(view, true);
	if (split != 0)
		waiting->due_ns = waiting->seen_ns + (stays ? AGAIN_NS : SPLIT_AGAIN_NS);
}

bool waiting_answered(struct waiting *waiting, const struct session *session, const char *busy, int result)
{
	char shown[PRINTABLE_MAX];
	waiting->seen_ns = clock_ns();
	wait_view_hold_back(&waiting->view, false);
	if (waiting->own != NULL && result == 0)
		say(session->settings, MSG(SELF_WAIT),
		    printable(waiting->own, strlen(waiting->own), shown, sizeof shown));
	if (waiting->own != NULL) {
		if (result != REDLOCK_E_GONE)
			waiting->due_ns = waiting->seen_ns + AGAIN_NS; /* it is not known yet */
		return result != 0;
	}
	struct standing standing;
	standing_read(&standing, session, waiting->question);
	const struct redlock_finding *best = &standing.finding[standing.best];
	if (session->settings->slots == 0)
		look_for_split(waiting, &standing);
	if (*waiting->view.split)
		name_nobody(&waiting->view, busy);
	else if (standing.most > 0) /* else it is free again: there is nobody to name */
		name_holder(best, best->pttl_ms == -1, busy, waiting->view.found, sizeof waiting->view.found);
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
