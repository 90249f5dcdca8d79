/* SPDX-License-Identifier: MIT */
/* Makes handles of a client, and ends them. */
#ifndef RL_LIFE_H
#define RL_LIFE_H

#include "handle.h"

/* The rules of a handle with these options; `several` names or one. 0, or INVAL: `refusal` of the client says
 * why. */
int rl_life_make_rules(redlock_client *client, const struct redlock_lock_options *options, bool several,
                       struct rl_rules *ret);

/* Notes why no handle was made, for redlock_client_last_error(). Returns `error`. */
int rl_life_refuse(redlock_client *client, int error, const char *why);

/* Takes the handle out of the client, giving back what is half acquired, and what is held if `release`. In a
 * child process nothing is sent. The memory stays. */
void rl_life_detach(redlock_lock *lock, bool release);

#endif
