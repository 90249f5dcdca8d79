/* SPDX-License-Identifier: MIT */
/* Bytes that others have chosen, as text that controls no terminal. */
#ifndef REDLOCK_TOOL_PRINTABLE_H
#define REDLOCK_TOOL_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any bytes as printable text into `buffer`: UTF-8 stays, bytes that are invalid, or of characters that are
 * not seen, become \xNN, a backslash is doubled, and what does not fit is cut with "...". Returns `buffer`.
 */
const char *printable(const void *bytes, size_t length, char *buffer, size_t size);

/* As printable(), for a text that has printable parts in it already: backslashes stay. */
const char *harmless(const char *text, char *buffer, size_t size);

/* The length of the valid UTF-8 character at `text`, and its code point; 0 when it is not one. */
size_t utf8_decode(const unsigned char *text, size_t available, uint32_t *ret_point);

/* Whether a character is one that controls, turns or hides what is around it, or ends a line. */
bool is_unseen(uint32_t point);

/* A buffer of this size has room for what is usually shown. */
enum { PRINTABLE_MAX = 256 };

#endif
