/* SPDX-License-Identifier: MIT */
/*
 * Which runs above this process hold a name. The environment tells of them (runs.h); what counts is that the
 * guard of the run is above this process, so that it stops it when the lock ends, and what the nodes say.
 */
#ifndef REDLOCK_TOOL_RUN_ABOVE_H
#define REDLOCK_TOOL_RUN_ABOVE_H

#include "../session.h"
#include "runs.h"

/* The nearest run whose guard is above this process and that says to hold the name in a way that serves a run
 * with these settings; if there is none, the nearest that says so at all. */
bool above_find(const struct settings *settings, const char *name, struct runs_entry *ret);

/* Whether such runs have as many slots of it as these settings ask for. */
bool above_has_slots(const struct settings *settings, const char *name);

/* Whether it would serve one. */
bool above_serves(const struct runs_entry *run, const struct settings *settings);

/* Makes the question whether that run holds the name now: by its token, to REDLOCK_OP_QUERY. 0 or an error.
 */
int above_question(const struct session *session, const struct runs_entry *run, const char *name,
                   redlock_lock **ret);

#endif
