/* SPDX-License-Identifier: MIT */
/*
 * Messages for people: on stderr, each one line that starts with "redlock: ", "rflock: " or the command's
 * name, and lines of stdout. A server, a file or a command line may choose parts of them. No byte of these
 * controls the terminal, and none begins another line: all that is printed for people passes through here,
 * all JSON through json.h.
 */
#ifndef REDLOCK_TOOL_MESSAGE_H
#define REDLOCK_TOOL_MESSAGE_H

#include "options.h"

/* Always printed: what is wrong with the command line or the machine. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Printed unless -q. */
void say(const struct settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As say(), but dropped when stderr cannot take it at once: a reader that has stopped must not stop this
 * process, which has a lock to renew. */
void say_now(const struct settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name that messages begin with from now on: "redlock" at first. Not copied. */
void messages_are_of(const char *name);

/* From now on all messages are dropped that stderr cannot take at once. */
void messages_never_wait(void);

/* A line of the output, on stdout. */
void put_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
