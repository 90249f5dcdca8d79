/* SPDX-License-Identifier: MIT */
#include "leap.h"

/* An interruption between the two readings makes the wall clock seem too early: of several readings, the one
 * that is farthest ahead is right. */
enum { READINGS = 4 };

/* Both clocks run at the same rate, whatever disciplines them, so that a difference means that the wall clock
 * was set. A difference below the noise is added to the next one, since the account stays as it is. */
uint64_t rl_leap_settle(struct rl_leap *l, int64_t ahead_ns, uint64_t *ret_now_ns)
{
	for (unsigned i = 0; i < READINGS; i++) {
		int64_t again_ns;
		*ret_now_ns = rl_clock_read(&again_ns);
		if (again_ns > ahead_ns)
			ahead_ns = again_ns;
	}
	int64_t moved_ns = ahead_ns - l->ahead_ns;
	if (moved_ns < -RL_LEAP_NOISE_NS || moved_ns > RL_LEAP_NOISE_NS)
		l->ahead_ns = ahead_ns;
	return moved_ns > RL_LEAP_NOISE_NS ? (uint64_t)moved_ns : 0;
}

void rl_leap_begin(struct rl_leap *l)
{
	uint64_t now_ns;
	l->ahead_ns = 0;
	(void)rl_leap_look(l, &now_ns);
}
