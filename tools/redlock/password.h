/* SPDX-License-Identifier: MIT */
/* Where passwords come from: a file, a terminal, the environment. */
#ifndef REDLOCK_TOOL_PASSWORD_H
#define REDLOCK_TOOL_PASSWORD_H

/* Reads a password: the file without its last line end. Returns it (secret_free() it), or NULL after it has
 * said on stderr what is wrong, and where the file was named: an option, a variable, a line of a file. */
char *password_read(const char *path, const char *where);

/* The same without a word: NULL and a sentence in `ret_problem`. */
char *password_load(const char *path, const char **ret_problem);

/* Asks for a password on the terminal, without showing it. Returns as password_read(). */
char *password_ask(void);

/* The password in the environment, as redis-cli finds it: $REDLOCK_AUTH, $REDISCLI_AUTH, $VALKEYCLI_AUTH.
 * Returns a copy, or NULL: there is none. */
char *password_of_environment(void);

#endif
