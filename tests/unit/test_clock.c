/* SPDX-License-Identifier: MIT */
/* Validity goes on while the machine is suspended: which clock is read, and which one wakes us. The linker
 * leads these two calls of the library here (--wrap). */
#include <sys/timerfd.h>
#include <time.h>

#include "os/clock.h"
#include "os/poller.h"
#include "unit.h"

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static clockid_t read_last = -1;
static int timer_last = -1;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	read_last = clock;
	return __real_clock_gettime(clock, ret);
}

int __wrap_timerfd_create(int clock, int flags)
{
	timer_last = clock;
	return __real_timerfd_create(clock, flags);
}

TEST(time_goes_on_in_suspend)
{
	uint64_t before = rl_clock_now();
	assert_true(before > 0);
	assert_int_equal(read_last, CLOCK_BOOTTIME);
	assert_true(rl_clock_now() >= before);
}

TEST(timers_go_on_in_suspend)
{
	struct rl_poller poller;
	assert_int_equal(rl_poller_open(&poller), 0);
	assert_int_equal(timer_last, CLOCK_BOOTTIME);
	rl_poller_close(&poller);
}

TESTS()
