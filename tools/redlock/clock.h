/* SPDX-License-Identifier: MIT */
/* The clock of the command: CLOCK_BOOTTIME, which goes on during suspend, as servers' clocks do; and the wall
 * clock, which tells when that one stood still. */
#ifndef REDLOCK_TOOL_CLOCK_H
#define REDLOCK_TOOL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t clock_ns(void);

/* By how much the wall clock is ahead of it. */
int64_t clock_ahead_ns(void);

/* A descriptor that becomes readable when the wall clock is set, for clock_set_seen(). -1: there is none.
 */
int clock_set_open(void);
void clock_set_seen(int fd);

struct clock_alarm {
	int fd; /* becomes readable, closed on exec */
	uint64_t when_ns;
};

/* Makes an alarm that is not set. False, with errno: there is none, and `fd` is -1. */
bool clock_alarm_open(struct clock_alarm *alarm);

/* Makes it readable from `when_ns` on; UINT64_MAX: not at all. An earlier time is forgotten. */
void clock_alarm_set(struct clock_alarm *alarm, uint64_t when_ns);

void clock_sleep_ms(unsigned ms);

#endif
