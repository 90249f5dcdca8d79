/* SPDX-License-Identifier: MIT */
/* The clocks of the library. Everything above them takes time as a parameter or calls this. */
#ifndef RL_OS_CLOCK_H
#define RL_OS_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_BOOTTIME: monotonic, and it goes on during suspend (CLOCK_MONOTONIC stops, while the
 * keys on the servers go on expiring). See clock_gettime(2). And at least how far CLOCK_REALTIME is ahead
 * of it: what comes between the two readings makes that less, never more. */
uint64_t rl_clock_read(int64_t *ret_ahead_ns);

#endif
