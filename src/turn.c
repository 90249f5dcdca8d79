/* SPDX-License-Identifier: MIT */
/* One turn of the loop, and the thread that takes it for all. */
#include <errno.h>
#include <stddef.h>

#include "client.h"
#include "os/clock.h"

/* With many handles due at once, answers must be read in between: they would look late, and pile up. */
enum { MAX_READY = 64, MAX_TIMERS = 256 };

/* Bytes that are left for another thread to send: whoever comes that much later sends them at once, since a
 * group that is still growing costs more time than it saves system calls; and so long they wait when nobody
 * comes, because the thread gets no processor. */
#define GROUP_NS (RL_NS_PER_MS / 20)
#define LEFT_NS RL_NS_PER_MS

static void collect(redlock_client *c, struct rl_node *node)
{
	struct rl_answer answer;
	while (rl_node_next(node, &answer, c->now_ns))
		rl_take_answer(c, node, &answer);
}

/* Sending can break a connection, whose unanswered requests are votes, which can make handles send. It ends
 * because a node that is down does not take requests. */
static void send_all(redlock_client *c)
{
	bool again = true;
	while (again) {
		again = false;
		for (unsigned i = 0; i < c->node_count; i++) {
			struct rl_node *node = &c->nodes[i];
			rl_node_flush(node);
			if (node->link != RL_LINK_BROKEN)
				continue;
			collect(c, node);
			again = true;
		}
	}
}

uint64_t rl_next_deadline(const redlock_client *c)
{
	const struct rl_timer *first = rl_schedule_first(&c->schedule);
	uint64_t next = first != NULL ? first->at_ns : UINT64_MAX;
	for (unsigned i = 0; i < c->node_count; i++)
		next = rl_time_min(next, rl_node_deadline(&c->nodes[i]));
	if (atomic_load(&c->left))
		next = rl_time_min(next, rl_time_add(c->left_since_ns, LEFT_NS));
	return c->drainers > 0 ? rl_time_min(next, c->drain_until_ns) : next;
}

static redlock_lock *lock_of(struct rl_timer *timer)
{
	return (redlock_lock *)((char *)timer - offsetof(redlock_lock, timer));
}

/* A handle whose timer fires sets a later one: every tick makes progress. What is left is due in the next
 * turn. */
static void run_timers(redlock_client *c)
{
	struct rl_timer *timer;
	for (unsigned i = 0; i < MAX_TIMERS; i++) {
		timer = rl_schedule_first(&c->schedule);
		if (timer == NULL || timer->at_ns > c->now_ns)
			break;
		rl_operate(c, lock_of(timer), &(struct rl_event){.kind = RL_EV_TICK});
	}
	for (unsigned i = 0; i < c->node_count; i++)
		rl_node_tick(&c->nodes[i], c->now_ns);
}

static void arm(redlock_client *c)
{
	(void)rl_poller_arm(&c->poller, rl_next_deadline(c), c->now_ns); /* fails only for a bad descriptor */
}

void rl_settle(redlock_client *c)
{
	atomic_store(&c->left, false);
	if (c->new_credentials)
		rl_credentials_go_on(c);
	send_all(c);
	arm(c);
}

void rl_settle_together(redlock_client *c)
{
	if (!atomic_exchange(&c->left, true))
		c->left_since_ns = c->now_ns;
	bool late = rl_time_sub(c->now_ns, c->left_since_ns) >= GROUP_NS;
	if (late || atomic_load(&c->coming) == 0)
		rl_settle(c);
	else
		arm(c);
}

/* One turn: receives from the ready nodes and runs timers. */
static void turn(redlock_client *c, const struct rl_ready *ready, int count)
{
	c->now_ns = c->looked_ns = rl_clock_now();
	for (int i = 0; i < count; i++) {
		if (RL_WATCH_NODE(ready[i].id) >= c->node_count)
			continue;
		struct rl_node *node = &c->nodes[RL_WATCH_NODE(ready[i].id)];
		rl_node_ready(node, ready[i].id, ready[i].events, c->now_ns);
		collect(c, node);
	}
	run_timers(c);
	rl_wake_drainers(c);
}

int rl_poll_once(redlock_client *c)
{
	struct rl_ready ready[MAX_READY];
	int count = c->led ? 0 : rl_poller_wait(&c->poller, ready, MAX_READY, false);
	if (count < 0)
		return count;
	turn(c, ready, count);
	rl_settle(c);
	return 0;
}

int rl_lead(redlock_client *c)
{
	struct rl_ready ready[MAX_READY];
	c->led = true;
	rl_leave(c);
	int count = rl_poller_wait(&c->poller, ready, MAX_READY, true);
	pthread_mutex_lock(&c->mutex);
	c->led = false;
	bool signalled = count == -EINTR;
	if (count < 0 && !signalled)
		return count;
	turn(c, ready, signalled ? 0 : count);
	rl_settle_together(c);
	return signalled && c->interruptible ? 1 : 0;
}
