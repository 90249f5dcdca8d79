/* SPDX-License-Identifier: MIT */
#ifndef REDLOCK_TOOL_FENCE_NUMBER_H
#define REDLOCK_TOOL_FENCE_NUMBER_H

#include <stdint.h>

/* The last fencing number of a name, by the counter of each node (0: unknown): the largest one that a quorum
 * has reached, as nobody was given a higher one. 0: the name has no number. */
uint64_t fence_number_of(const uint64_t *counters, unsigned nodes, unsigned quorum);

#endif
