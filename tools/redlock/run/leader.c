/* SPDX-License-Identifier: MIT */
#include "leader.h"

#include <stdio.h>
#include <string.h>

#include "../clock.h"
#include "../exit_codes.h"

#define MS_NS UINT64_C(1000000)

enum { LEAST_MS = 200, DOUBT_MS = 500, EACH_PART = 3 };

static bool names_another(const struct leader *leader, const struct wait_view *view)
{
	struct redlock_finding told;
	if (!wait_view_holder(view, &told))
		return false;
	return told.value_kept != leader->told.value_kept ||
	       memcmp(told.value, leader->told.value, told.value_kept) != 0;
}

uint64_t leader_due_ns(const struct leader *leader, const struct wait_view *view)
{
	if (leader->is_asked)
		return UINT64_MAX;
	if (names_another(leader, view))
		return leader->least_ns;
	return leader->due_ns > 0 ? leader->due_ns : view->begin_ns + WAIT_VIEW_AFTER_NS;
}

void leader_ask(struct leader *leader, struct session *session, const char *name,
                const struct wait_view *view)
{
	(void)wait_view_holder(view, &leader->told);
	leader->due_ns = leader->least_ns = clock_ns() + LEAST_MS * MS_NS;
	if (leader->question == NULL && session_lock(session, name, NULL, &leader->question) != EXIT_OK)
		leader->question = NULL;
	leader->is_asked = leader->question != NULL && redlock_start_query(leader->question) == 0;
}

void leader_answered(struct leader *leader, const struct session *session, uint64_t ttl_ms)
{
	struct standing standing;
	char who[HOLDER_TEXT_MAX];
	standing_read(&standing, session, leader->question);
	bool is_known = standing.state == STANDING_HELD;
	if (is_known)
		snprintf(leader->label, sizeof leader->label, "%.*s", (int)sizeof leader->label - 1,
		         holder_who(&standing.finding[standing.best], who, sizeof who));
	else if (leader->is_doubted)
		leader->label[0] = '\0';
	bool is_first_doubt = !is_known && !leader->is_doubted;
	leader->due_ns = clock_ns() + (is_first_doubt ? DOUBT_MS : ttl_ms / EACH_PART) * MS_NS;
	leader->is_doubted = !is_known;
	leader->is_asked = false;
}
