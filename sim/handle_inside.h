/* SPDX-License-Identifier: MIT */
/* Shared by the files that make up the life of a handle: handle.c (decisions), handle_due.c (what must happen
 * in time), handle_event.c (answers). A handle is named by one number, its subject, in events of the world.
 */
#ifndef SIM_HANDLE_INSIDE_H
#define SIM_HANDLE_INSIDE_H

#include "world.h"

/* How late the end of an operation or a notice may be seen: the event loop's delays, and drift. */
#define SLACK_NS (150 * SIM_MS)

static inline uint32_t subject_of(uint32_t actor, uint32_t slot)
{
	return actor << 8 | slot;
}

static inline struct handle *handle_of(struct world *w, uint32_t subject)
{
	return &w->actors[subject >> 8].handles[subject & 0xff];
}

static inline bool chance(struct world *w, unsigned permille)
{
	return prng_chance(&w->work, permille);
}

static inline uint64_t draw_ms(struct world *w, uint64_t low_ms, uint64_t high_ms)
{
	return prng_between(&w->work, low_ms, high_ms) * SIM_MS;
}

/* The application stops to rely on the lock, before it calls the library. */
static inline void end_claim(struct handle *h)
{
	h->held = false;
	h->over = true;
	h->claim++;
}

/* handle_due.c: the operation that was just started must end in time. */
void handle_expect_answer(struct world *w, uint32_t subject, enum redlock_operation operation);

#endif
