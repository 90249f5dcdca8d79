/* SPDX-License-Identifier: MIT */
#include "os/clock.h"

#include <time.h>

static inline uint64_t nanoseconds(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t rl_clock_read(int64_t *ret_ahead_ns)
{
	struct timespec wall, now;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &now);
	*ret_ahead_ns = (int64_t)(nanoseconds(wall) - nanoseconds(now));
	return nanoseconds(now);
}
