/* SPDX-License-Identifier: MIT */
/* Faults that come at random times (those of an occasion are where the occasion is: world_mishap()). */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cover.h"
#include "drift.h"

struct world;

struct fault {
	enum sim_cover kind;
	uint32_t gap_ms;                          /* mean time between two, at least */
	bool (*inject)(struct world *w, int how); /* false: there was nothing to do it to */
	int how;
};

extern const struct fault faults[];
extern const size_t faults_count;

/* Plans the first fault of every kind that the seed has switched on. */
void faults_begin(struct world *w);

/* They are over, and those of one kind come back, until faults_end(). */
void faults_alone(struct world *w, enum sim_cover kind, unsigned permille, unsigned gap_ms);

/* A connection that fell silent is found dead after this time at the latest. */
#define KEEPALIVE_NS (20 * SIM_SECOND)

/* All faults are over: nodes that hang or refuse go on, links are whole. Nodes that are down come back when
 * their time has come; silent connections are still to be found dead. */
void faults_end(struct world *w);

#endif
