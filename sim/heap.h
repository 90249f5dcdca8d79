/* SPDX-License-Identifier: MIT */
/* The future: events in order of time, those of one time in the order in which they were planned. */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;

/* An event carries values, never pointers into the world: what it is about may be gone when it fires. */
typedef void (*sim_fire)(struct world *w, uint32_t subject, uint64_t argument);

struct sim_event {
	uint64_t at_ns;
	uint64_t order;
	sim_fire fire;
	uint32_t subject;
	uint64_t argument;
};

struct heap {
	struct sim_event *events;
	size_t length;
	size_t capacity;
	uint64_t next_order;
};

void heap_free(struct heap *h);
void heap_push(struct heap *h, struct sim_event event);
/* Removes the earliest event; false when there is none. */
bool heap_pop(struct heap *h, struct sim_event *ret);
/* When the earliest event fires; UINT64_MAX when there is none. */
uint64_t heap_next_ns(const struct heap *h);

#endif
