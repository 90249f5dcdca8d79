/* SPDX-License-Identifier: MIT */
/* A client of the library for the programs of ours, which use the public header alone. */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <redlock/redlock.h>

#include "options.h"

/* Opens a client of the nodes of the command line. */
redlock_client *client_open(const struct options *options);

/* As client_open(), with a trace. */
redlock_client *client_open_traced(const struct options *options,
                                   void (*trace)(void *user, const char *line));

/* A handle for lock number `number`; `lock_options` may be NULL. */
redlock_lock *client_lock(redlock_client *client, const struct options *options, unsigned number,
                          const struct redlock_lock_options *lock_options);

/* Exits with the sentence for a negative result. */
void client_check(int result, const char *what);

#endif
