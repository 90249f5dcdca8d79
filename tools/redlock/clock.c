/* SPDX-License-Identifier: MIT */
/* The one clock of the command. */
#include "clock.h"

#include <time.h>

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void clock_sleep_ms(unsigned ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&pause, NULL); /* a signal may end it early: all callers look again */
}
