/* SPDX-License-Identifier: MIT */
/* The seam: random bytes, a stream for each client process. */
#include <errno.h>

#include "os/random.h"
#include "world.h"

int rl_random_bytes(void *buffer, size_t size)
{
	struct world *w = sim_world;
	if (world_mishap(w, COVER_NO_RANDOM))
		return -ENOSYS;
	unsigned char *at = buffer;
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)prng_next(&w->current->random);
	return 0;
}
