/* SPDX-License-Identifier: MIT */
/* Writes the part of a sentence that names the holder of a lock which could not be acquired: from the
 * findings, refusals and votes of the last call on the handle. No server is asked. */
#ifndef RL_BUSY_H
#define RL_BUSY_H

#include "handle.h"
#include "sentence.h"

void rl_busy_put(struct rl_sentence *s, const redlock_lock *lock);

#endif
