/* SPDX-License-Identifier: MIT */
/* The one clock of the command. */
#include "clock.h"

#include <sys/timerfd.h>
#include <time.h>

uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool clock_alarm_open(struct clock_alarm *alarm)
{
	alarm->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	alarm->when_ns = UINT64_MAX;
	return alarm->fd >= 0;
}

void clock_alarm_set(struct clock_alarm *alarm, uint64_t when_ns)
{
	struct itimerspec value = {.it_value = {0, 0}}; /* zero: disarmed */
	if (when_ns == alarm->when_ns)                  /* one that has gone off stays readable */
		return;
	alarm->when_ns = when_ns;
	if (when_ns == 0)
		when_ns = 1;
	if (when_ns != UINT64_MAX) {
		value.it_value.tv_sec = (time_t)(when_ns / 1000000000);
		value.it_value.tv_nsec = (long)(when_ns % 1000000000);
	}
	(void)timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &value, NULL);
}

void clock_sleep_ms(unsigned ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	nanosleep(&pause, NULL); /* a signal may end it early: all callers look again */
}
