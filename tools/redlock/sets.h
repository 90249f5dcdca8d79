/* SPDX-License-Identifier: MIT */
/* The node sets that `quorums` of the configuration names: a command asks the one that has its name. */
#ifndef REDLOCK_TOOL_SETS_H
#define REDLOCK_TOOL_SETS_H

#include <redlock/redlock.h>

#include "options.h"

/* Takes over the nodes of the set that has `name` and the names of --also, unless the command line names
 * nodes or the configuration has no sets. Warns where the chosen section is a set that does not have it.
 * Returns an exit code; unless it is EXIT_OK, what is wrong was said on stderr. */
int sets_choose(struct settings *settings, const redlock_config *config, const char *name);

#endif
