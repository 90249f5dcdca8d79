/* SPDX-License-Identifier: MIT */
/* A binary heap of events. */
#include "heap.h"

#include <stdlib.h>

#include "buffer.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void heap_free(struct heap *h)
{
	free(h->events);
	*h = (struct heap){0};
}

void heap_push(struct heap *h, struct sim_event event)
{
	if (h->length == h->capacity) {
		h->capacity = h->capacity ? h->capacity * 2 : 256;
		h->events = buffer_realloc(h->events, h->capacity * sizeof *h->events);
	}
	event.order = h->next_order++;
	size_t i = h->length++;
	while (i > 0 && before(&event, &h->events[(i - 1) / 2])) {
		h->events[i] = h->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->events[i] = event;
}

bool heap_pop(struct heap *h, struct sim_event *ret)
{
	if (h->length == 0)
		return false;
	*ret = h->events[0];
	struct sim_event last = h->events[--h->length];
	size_t i = 0;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= h->length)
			break;
		if (child + 1 < h->length && before(&h->events[child + 1], &h->events[child]))
			child++;
		if (!before(&h->events[child], &last))
			break;
		h->events[i] = h->events[child];
		i = child;
	}
	if (h->length > 0)
		h->events[i] = last;
	return true;
}

uint64_t heap_next_ns(const struct heap *h)
{
	return h->length ? h->events[0].at_ns : UINT64_MAX;
}
