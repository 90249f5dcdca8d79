/* SPDX-License-Identifier: MIT */
/* Random bytes that are drawn in advance: no byte is given out twice, kept after use, or used late. */
#include "os/random.h"

#include <errno.h>

#include "unit.h"

#define FRESH_NS 1000000u
enum { POOL = sizeof(((struct rl_random_pool *)NULL)->bytes), TOKEN = 20 };

/* The linker leads the pool's calls here (--wrap): the n-th draw is all n. */
int __wrap_rl_random_bytes(void *buffer, size_t size);

static int draws;
static int draw_error;

int __wrap_rl_random_bytes(void *buffer, size_t size)
{
	draws++;
	memset(buffer, draws, size);
	return draw_error;
}

static void begin(void)
{
	draws = draw_error = 0;
}

static int take(struct rl_random_pool *pool, uint64_t now_ns, size_t size)
{
	unsigned char bytes[POOL];
	int error = rl_random_pool_take(pool, now_ns, bytes, size);
	for (size_t i = 0; error == 0 && i < size; i++)
		assert_int_equal(bytes[i], draws); /* of the last draw */
	return error;
}

static size_t count_zero(const struct rl_random_pool *pool)
{
	size_t count = 0;
	for (size_t i = 0; i < POOL; i++)
		count += pool->bytes[i] == 0;
	return count;
}

TEST(one_draw_serves_many)
{
	struct rl_random_pool pool = {0};
	for (size_t i = 1; i <= POOL / TOKEN; i++) {
		assert_int_equal(take(&pool, 7, TOKEN), 0);
		assert_int_equal(draws, 1);
		assert_int_equal(count_zero(&pool), i * TOKEN); /* what was given out is wiped */
	}
	assert_int_equal(take(&pool, 7, TOKEN), 0);
	assert_int_equal(draws, 2);
}

TEST(too_few_bytes_are_not_stretched)
{
	struct rl_random_pool pool = {0};
	assert_int_equal(take(&pool, 7, POOL - TOKEN + 1), 0);
	assert_int_equal(take(&pool, 7, TOKEN), 0);
	assert_int_equal(draws, 2);
	assert_int_equal(take(&pool, 7, POOL - TOKEN), 0); /* to the last byte */
	assert_int_equal(draws, 2);
}

TEST(old_bytes_are_drawn_again)
{
	struct rl_random_pool pool = {0};
	assert_int_equal(take(&pool, FRESH_NS / 2, TOKEN), 0); /* early in the life of the machine, too */
	assert_int_equal(take(&pool, FRESH_NS / 2 + FRESH_NS - 1, TOKEN), 0);
	assert_int_equal(draws, 1);
	assert_int_equal(take(&pool, FRESH_NS / 2 + FRESH_NS, TOKEN), 0);
	assert_int_equal(draws, 2);
	assert_int_equal(take(&pool, 0, TOKEN), 0); /* a clock that was turned back */
	assert_int_equal(draws, 3);
}

TEST(a_failed_draw_gives_nothing)
{
	struct rl_random_pool pool = {0};
	draw_error = -ENOSYS;
	assert_int_equal(take(&pool, 7, TOKEN), -ENOSYS);
	assert_int_equal(take(&pool, 7, TOKEN), -ENOSYS);
	draw_error = 0;
	assert_int_equal(take(&pool, 7, TOKEN), 0);
	assert_int_equal(draws, 3);
}

TESTS(.before = begin)
