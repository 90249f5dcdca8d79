/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <assert.h>
#include <stdlib.h>

bool rl_schedule_reserve(struct rl_schedule *s, size_t timers)
{
	if (timers <= s->capacity)
		return true;
	size_t capacity = s->capacity > 0 ? s->capacity * 2 : 16;
	while (capacity < timers)
		capacity *= 2;
	struct rl_timer **heap = realloc(s->heap, capacity * sizeof(struct rl_timer *));
	if (heap == NULL)
		return false;
	s->heap = heap;
	s->capacity = capacity;
	return true;
}

void rl_schedule_free(struct rl_schedule *s)
{
	free(s->heap);
	*s = (struct rl_schedule){0};
}

void rl_schedule_init_timer(struct rl_timer *timer)
{
	*timer = (struct rl_timer){.at_ns = UINT64_MAX};
}

static void put(struct rl_schedule *s, size_t index, struct rl_timer *timer)
{
	s->heap[index] = timer;
	timer->index = index;
}

static void sift_up(struct rl_schedule *s, struct rl_timer *timer)
{
	size_t i = timer->index;
	while (i > 0 && s->heap[(i - 1) / 2]->at_ns > timer->at_ns) {
		put(s, i, s->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(s, i, timer);
}

static void sift_down(struct rl_schedule *s, struct rl_timer *timer)
{
	size_t i = timer->index;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child + 1 < s->count && s->heap[child + 1]->at_ns < s->heap[child]->at_ns)
			child++;
		if (child >= s->count || s->heap[child]->at_ns >= timer->at_ns)
			break;
		put(s, i, s->heap[child]);
		i = child;
	}
	put(s, i, timer);
}

static void take_out(struct rl_schedule *s, struct rl_timer *timer)
{
	struct rl_timer *last = s->heap[--s->count];
	timer->at_ns = UINT64_MAX;
	if (last == timer)
		return;
	put(s, timer->index, last);
	sift_up(s, last);
	sift_down(s, last);
}

void rl_schedule_set(struct rl_schedule *s, struct rl_timer *timer, uint64_t at_ns)
{
	if (timer->at_ns == at_ns)
		return;
	if (at_ns == UINT64_MAX) {
		take_out(s, timer);
		return;
	}
	if (timer->at_ns == UINT64_MAX) {
		assert(s->count < s->capacity);
		put(s, s->count++, timer);
	}
	bool sooner = at_ns < timer->at_ns; /* a timer that was idle, too */
	timer->at_ns = at_ns;
	(sooner ? sift_up : sift_down)(s, timer);
}

struct rl_timer *rl_schedule_first(const struct rl_schedule *s)
{
	return s->count > 0 ? s->heap[0] : NULL;
}
