/* SPDX-License-Identifier: MIT */
/* The clocks of the command. */
#include "clock.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

/* An interruption between two readings makes it less: the most is right. */
int64_t clock_ahead_ns(void)
{
	int64_t most_ns = INT64_MIN;
	for (int i = 0; i < 3; i++) {
		uint64_t wall_ns = read_ns(CLOCK_REALTIME);
		int64_t ahead_ns = (int64_t)(wall_ns - clock_ns());
		if (ahead_ns > most_ns)
			most_ns = ahead_ns;
	}
	return most_ns;
}

int clock_set_open(void)
{
	const struct itimerspec never = {.it_value.tv_sec = 7258118400}; /* the year 2200 */
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
		return fd;
	close(fd);
	return -1;
}

void clock_set_seen(int fd)
{
	uint64_t unused;
	(void)!read(fd, &unused, sizeof unused); /* ECANCELED; it watches on */
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
