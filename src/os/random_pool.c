/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "os/random.h"

#define FRESH_NS 1000000u

static int draw(struct rl_random_pool *pool, uint64_t now_ns)
{
	int error = rl_random_bytes(pool->bytes, sizeof pool->bytes);
	pool->left = error < 0 ? 0 : sizeof pool->bytes;
	pool->drawn_ns = now_ns;
	return error;
}

int rl_random_pool_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size)
{
	bool fresh = pool->left >= size && now_ns - pool->drawn_ns < FRESH_NS;
	int error = fresh ? 0 : draw(pool, now_ns);
	if (error < 0)
		return error;
	pool->left -= size;
	memcpy(buffer, pool->bytes + pool->left, size);
	explicit_bzero(pool->bytes + pool->left, size);
	return 0;
}
