/* SPDX-License-Identifier: MIT */
/*
 * When a connection that ended is made again. Many clients lose one node at one moment: they must not come
 * back together, nor as fast as the machine can.
 *
 * A connection worked if it opened and lasted a second. When one that worked ends, the next is made as soon
 * as an operation needs it (rl_node_submit() looks at `failures`), else at a random time within a second:
 * nobody waits for it. One that opened and ended sooner is excused once: a server that closes on every
 * command would otherwise be asked again with each operation. All others wait for a random time that doubles
 * up to 3 s.
 */
#include "core/quorum.h"
#include "net/node.h"
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
	for (unsigned i = 1; i < failures && most < LAST_NS; i++)
		most *= 2;
	most = rl_time_min(most, LAST_NS);
	return (struct range){most / 2, most};
}

static void count_failure(struct rl_node *n, uint64_t now_ns)
{
	bool opened = n->setup.count == 0 || n->login_by_ns != 0;
	bool steady = opened && now_ns - n->opened_ns >= STEADY_NS;
	bool excused = opened && n->failures == 0 && !n->brief;
	if (steady)
		n->failures = 0;
	else if (!excused)
		n->failures++;
	n->brief = opened && !steady;
}

static uint64_t delay(const struct rl_node *n)
{
	struct range range = range_of(n->failures, n->debts.count > 0);
	uint64_t width = range.most_ns - range.least_ns;
	uint64_t entropy;
	if (rl_random_bytes(&entropy, sizeof entropy) < 0)
		entropy = width / 2;
	return range.least_ns + entropy % width;
}

void rl_backoff_again(struct rl_node *n, uint64_t now_ns)
{
	n->failures++;
	n->retry_at_ns = rl_time_add(now_ns, delay(n));
}

void rl_backoff_begin(struct rl_node *n, uint64_t now_ns)
{
	count_failure(n, now_ns);
	n->retry_at_ns = rl_time_add(now_ns, delay(n));
	if (n->failure == REDLOCK_VOTE_AUTH && n->new_credentials) {
		n->failures = 0; /* it was refused with the old ones */
		n->retry_at_ns = now_ns;
	}
}
