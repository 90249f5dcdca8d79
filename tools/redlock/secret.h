/* SPDX-License-Identifier: MIT */
/* Passwords, removed from where other users can see them. */
#ifndef REDLOCK_TOOL_SECRET_H
#define REDLOCK_TOOL_SECRET_H

#include <stdbool.h>

/* Overwrites the password bytes of every URL in the text, in place. The text is part of argv, which every
 * user can read with ps(1). True when there was one. */
bool secret_blank_urls(char *text);

/* As secret_blank_urls() for a message, in which a URL ends with its word. */
void secret_blank_words(char *line);

/* Overwrites what the environment of this process says of passwords, once it was read: /proc and a core dump
 * show it. `heirs`: variables that the command inherits stay; those are the ones of other programs, and
 * REDLOCK_URLS without its passwords. */
void secret_wipe_environment(bool heirs);

/* Overwrites the part of the stack that is not in use: system libraries leave lines of files there. */
void secret_wipe_stack(void);

/* Wipes and frees. NULL is allowed. */
void secret_free(char *secret);

#endif
