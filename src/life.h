/* SPDX-License-Identifier: MIT */
/* The end of a handle in its client. */
#ifndef RL_LIFE_H
#define RL_LIFE_H

#include "handle.h"

/* Takes the handle out of the client, giving back what is half acquired, and what is held if `release`. In a
 * child process nothing is sent. The memory stays. */
void rl_life_detach(redlock_lock *lock, bool release);

#endif
