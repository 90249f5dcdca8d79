/* SPDX-License-Identifier: MIT */
/* Random bytes from the kernel: tokens must be unguessable and differ after fork and in cloned machines. */
#ifndef RL_OS_RANDOM_H
#define RL_OS_RANDOM_H

#include <stddef.h>

/* Fills `buffer`. Returns 0, or -errno; then nothing may be used. See getrandom(2). */
int rl_random_bytes(void *buffer, size_t size);

#endif
