/* SPDX-License-Identifier: MIT */
/* Letting go of the standard streams. */
#ifndef REDLOCK_TOOL_STREAMS_H
#define REDLOCK_TOOL_STREAMS_H

/* Points descriptors 0 to `last` at /dev/null: another process has them now, and whoever is at the other end
 * of a pipe must not wait for this one. */
void streams_drop(int last);

#endif
