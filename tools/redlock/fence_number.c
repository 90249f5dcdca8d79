/* SPDX-License-Identifier: MIT */
#include "fence_number.h"

uint64_t fence_number_of(const uint64_t *counters, unsigned nodes, unsigned quorum)
{
	uint64_t last = 0;
	for (unsigned i = 0; i < nodes; i++) {
		unsigned reached = 0;
		for (unsigned n = 0; n < nodes; n++)
			reached += counters[n] >= counters[i];
		if (reached >= quorum && counters[i] > last)
			last = counters[i];
	}
	return last;
}
