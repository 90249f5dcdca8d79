/* SPDX-License-Identifier: MIT */
/* Options and names that cannot go together. */
#ifndef REDLOCK_TOOL_CONFLICTS_H
#define REDLOCK_TOOL_CONFLICTS_H

#include "options.h"

/* Complains of each pair of options of the command line that exclude each other. Returns whether there is
 * one. `title` is the command. */
bool conflicts_of_options(const struct settings *settings, const char *title);

/* Complains if there are too many names, or if one of --also is empty or repeats another. Returns whether it
 * did. */
bool conflicts_of_names(const struct settings *settings, const char *name);

#endif
