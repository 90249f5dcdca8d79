/* SPDX-License-Identifier: MIT */
/*
 * Whether the lock could be renewed and released once it is held: a user may have the right to SET, and
 * neither to scripts nor to transactions. Then the command must not begin. So the nodes are asked for an
 * extend of a lock that nobody has, right after the first SET, in the same packet: it costs no round trip.
 * Where that gave no answer, as nodes were not connected yet, it is asked again when the lock is held, and
 * waited for.
 *
 * Only where a user is named or a password is given, as rules are made there: a script in a server that has
 * run none for a while takes it 50 us, a tenth of the whole `redlock run NAME -- true` on five servers of one
 * machine. Without both there may be rules for the default user all the same: it is asked when the lock is
 * held and a node refused INFO.
 */
#ifndef REDLOCK_TOOL_RUN_RIGHTS_H
#define REDLOCK_TOOL_RUN_RIGHTS_H

#include "../session.h"

struct rights {
	redlock_lock *question; /* NULL: not asked yet */
	bool named;             /* there is a user who may have rules */
	bool asking;
	bool proven;  /* a quorum does it */
	bool refused; /* too few nodes are left that might */
	bool again;   /* it was asked a second time: whatever came of it, nothing more is to be learnt */
};

/* Returns `named`: whether there is anything to be asked. */
bool rights_init(struct rights *rights, const struct session *session);

/* Makes the question, ahead of the lock. Returns an exit code; what is wrong was said. */
int rights_prepare(struct rights *rights, struct session *session, const char *name);

/* Asks; the answer is an event of `question`. Returns an exit code. */
int rights_ask(struct rights *rights, struct session *session, const char *name);

/* Takes the answer. */
void rights_take(struct rights *rights, const struct session *session, int result);

enum rights_wait {
	RIGHTS_GO,   /* there is nothing more to be learnt */
	RIGHTS_WAIT, /* for an answer */
	RIGHTS_FAIL  /* it cannot be asked, and so is not known */
};

/* Called when the lock is held. Asks if nobody has asked yet. */
enum rights_wait rights_wait(struct rights *rights, struct session *session, const char *name);

void rights_end(struct rights *rights);

#endif
