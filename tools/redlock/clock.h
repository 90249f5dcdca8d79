/* SPDX-License-Identifier: MIT */
/* The one clock of the command: CLOCK_BOOTTIME, which goes on during suspend, as servers' clocks do. */
#ifndef REDLOCK_TOOL_CLOCK_H
#define REDLOCK_TOOL_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);

/* A descriptor that clock_alarm() makes readable, closed on exec. -1 with errno: none can be had. */
int clock_timer(void);

/* Makes the timer readable from `when_ns` on; UINT64_MAX: not at all. An earlier alarm is forgotten. */
void clock_alarm(int timer, uint64_t when_ns);

void clock_sleep_ms(unsigned ms);

#endif
