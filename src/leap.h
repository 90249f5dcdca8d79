/* SPDX-License-Identifier: MIT */
/*
 * Time that has passed although CLOCK_BOOTTIME does not show it: a virtual machine that was paused, or
 * restored from a snapshot, and a process that was restored (CRIU) go on with the time that they had. The
 * wall clock tells, as soon as it is set right: it leaps ahead. docs/decisions/time.md
 */
#ifndef RL_LEAP_H
#define RL_LEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"

struct rl_leap {
	int64_t ahead_ns; /* of the wall clock, as far as it is accounted for */
};

/* A thousand times what lies between two readings. */
#define RL_LEAP_NOISE_NS 50000

/* From now on. */
void rl_leap_begin(struct rl_leap *leap);

/* The wall clock seems to be elsewhere: whether it is, what time it is, and by how much it has leapt. */
uint64_t rl_leap_settle(struct rl_leap *leap, int64_t ahead_ns, uint64_t *ret_now_ns);

/* Reads the time, and returns by how much the wall clock has leapt ahead since the last look. A clock that
 * was set back is not reported, and counts against nothing: when it is set forward again, that is a leap. */
static inline uint64_t rl_leap_look(struct rl_leap *leap, uint64_t *ret_now_ns)
{
	int64_t ahead_ns;
	*ret_now_ns = rl_clock_read(&ahead_ns);
	int64_t moved_ns = ahead_ns - leap->ahead_ns;
	bool same = -RL_LEAP_NOISE_NS <= moved_ns && moved_ns <= RL_LEAP_NOISE_NS;
	return same ? 0 : rl_leap_settle(leap, ahead_ns, ret_now_ns);
}

#endif
