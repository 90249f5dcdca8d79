/* SPDX-License-Identifier: MIT */
/* Where passwords come from: a file, or a terminal. */
#ifndef REDLOCK_TOOL_PASSWORD_H
#define REDLOCK_TOOL_PASSWORD_H

#include <stdbool.h>

#include <redlock/redlock.h>

/* Reads a password file into the options, which have an error_text. If the file is a named pipe, a signal
 * ends the wait. False: password_problem() says why. */
bool password_load(const char *path, struct redlock_options *options);

/* "PATH: why": what the last password_load() found. */
const char *password_problem(const struct redlock_options *options);

/* Asks for a password on the terminal, without showing it. Returns it (secret_free() it), or NULL after it
 * has said on stderr what is wrong. */
char *password_ask(void);

#endif
