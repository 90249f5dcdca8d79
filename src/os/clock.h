/* SPDX-License-Identifier: MIT */
/* The one clock of the library. Everything above it takes time as a parameter or calls this. */
#ifndef RL_OS_CLOCK_H
#define RL_OS_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_BOOTTIME: monotonic, and it goes on during suspend (CLOCK_MONOTONIC stops, while the
 * keys on the servers go on expiring). See clock_gettime(2). */
uint64_t rl_clock_now(void);

#endif
