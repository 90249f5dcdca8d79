/* SPDX-License-Identifier: MIT */
/*
 * The process of `redlock elect` that stays: it starts one `redlock run` after the other, each of which waits
 * for the lock and holds one term of leadership; keeps the status file; runs --on-change, and --on-loss where
 * the term could not. It has no connection to a server, and never decides who leads.
 */
#ifndef REDLOCK_TOOL_RUN_ELECTOR_H
#define REDLOCK_TOOL_RUN_ELECTOR_H

#include "../options.h"

/* Returns the exit code, when a signal has ended it or a term ended in a way that time does not mend. */
int elector_run(const struct settings *settings, const char *name, const char *path);

#endif
