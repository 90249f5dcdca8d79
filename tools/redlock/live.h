/* SPDX-License-Identifier: MIT */
/* One line on a terminal that is written anew again and again, and goes without a trace. */
#ifndef REDLOCK_TOOL_LIVE_H
#define REDLOCK_TOOL_LIVE_H

#include <stdbool.h>

#include "options.h"

/* Whether stderr is a terminal that can move its cursor, and a person may be told (no -q). */
bool live_works(const struct settings *settings);

/* Writes the line over the one that is shown, as far as the terminal is wide. Not from the background, where
 * the terminal is somebody else's, nor when it does not take it at once. */
void live_show(const char *text);

/* Takes the line away; every other message does that first. */
void live_erase(void);

#endif
