/* SPDX-License-Identifier: MIT */
/*
 * The observable facts about a lock: the one list from which trace lines and events come. A step reports by
 * bits what happened (rl_effects.observed).
 *
 * To add an observation, add a line here and set it in the core where it happens; for redlock_next() to
 * return it, it needs a number in the public header, too.
 */
#ifndef RL_CORE_OBSERVE_H
#define RL_CORE_OBSERVE_H

#include <redlock/redlock.h>

/* X(name, its words in a trace line: NULL if the line is made by other code, as it has values; event: 0 if it
 * is not an event). Events of one handle that wait together are pulled in this order. */
#define RL_OBSERVE_MAP(X)                                                                                    \
	X(DONE, NULL, REDLOCK_EVENT_DONE)                                                                        \
	X(DANGER, "danger", REDLOCK_EVENT_DANGER)                                                                \
	X(LOST, "lost", REDLOCK_EVENT_LOST)

enum {
#define RL_OBSERVE_NUMBER(name, words, event) RL_OBSERVE_NUMBER_##name,
	RL_OBSERVE_MAP(RL_OBSERVE_NUMBER)
#undef RL_OBSERVE_NUMBER
	    RL_OBSERVE_COUNT
};

enum {
#define RL_OBSERVE_BIT(name, words, event) RL_OBSERVE_##name = 1 << RL_OBSERVE_NUMBER_##name,
	RL_OBSERVE_MAP(RL_OBSERVE_BIT)
#undef RL_OBSERVE_BIT
};

#define RL_OBSERVE_EVENTS ((1u << RL_OBSERVE_COUNT) - 1)

/* Facts that are only counted (src/stats.h): bits above those of the observations. */
enum {
	RL_COUNT_ATTEMPT = 1 << RL_OBSERVE_COUNT, /* an attempt to acquire begins */
	RL_COUNT_RENEWED = RL_COUNT_ATTEMPT << 1, /* a renewal was confirmed */
	RL_COUNT_UNRENEWED = RL_COUNT_ATTEMPT << 2,
	RL_COUNT_TAKEN_UP = RL_COUNT_ATTEMPT
	                    << 3,                 /* an extend begins to hold the lock: with the caller's value */
	RL_COUNT_EXPIRED = RL_COUNT_ATTEMPT << 4, /* why the lock is lost: the first of these that is set */
	RL_COUNT_LEAPT = RL_COUNT_ATTEMPT << 5,
	RL_COUNT_GONE = RL_COUNT_ATTEMPT << 6,
	RL_COUNT_LOSSES = RL_COUNT_EXPIRED | RL_COUNT_LEAPT | RL_COUNT_GONE,
};

/* By number. */
extern const char *const rl_observe_words[RL_OBSERVE_COUNT];
extern const enum redlock_event_kind rl_observe_events[RL_OBSERVE_COUNT];

#endif
