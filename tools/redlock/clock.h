/* SPDX-License-Identifier: MIT */
/* The one clock of the command: CLOCK_BOOTTIME, which goes on during suspend, as servers' clocks do. */
#ifndef REDLOCK_TOOL_CLOCK_H
#define REDLOCK_TOOL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t clock_ns(void);

struct clock_alarm {
	int fd; /* becomes readable, closed on exec */
	uint64_t when_ns;
};

/* Not set. False, with errno: none can be had, `fd` is -1. */
bool clock_alarm_open(struct clock_alarm *alarm);

/* Makes it readable from `when_ns` on; UINT64_MAX: not at all. An earlier time is forgotten. */
void clock_alarm_set(struct clock_alarm *alarm, uint64_t when_ns);

void clock_sleep_ms(unsigned ms);

#endif
