/* SPDX-License-Identifier: MIT */
/*
 * Messages for people: on stderr, each one line that starts with "redlock: " or the command's name, and lines
 * of stdout. A server, a file or a command line may choose parts of them. No byte of these controls the
 * terminal, and none begins another line: all that is printed for people passes through here, all JSON
 * through json.h.
 */
#ifndef REDLOCK_TOOL_MESSAGE_H
#define REDLOCK_TOOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"

/* Always printed: what is wrong with the command line or the machine. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Printed unless -q. */
void say(const struct settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of the output, on stdout. */
void put_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether stderr takes some lines at once. */
bool message_is_taken(void);

/* The same, but dropped when stderr cannot take it at once: a reader that has stopped must not stop this
 * process, which has a lock to renew. */
void say_now(const struct settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Any bytes as printable text into `buffer`: UTF-8 stays, bytes that are invalid, or of characters that are
 * not seen, become \xNN, a backslash is doubled, and what does not fit is cut with "...". Returns `buffer`.
 */
const char *printable(const void *bytes, size_t length, char *buffer, size_t size);

/* The same for a text that has printable parts in it already: backslashes stay. */
const char *harmless(const char *text, char *buffer, size_t size);

/* The length of the valid UTF-8 character at `text`, and its code point; 0 when it is not one. */
size_t utf8_decode(const unsigned char *text, size_t available, uint32_t *ret_point);

/* Whether a character is one that controls, turns or hides what is around it, or ends a line. */
bool is_unseen(uint32_t point);

enum { PRINTABLE_MAX = 256 };

#endif
