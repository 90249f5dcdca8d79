/* SPDX-License-Identifier: MIT */
/* The clock and the random bytes of the process whose calls run. Nothing is drawn in advance: a world in
 * which tokens repeat, or cannot be made, shows it at each of them. Nobody listens to the bell, and nothing
 * forks. */
#include "os.h"
#include "os/bell.h"
#include "os/clock.h"
#include "os/forkmark.h"
#include "os/random.h"

uint64_t rl_clock_read(int64_t *ret_ahead_ns)
{
	*ret_ahead_ns = fake_world->ahead != NULL ? fake_world->ahead() : 0;
	return fake_world->now();
}

int rl_random_bytes(void *buffer, size_t size)
{
	return fake_world->random(buffer, size);
}

int rl_random_pool_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size)
{
	return fake_world->random(buffer, size);
}

int rl_bell_open(void)
{
	return 1003; /* is never asked for bytes */
}

int rl_bell_join(const int *bells, unsigned count)
{
	return count > 0 ? bells[0] : -1;
}

void rl_bell_close(int fd)
{
}

void rl_bell_ring(int fd)
{
}

void rl_bell_silence(int fd)
{
}

int rl_forkmark_set(struct rl_forkmark *mark)
{
	*mark = (struct rl_forkmark){0};
	return 0;
}

bool rl_forkmark_is_child(const struct rl_forkmark *mark)
{
	return false;
}

void rl_forkmark_clear(struct rl_forkmark *mark)
{
}
