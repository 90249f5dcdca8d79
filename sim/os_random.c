/* SPDX-License-Identifier: MIT */
/* The seam: random bytes, a stream for each client process. Nothing is drawn in advance: a world in which
 * tokens repeat, or cannot be made, shows it at each of them. */
#include <errno.h>

#include "os/random.h"
#include "world.h"

static uint64_t process_stream(const struct actor *a)
{
	return 1000 + (uint64_t)a->index * 100 + a->life;
}

int rl_random_bytes(void *buffer, size_t size)
{
	struct world *w = sim_world;
	if (world_mishap(w, COVER_NO_RANDOM))
		return -ENOSYS;
	unsigned char *at = buffer;
	struct prng always_the_same;
	struct prng *from = &w->current->random;
	if (w->plan.broken == BREAK_TOKEN) {
		prng_seed(&always_the_same, w->plan.seed, process_stream(w->current));
		from = &always_the_same;
	}
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)prng_next(from);
	return 0;
}

int rl_random_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size)
{
	(void)pool;
	(void)now_ns;
	return rl_random_bytes(buffer, size);
}
