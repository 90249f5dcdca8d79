/* SPDX-License-Identifier: MIT */
/* Validity goes on while the machine is suspended, or its clock stands still: which clocks are read, and
 * which wake us. The linker leads these calls of the library here (--wrap). */
#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "loop.h"
#include "os/poller.h"
#include "unit.h"

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static clockid_t read_last = -1;
static int64_t now_ns, wall_ns; /* what the clocks show */
static int64_t late_ns[2 * 5];  /* between the readings that come next */
static unsigned late_count, timer_clocks[2], timers;
static int set_error;
static struct itimerspec armed;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int64_t shown = clock == CLOCK_REALTIME ? wall_ns : now_ns;
	read_last = clock;
	*ret = (struct timespec){shown / 1000000000, shown % 1000000000};
	if (late_count > 0) {
		now_ns += late_ns[--late_count];
		wall_ns += late_ns[late_count];
	}
	return 0;
}

int __wrap_timerfd_create(int clock, int flags)
{
	timer_clocks[timers++ % 2] = (unsigned)clock;
	return __real_timerfd_create(clock, flags);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
	armed = *when;
	if ((flags & TFD_TIMER_CANCEL_ON_SET) == 0 || set_error == 0)
		return __real_timerfd_settime(fd, flags, when, old);
	errno = set_error;
	return -1;
}

static struct rl_loop loop;

static void begin(void)
{
	now_ns = 1000000000;
	wall_ns = 1800000000000000000;
	late_count = 0;
	loop.ahead_ns = 0;
	rl_loop_look(&loop); /* leaps count from now on */
}

/* Both go on by `ms`, and the wall clock is set as well. */
static void expect_leap(int64_t ms, int64_t set_ns, uint64_t want_ns)
{
	loop.leap_ns = 0;
	now_ns += ms * 1000000;
	wall_ns += ms * 1000000 + set_ns;
	rl_loop_look(&loop);
	assert_int_equal(loop.leap_ns, want_ns);
	assert_int_equal(loop.now_ns, now_ns);
}

TEST(time_goes_on_in_suspend)
{
	rl_loop_look(&loop);
	assert_int_equal(read_last, CLOCK_BOOTTIME); /* last: an interruption must not seem to be a leap */
	assert_int_equal(loop.now_ns, 1000000000);
}

TEST(a_clock_that_is_set_forward_is_a_leap)
{
	static const struct {
		int64_t ms, set_ns;
		uint64_t want_ns;
	} cases[] = {
	    {10, 0, 0},
	    {10, 5000000000, 5000000000},       /* once */
	    {10, 0, 0},                         /**/
	    {0, -3600000000000, 0},             /* back: nothing, */
	    {10, 3600000000000, 3600000000000}, /* and forward again */
	    {1, 40000, 0},                      /* too small to be told from noise: */
	    {1, 20000, 60000},                  /* it adds up */
	    {1, 56ll * 365 * 86400 * 1000000000, 56ull * 365 * 86400 * 1000000000},
	};
	for (unsigned i = 0; i < COUNT(cases); i++)
		expect_leap(cases[i].ms, cases[i].set_ns, cases[i].want_ns);
}

/* An interruption between two readings is no leap, however long; nor is the reading after it. */
TEST(an_interruption_is_no_leap)
{
	late_ns[0] = late_ns[1] = 0;
	late_ns[2] = 7000000000;
	for (late_count = 3; late_count > 0;)
		expect_leap(0, 0, 0);
	expect_leap(10, 0, 0);
}

/* Where the kernel does not tell that the clock was set, turns come each second while there is a deadline. */
TEST(timers_go_on_in_suspend)
{
	for (set_error = 0; set_error <= EINVAL; set_error += EINVAL) {
		struct rl_poller poller;
		assert_int_equal(rl_poller_open(&poller), 0);
		assert_true(timer_clocks[0] == CLOCK_BOOTTIME && timer_clocks[1] == CLOCK_REALTIME);
		assert_int_equal(poller.set_fd >= 0, set_error == 0);
		struct rl_ready ready[1];
		assert_int_equal(rl_poller_look(&poller, ready, 1), 0);
		assert_int_equal(rl_poller_arm(&poller, 700000000000000000, 500000000000000000), 0);
		assert_int_equal(armed.it_value.tv_sec, set_error == 0 ? 700000000 : 500000001);
		assert_int_equal(rl_poller_arm(&poller, UINT64_MAX, 500000002000000000), 0);
		assert_int_equal(armed.it_value.tv_sec, set_error == 0 ? 700000000 : 0);
		if (set_error == 0) { /* nobody sets the clock of this machine: another timer in its place */
			const struct itimerspec now = {.it_value.tv_nsec = 1};
			assert_int_equal(timerfd_settime(poller.set_fd, 0, &now, NULL), 0);
			assert_int_equal(rl_poller_wait(&poller, ready, 1, NULL), 0);
			assert_int_equal(poll(&(struct pollfd){.fd = poller.fd, .events = POLLIN}, 1, 0), 0);
		}
		rl_poller_close(&poller);
	}
}

TESTS(.before = begin)
