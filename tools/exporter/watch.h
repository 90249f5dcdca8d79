/* SPDX-License-Identifier: MIT */
/*
 * Shares looks among all requests: a thread takes one when a request needs it, a second after the last one at
 * the earliest, and every HISTORY_STEP_S for the history. A request waits for it WATCH_PATIENCE_MS at most,
 * and gets the last look otherwise.
 */
#ifndef REDLOCK_EXPORTER_WATCH_H
#define REDLOCK_EXPORTER_WATCH_H

#include "list.h"
#include "look.h"

enum { WATCH_PATIENCE_MS = 900, HISTORY_STEP_S = 10, HISTORY_COUNT = 360, STALE_S = 60 };

/* One moment of the last hour: the worst of the looks of a step. */
struct moment {
	uint64_t at_s; /* 0: there was no look */
	uint32_t up;   /* bit per node */
	float round_trip_ms[REDLOCK_MAX_NODES];
	int16_t waiting[LOOK_LOCKS_MOST]; /* -1: unknown */
	uint64_t held;                    /* bit per lock */
	float locks, waiters;             /* of the list; -1: unknown */
};

struct watch;

/* Starts the thread, and takes the first look before it returns. `list` may be NULL. Returns NULL for want of
 * memory or of a thread. */
struct watch *watch_start(struct looker *looker, struct list *list);
void watch_stop(struct watch *watch);

/* Copies the last look, after a fresh one if that comes in time. */
void watch_look(struct watch *watch, struct look *ret);

/* The list that it was started with. */
struct list *watch_list(const struct watch *watch);

/* Copies the history, the oldest first. */
void watch_history(struct watch *watch, struct moment ret[HISTORY_COUNT]);

/* Whether looks are taken: for a health check. Does not ask for one. */
bool watch_is_alive(struct watch *watch);

#endif
