/* SPDX-License-Identifier: MIT */
/* Says how the members of a guarded set become the list of nodes that is configured here. */
#ifndef REDLOCK_TOOL_GUARD_MOVE_H
#define REDLOCK_TOOL_GUARD_MOVE_H

#include "guard_record.h"
#include "report.h"

enum { GUARD_MOVE_MAX = 4096 };

/* Writes the members of the set, as its newest record has them, and what to do: to give this host the list of
 * the set, or, where one member differs and the change was not made before, the command line that makes it:
 * "A B C; if C was replaced by D: redlock init --replace C D ...; else give this host these nodes: ...".
 * False: the nodes have no sound record, or the list is that of the set. `urls`: the addresses of the nodes.
 */
bool guard_move_text(const struct guard_record *records, const char *const *urls, unsigned nodes,
                     char *buffer, size_t size);
/* Where it is true: says so, for a command that shows locks of nodes whose clients use another list. */
void guard_move_warn(const struct guard_record *records, const struct report *report,
                     const struct settings *settings);

#endif
