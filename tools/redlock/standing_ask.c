/* SPDX-License-Identifier: MIT */
/* Copies the findings of a handle, which say what each node has under its name; asks the nodes if too few are
 * known. */
#include <string.h>

#include "standing.h"

void standing_read(struct standing *standing, const struct session *session, const redlock_lock *lock)
{
	memset(standing, 0, sizeof *standing);
	standing->nodes = redlock_node_count(session->client);
	standing->quorum = redlock_quorum(session->client);
	for (unsigned i = 0; i < standing->nodes; i++) {
		standing->finding[i].size = sizeof standing->finding[i];
		(void)!redlock_lock_finding(lock, i, &standing->finding[i]); /* after an error it stays unknown */
	}
	standing_conclude(standing);
}

void standing_ask(struct standing *standing, struct session *session, redlock_lock *lock)
{
	standing_read(standing, session, lock);
	if (standing->known >= standing->quorum)
		return;
	(void)session_run(session, lock, REDLOCK_OP_QUERY); /* after an error, findings stay unknown */
	standing_read(standing, session, lock);
}
