/* SPDX-License-Identifier: MIT */
/* Options, names and times that cannot go together. */
#ifndef REDLOCK_TOOL_CONFLICTS_H
#define REDLOCK_TOOL_CONFLICTS_H

#include "options.h"

/* Complains of each pair of options of the command line that exclude each other. Returns whether there is
 * one. `title` is the command. */
bool conflicts_of_options(const struct settings *settings, const char *title);

/* Complains if there are too many names, or if one of --also is empty or repeats another. Returns whether it
 * did. */
bool conflicts_of_names(const struct settings *settings, const char *name);

/* Where the configuration sets this field: a file and its line, or a variable. NULL: nowhere, or on the
 * command line, where it is seen. */
const char *conflicts_place(const struct settings *settings, size_t field);

/* The exit code for times that cannot work together: a mistake of usage if one of them was typed, else one of
 * configuration. */
int conflicts_code_of_times(const struct settings *settings);

#endif
