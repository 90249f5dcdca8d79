/* SPDX-License-Identifier: MIT */
/*
 * Configuration: /etc/redlock/redlock.conf, then $XDG_CONFIG_HOME/redlock/redlock.conf (~/.config), then the
 * environment, below what the command line says. The keys of the files are long names of options:
 *
 *     ttl = 1m
 *     cluster = prod                  the default of -C
 *
 *     [cluster prod]
 *     url = redis://10.0.0.1          repeat it, or give a comma list
 *     password-file = /etc/redlock/prod.password
 */
#ifndef REDLOCK_TOOL_CONFIG_H
#define REDLOCK_TOOL_CONFIG_H

#include "options.h"

/* The options that may stand in a file. */
extern const struct option_group *const config_groups[];

/* Adds to the settings what files and environment say. Returns an exit code; unless it is EXIT_OK, file, line
 * and what is wrong there were said on stderr. */
int config_apply(struct settings *settings);

#endif
