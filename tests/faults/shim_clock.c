/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a redis-server, or redlock: its wall clock is off by as many nanoseconds as the first 8
 * bytes of the file $FAULTS_CLOCK say, at any moment; INT64_MIN: it stands still. The monotonic clocks stay
 * as they are, as when a machine's time is set. (libfaketime cannot be used: it calls malloc inside of
 * clock_gettime, and jemalloc asks for the time.)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define STILL_NS (INT64_C(1700000000) * NS_PER_S)

static const _Atomic int64_t *offset_ns;

__attribute__((constructor)) static void map_offset(void)
{
	const char *path = getenv("FAULTS_CLOCK");
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		offset_ns = page;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	long result = syscall(SYS_clock_gettime, clock, now);
	if (result == 0 && offset_ns != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t offset = atomic_load(offset_ns);
		int64_t ns = offset != INT64_MIN ? now->tv_sec * NS_PER_S + now->tv_nsec + offset : STILL_NS;
		now->tv_sec = ns / NS_PER_S;
		now->tv_nsec = ns % NS_PER_S;
	}
	return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &exact);
	*now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *ret_now)
{
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	if (ret_now != NULL)
		*ret_now = exact.tv_sec;
	return exact.tv_sec;
}

/* A timer that is cancelled when the clock is set: here nobody knows when that is, so it looks all the time.
 * $FAULTS_NO_CANCEL: as on a system that has none. */
int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
	const struct itimerspec often = {.it_value.tv_nsec = NS_PER_S / 100,
	                                 .it_interval.tv_nsec = NS_PER_S / 100};
	if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0 && getenv("FAULTS_NO_CANCEL") != NULL) {
		errno = EINVAL;
		return -1;
	}
	if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0)
		return (int)syscall(SYS_timerfd_settime, fd, 0, &often, old);
	return (int)syscall(SYS_timerfd_settime, fd, flags, when, old);
}
