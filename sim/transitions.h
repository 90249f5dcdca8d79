/* SPDX-License-Identifier: MIT */
/*
 * The transitions of the core (rl_lock_step: phase, event -> phase): which there are, how often each came up,
 * and which cannot come up. A run with --cover fails if one that is expected was never seen; every run fails
 * if one is seen that is not expected.
 */
#ifndef SIM_TRANSITIONS_H
#define SIM_TRANSITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"

#define SIM_PHASES (RL_RAISING + 1)
#define SIM_EVENTS (RL_EV_LATE + 1)

struct transitions {
	uint64_t seen[SIM_PHASES][SIM_EVENTS][SIM_PHASES];
};

/* Whether the table knows this one as possible. */
bool transition_expected(enum rl_phase before, enum rl_event_kind event, enum rl_phase after);

/* Prints one line for each. */
void transitions_print(const struct transitions *t);

/* Prints those that were expected and not seen; returns how many. */
int transitions_missing(const struct transitions *t);

#endif
