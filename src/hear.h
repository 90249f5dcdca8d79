/* SPDX-License-Identifier: MIT */
/* Takes the messages that servers send unasked: whose turn it is, what was handed over, that a kept lock is
 * wanted. turn.c calls it; the core decides by it. */
#ifndef RL_HEAR_H
#define RL_HEAR_H

#include "client.h"

/* A server has said that it is the turn of a place, or that it has handed its key over to it. */
void rl_hear_message(redlock_client *c, const struct rl_heard *heard, unsigned node);

/* These nodes, a bit for each, are not heard any more. */
void rl_hear_no_more(redlock_client *c, uint32_t nodes);

#endif
