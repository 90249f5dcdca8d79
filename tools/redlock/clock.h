/* SPDX-License-Identifier: MIT */
/* The one clock of the command, for what it measures itself. */
#ifndef REDLOCK_TOOL_CLOCK_H
#define REDLOCK_TOOL_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_ns(void);

void clock_sleep_ms(unsigned ms);

#endif
