/* SPDX-License-Identifier: MIT */
/* The two halves of `redlock status`. */
#ifndef REDLOCK_TOOL_STATUS_H
#define REDLOCK_TOOL_STATUS_H

#include "options.h"

/* What every node has under a name. Returns the exit code. */
int status_of_name(const struct settings *settings, const char *name);

/* The nodes themselves. Returns the exit code. */
int status_of_nodes(const struct settings *settings);

#endif
