/* SPDX-License-Identifier: MIT */
/* Options and names that cannot go together. */
#ifndef REDLOCK_TOOL_CONFLICTS_H
#define REDLOCK_TOOL_CONFLICTS_H

#include "options.h"

/* Complains of each pair of options of the command line that exclude each other. Returns whether there is
 * one. `title` is the command. */
bool conflicts_of_options(const struct settings *settings, const char *title);

/* Complains of NAME and the names of --also if one is empty or occurs twice. Returns whether there is one. */
bool conflicts_of_names(const struct settings *settings, const char *name);

#endif
