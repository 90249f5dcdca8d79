/* SPDX-License-Identifier: MIT */
/* Who is being waited for: one question to the nodes, once the wait has become one. */
#ifndef REDLOCK_TOOL_RUN_WAITING_H
#define REDLOCK_TOOL_RUN_WAITING_H

#include "../session.h"

struct waiting {
	redlock_lock *question; /* a handle of its own; NULL: not asked yet */
	uint64_t seen_ns;       /* when the answer came; 0: not yet */
	bool said;              /* a line was printed, so that the end of the wait is told too */
};

/* Asks. The answer is an event of `question`. Returns an exit code. */
int waiting_ask(struct waiting *waiting, struct session *session, const char *name);

/* Says who holds the lock, on stderr if a person is there or -v is given, and to systemd. Returns false when
 * the holder is the command under which this process runs: it would wait for itself. */
bool waiting_tell(struct waiting *waiting, const struct session *session, const char *name);

/* Whether this is what most nodes had when that was asked. */
bool waiting_saw(const struct waiting *waiting, const struct session *session,
                 const struct redlock_finding *holder);

void waiting_end(struct waiting *waiting);

#endif
