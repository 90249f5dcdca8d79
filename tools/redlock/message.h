/* SPDX-License-Identifier: MIT */
/* Messages for people, on stderr, each one line that starts with "redlock: ". */
#ifndef REDLOCK_TOOL_MESSAGE_H
#define REDLOCK_TOOL_MESSAGE_H

#include <stddef.h>
#include <stdio.h>

#include "options.h"

/* Always printed: what is wrong with the command line or the machine. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Printed unless -q. */
void say(const struct settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether stderr takes some lines at once. */
bool message_is_taken(void);

/* The same, but dropped when stderr cannot take it at once: a reader that has stopped must not stop this
 * process, which has a lock to renew. */
void say_now(const struct settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Any bytes as printable text into `buffer`: UTF-8 stays, control and invalid bytes become \xNN, and what
 * does not fit is cut with "...". Returns `buffer`. A terminal never sees a byte that a server chose to
 * control it. */
const char *printable(const void *bytes, size_t length, char *buffer, size_t size);

/* The length of the valid UTF-8 character at `text`, 0 when it is not one. */
size_t utf8_length(const unsigned char *text, size_t available);

enum { PRINTABLE_MAX = 256 };

#endif
