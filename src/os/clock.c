/* SPDX-License-Identifier: MIT */
#include "os/clock.h"

#include <time.h>

uint64_t rl_clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
