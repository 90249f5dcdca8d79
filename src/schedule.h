/* SPDX-License-Identifier: MIT */
/* Which handle's deadline comes first: a binary heap. */
#ifndef RL_SCHEDULE_H
#define RL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lives inside of what it times. */
struct rl_timer {
	uint64_t at_ns; /* UINT64_MAX: not in the schedule */
	size_t index;
};

struct rl_schedule {
	struct rl_timer **heap;
	size_t count;
	size_t capacity;
};

/* Makes sure that `timers` timers fit, so that setting one never fails. False: out of memory. */
bool rl_schedule_reserve(struct rl_schedule *schedule, size_t timers);
void rl_schedule_free(struct rl_schedule *schedule);

/* An idle timer, to begin with. */
void rl_schedule_init_timer(struct rl_timer *timer);

/* Sets, moves, or (UINT64_MAX) removes a timer. */
void rl_schedule_set(struct rl_schedule *schedule, struct rl_timer *timer, uint64_t at_ns);

/* The earliest timer, NULL if there is none. */
struct rl_timer *rl_schedule_first(const struct rl_schedule *schedule);

#endif
