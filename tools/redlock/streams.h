/* SPDX-License-Identifier: MIT */
/* The standard streams: whether they take something, and letting go of them. */
#ifndef REDLOCK_TOOL_STREAMS_H
#define REDLOCK_TOOL_STREAMS_H

#include <stdbool.h>

/* Whether stderr takes some lines at once. */
bool streams_take_errors(void);

/* Writes text to stderr, and waits no longer than that for a reader that has stopped; a signal ends the wait
 * too. False: not all of the text was taken. The text may be lost without a word when the reader has gone. */
bool streams_put_errors(const char *text, unsigned patience_ms);

/* Points descriptors 0 to `last` at /dev/null: another process has them now, and the process at the other end
 * of a pipe must not wait for this one. */
void streams_drop(int last);

/* Closes the descriptors from 3 up whose flags, FD_CLOEXEC or 0, are these. */
void streams_close_by_flag(int flags);

#endif
