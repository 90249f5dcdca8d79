/* SPDX-License-Identifier: MIT */
/* Finds out whether another client holds the lock too, by another list of nodes: a run that renews asks the
 * nodes what key they have, as long as one of them has a key of another client. */
#ifndef REDLOCK_TOOL_RUN_RIVALS_H
#define REDLOCK_TOOL_RUN_RIVALS_H

#include "../rival.h"

struct run_rivals {
	redlock_lock *question; /* the handle that asks; NULL: it is not made yet */
	struct rivals *seen;    /* NULL: not yet */
	bool asks;
	bool is_done;         /* told, or there is no rival */
	uint64_t deadline_ns; /* of the renewal that was the occasion to ask */
};

/* After a renewal until `deadline_ns`: asks, if a node said no to it. The answer is an event of `question`.
 */
void run_rivals_ask(struct run_rivals *rivals, struct session *session, const redlock_lock *lock,
                    const char *name, uint64_t deadline_ns);

/* Takes that answer, and tells of a rival: a key that is renewed in any case, one that only stays with -v. */
void run_rivals_take(struct run_rivals *rivals, const struct session *session, const char *name);

void run_rivals_end(struct run_rivals *rivals);

#endif
