/* SPDX-License-Identifier: MIT */
/* Transactions of a modelled server. */
#ifndef SIM_COMMAND_MULTI_H
#define SIM_COMMAND_MULTI_H

#include "call.h"

/* The session is behind MULTI: commands are queued. */
bool multi_is_open(const struct call *c);
void multi_queue(struct call *c, bool writes);

/* A command was refused: EXEC will be. */
void multi_fail(struct call *c);

/* Of what is queued: is there anything, does it write? */
bool multi_has_commands(const struct call *c);
bool multi_writes(const struct call *c);

/* EXEC is refused, for this reason (an error line): all is forgotten. */
void multi_abort(struct call *c, const char *why);

/* A key has changed: whoever watches it must know. */
void multi_touch(struct world *w, struct node *n, unsigned database, struct bytes name);

void multi_free(struct session *s);

void run_multi(struct call *c);
void run_watch(struct call *c);
void run_exec(struct call *c);

#endif
