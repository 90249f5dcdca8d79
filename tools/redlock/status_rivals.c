/* SPDX-License-Identifier: MIT */
/* Looks again at a lock that another client than its holder has a key of: is it still there? */
#include "clock.h"
#include "exit_codes.h"
#include "message.h"
#include "signals.h"
#include "status.h"

static void look_again(struct rivals *rivals, struct session *session, redlock_lock *lock)
{
	struct standing standing;
	struct rivals now;
	(void)session_run(session, lock, REDLOCK_OP_QUERY); /* the findings tell what became of it */
	standing_read(&standing, session, lock);
	(void)rivals_note(&now, &standing, clock_ns());
	(void)rivals_compare(rivals, &now);
}

void status_find_rivals(struct status_picture *picture, struct session *session, const char *name)
{
	redlock_lock *lock = NULL;
	if (!rivals_note(&picture->rivals, &picture->standing, clock_ns()) ||
	    session_lock(session, name, NULL, &lock) != EXIT_OK)
		return;
	while (rivals_want_look(&picture->rivals) &&
	       signals_sleep_until(clock_ns() + rival_pause_ns(session->node_timeout_ms)))
		look_again(&picture->rivals, session, lock);
	redlock_lock_free(lock);
}

/* Without a holder a key that stays may be the leftover of a client that was killed: a person can tell. */
uint64_t status_rivals_on(const struct status_picture *picture)
{
	return picture->rivals.is_held ? rivals_on(&picture->rivals) : picture->rivals.stood;
}

void status_rivals_print(const struct status_picture *picture)
{
	uint64_t on = status_rivals_on(picture);
	char nodes[128], who[HOLDER_TEXT_MAX];
	unsigned first = 0;
	if (on == 0)
		return;
	while ((on >> first & 1) == 0)
		first++;
	holder_who(&picture->standing.finding[first], who, sizeof who);
	rivals_nodes_text(on, nodes, sizeof nodes);
	if ((on & picture->rivals.renewed) != 0)
		put_line("warning: %s: the key of %s is renewed there: that client uses another list of nodes, and "
		         "holds the lock%s; compare the lists that `redlock config show` prints on each host",
		         nodes, who, picture->rivals.is_held ? " too" : "");
	else
		put_line("warning: %s: the key of %s stays there: it was killed while it acquired, or the other "
		         "nodes have forgotten its lock (`redlock doctor` says when each was started), or it uses "
		         "another list of nodes, and holds the lock%s; compare the lists that `redlock config show` "
		         "prints on each host",
		         nodes, who, picture->rivals.is_held ? " too" : "");
}
