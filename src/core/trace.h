/* SPDX-License-Identifier: MIT */
/* One line of text per transition. Tests quote these lines; operate.c passes them to the trace hook of a
 * client. */
#ifndef RL_CORE_TRACE_H
#define RL_CORE_TRACE_H

#include <stddef.h>

#include "core/state.h"

#define RL_TRACE_MAX 256

/* Writes the line of a step: `before` is the phase it began in, `lock` the state after it, for example
 *     [   12.345] acquiring: reply #1 node 2 YES -> held YYY.. until 29710.345 | done acquire OK
 * Times are milliseconds. The votes are one letter per node: . none yet, Y yes, N no, T timeout, - missing,
 * ! fatal, Q in quarantine. Whose keys the nodes have: ? not known, _ none, * ours, the same digit or letter
 * for the same key of somebody else. "send NAME #N" is the request, with the mask of its nodes after "to"
 * where these are not all; "owed" the mask of nodes that the release is owed to; "number" a fencing token;
 * "but N to" the slot that is kept; "declines": a lock that was handed over is released; "quits": the place
 * in a queue is given up; "bars": a token that the node does not have may not be handed over there any more,
 * "quietly": and nobody is notified. Always ends with a NUL. */
void rl_trace_line(char *line, size_t size, enum rl_phase before, const struct rl_event *event,
                   const struct rl_lock *lock, const struct rl_effects *effects);

#endif
