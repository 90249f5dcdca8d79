/* SPDX-License-Identifier: MIT */
/* Looks for a second holder while a run renews its lock. */
#include "rivals.h"

#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../printable.h"

/* A renewal never writes a key anew: a node that said no has lost the key, or never had it. */
static bool is_refused(const struct session *session, const redlock_lock *lock)
{
	for (unsigned i = 0; i < redlock_node_count(session->client); i++) {
		struct redlock_vote vote = {.size = sizeof vote};
		if (redlock_lock_vote(lock, i, &vote) == 0 && vote.code == REDLOCK_VOTE_NO)
			return true;
	}
	return false;
}

/* Several names, and slots, have keys of other holders beside the own one. */
static bool is_of_one_key(const struct settings *settings)
{
	return settings->also.count == 0 && settings->slots == 0;
}

void run_rivals_ask(struct run_rivals *rivals, struct session *session, const redlock_lock *lock,
                    const char *name, uint64_t deadline_ns)
{
	if (rivals->is_done || rivals->asks || deadline_ns == rivals->deadline_ns ||
	    !is_of_one_key(session->settings) || !is_refused(session, lock))
		return;
	rivals->deadline_ns = deadline_ns;
	if (rivals->question == NULL && session_lock(session, name, NULL, &rivals->question) != EXIT_OK) {
		rivals->is_done = true;
		return;
	}
	rivals->asks = redlock_start_query(rivals->question) == 0;
}

static void tell(struct run_rivals *rivals, const struct session *session, const struct standing *standing,
                 const char *name)
{
	char shown[PRINTABLE_MAX], nodes[128], who[HOLDER_TEXT_MAX];
	unsigned first = 0;
	uint64_t on = rivals_on(rivals->seen);
	bool is_certain = (on & rivals->seen->renewed) != 0;
	if (on == 0 || !(is_certain || session->settings->verbose))
		return;
	while ((on >> first & 1) == 0)
		first++;
	rivals->is_done = true;
	printable(name, strlen(name), shown, sizeof shown);
	rivals_nodes_text(on, nodes, sizeof nodes);
	holder_who(&standing->finding[first], who, sizeof who);
	if (is_certain)
		say_now(session->settings, MSG(RIVAL), shown, nodes, who);
	else
		say_now(session->settings, MSG(RIVAL_MAYBE), shown, nodes, who);
}

void run_rivals_take(struct run_rivals *rivals, const struct session *session, const char *name)
{
	struct standing standing;
	struct rivals now;
	rivals->asks = false;
	standing_read(&standing, session, rivals->question);
	bool any = rivals_note(&now, &standing, clock_ns());
	if (rivals->seen != NULL) {
		any = rivals_compare(rivals->seen, &now);
	} else if (any && (rivals->seen = malloc(sizeof now)) != NULL) {
		*rivals->seen = now;
	}
	rivals->is_done = !any || rivals->seen == NULL;
	if (!rivals->is_done)
		tell(rivals, session, &standing, name);
}

void run_rivals_end(struct run_rivals *rivals)
{
	redlock_lock_free(rivals->question);
	rivals->question = NULL;
	free(rivals->seen);
	rivals->seen = NULL;
}
