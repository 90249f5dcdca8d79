/* SPDX-License-Identifier: MIT */
/* Opens and closes a client of one node set: of the whole, or a part for one of several sets. */
#ifndef RL_OPEN_H
#define RL_OPEN_H

#include <stdbool.h>

#include <redlock/redlock.h>

/* Makes a client that has no nodes, for parts. Errors as redlock_open(). */
int rl_client_make(const struct redlock_options *options, redlock_client **ret);

/* Opens one for `urls`. */
int rl_client_open(const struct redlock_options *options, bool is_part, redlock_client **ret);

/* Releases all handles, without waiting. They can only be freed from then on. */
void rl_client_release(redlock_client *client);

void rl_client_close(redlock_client *client);

#endif
