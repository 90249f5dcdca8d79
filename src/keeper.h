/* SPDX-License-Identifier: MIT */
/* The background thread. */
#ifndef RL_KEEPER_H
#define RL_KEEPER_H

#include <redlock/redlock.h>

/* Ends it, if it runs, and waits for that. */
void rl_keeper_end(redlock_client *c);

#endif
