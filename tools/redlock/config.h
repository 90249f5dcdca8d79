/* SPDX-License-Identifier: MIT */
/* The configuration, which redlock_config_read() reads: files and environment, below the command line. */
#ifndef REDLOCK_TOOL_CONFIG_H
#define REDLOCK_TOOL_CONFIG_H

#include "options.h"

/* The options that may stand in a file. */
extern const struct option_group *const config_groups[];

/* The options that may stand in a file alone. */
extern const struct option_group config_sets;

/* Adds to the settings what files and environment say: `name` is the lock that the command is about, which
 * chooses among several node sets, or NULL. Returns an exit code; unless it is EXIT_OK, file, line
 * and what is wrong there were said on stderr. */
int config_apply(struct settings *settings, const char *name);

#endif
