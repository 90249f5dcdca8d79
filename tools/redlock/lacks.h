/* SPDX-License-Identifier: MIT */
/* Names the rights that the user lacks, where a refusal names none: a server says only that a script may not
 * run some command. */
#ifndef REDLOCK_TOOL_LACKS_H
#define REDLOCK_TOOL_LACKS_H

#include "report.h"

/* Tries the rights on the nodes that refused a script, and writes to `report->lacks`. */
void lacks_look(struct report *report, struct session *session);

#endif
