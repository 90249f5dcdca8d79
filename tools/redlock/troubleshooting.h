/* SPDX-License-Identifier: MIT */
/* `redlock help troubleshooting`: each result, each vote of a node, each exit code and each message with its
 * cause and the next step, from the tables that the messages are made of. redlock-troubleshooting(7) is its
 * output. */
#ifndef REDLOCK_TOOL_TROUBLESHOOTING_H
#define REDLOCK_TOOL_TROUBLESHOOTING_H

#include <stdbool.h>
#include <stdio.h>

#include "message.h"

/* A message as people look it up. `step` is NULL where nothing has to be done, "" where the text says it. */
struct message_row {
	const char *id, *format, *step;
};
const struct message_row *message_row(enum message_id id);

/* Prints the rows that have `word` in their identifier, cause or step, or are of a message that is in `word`,
 * a line as it was printed; NULL: all. False: there is no such row. */
bool troubleshooting_print(FILE *out, const char *word);

#endif
