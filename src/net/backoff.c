/* SPDX-License-Identifier: MIT */
#include "net/backoff.h"

#include "core/time.h"
#include "os/random.h"

#define STEADY_NS (1000 * RL_NS_PER_MS)
#define IDLE_NS (1000 * RL_NS_PER_MS)
#define NEEDED_NS (100 * RL_NS_PER_MS)
#define FIRST_NS (100 * RL_NS_PER_MS)
#define LAST_NS (3000 * RL_NS_PER_MS)

/* How long to wait at least and at most; a random time in between is taken. */
struct range {
	uint64_t least_ns;
	uint64_t most_ns;
};

static struct range range_of(unsigned failures, bool needed)
{
	if (failures == 0)
		return (struct range){0, needed ? NEEDED_NS : IDLE_NS};
	uint64_t most = FIRST_NS;
	/*@ loop invariant FIRST_NS <= most < 2 * LAST_NS && 1 <= i <= failures;
	    loop assigns i, most;
	    loop variant failures - i; */
	for (unsigned i = 1; i < failures && most < LAST_NS; i++)
		most *= 2;
	most = rl_time_min(most, LAST_NS);
	return (struct range){most / 2, most};
}

static void count_failure(struct rl_backoff *b, uint64_t opened_ns, uint64_t now_ns)
{
	bool opened = opened_ns != UINT64_MAX;
	bool steady = opened && now_ns - opened_ns >= STEADY_NS;
	bool excused = opened && b->failures == 0 && !b->brief;
	if (steady)
		b->failures = 0;
	else if (!excused)
		b->failures++;
	b->brief = opened && !steady;
}

static uint64_t delay(const struct rl_backoff *b, bool needed)
{
	struct range range = range_of(b->failures, needed);
	uint64_t width = range.most_ns - range.least_ns;
	uint64_t entropy;
	if (rl_random_bytes(&entropy, sizeof entropy) < 0)
		entropy = width / 2;
	return range.least_ns + entropy % width;
}

void rl_backoff_begin(struct rl_backoff *b, uint64_t opened_ns, bool needed, uint64_t now_ns)
{
	count_failure(b, opened_ns, now_ns);
	b->retry_at_ns = rl_time_add(now_ns, delay(b, needed));
}

void rl_backoff_again(struct rl_backoff *b, uint64_t now_ns)
{
	b->failures++;
	b->retry_at_ns = rl_time_add(now_ns, delay(b, true));
}

void rl_backoff_forgive(struct rl_backoff *b, uint64_t now_ns)
{
	b->failures = 0;
	b->retry_at_ns = now_ns;
}
