/* SPDX-License-Identifier: MIT */
/* `redlock help troubleshooting`: each result, each vote of a node and each exit code with its cause and the
 * next step, from the tables that the messages are made of. redlock-troubleshooting(7) is its output. */
#ifndef REDLOCK_TOOL_TROUBLESHOOTING_H
#define REDLOCK_TOOL_TROUBLESHOOTING_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the rows that have `word` in their identifier, cause or step; NULL: all. False: no row has it. */
bool troubleshooting_print(FILE *out, const char *word);

#endif
