/* SPDX-License-Identifier: MIT */
/* The faults are over and the applications go on: each resource must be acquired by somebody in time. */
#ifndef SIM_HEAL_H
#define SIM_HEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "resource.h"

struct world;

struct heal {
	bool on; /* applications only acquire, and release what they have */
	uint64_t granted_ns[SIM_MAX_RESOURCES];
};

/* Ends the faults and waits until every resource was acquired once more, while all clients want them. */
void heal_run(struct world *w);

/* Somebody has acquired the resource. */
void heal_granted(struct world *w, unsigned resource);

#endif
