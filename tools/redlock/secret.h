/* SPDX-License-Identifier: MIT */
/* Passwords: read from files, and removed from where other users can see them. */
#ifndef REDLOCK_TOOL_SECRET_H
#define REDLOCK_TOOL_SECRET_H

#include <stdbool.h>

/* Overwrites the password bytes of every URL in the text, in place. The text is part of argv, which every
 * user can read with ps(1). True when there was one. */
bool secret_blank_urls(char *text);

/* Reads a password: the file without its last line end. Returns it (secret_free() it), or NULL after it has
 * said on stderr what is wrong. */
char *secret_read(const char *path);

/* The same without a word: NULL and a sentence in `ret_problem`. */
char *secret_load(const char *path, const char **ret_problem);

/* Asks for a password on the terminal, without showing it. Returns as secret_read(). */
char *secret_ask(void);

/* The password in the environment, as redis-cli finds it: $REDLOCK_AUTH, $REDISCLI_AUTH, $VALKEYCLI_AUTH.
 * Returns a copy, or NULL: there is none. */
char *secret_of_environment(void);

/* Wipes and frees. NULL is allowed. */
void secret_free(char *secret);

#endif
