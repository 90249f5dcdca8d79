/* SPDX-License-Identifier: MIT */
/* One turn of the loop, and the thread that takes it for all. */
#include "turn.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "hear.h"
#include "net/loss.h"
#include "net/server_clock.h"
#include "operate.h"

/* With many handles due at once, answers must be read in between: they would look late, and pile up. */
enum { MAX_READY = 64, MAX_TIMERS = 256 };

/* Bytes that another thread is to send. A thread that comes GROUP_NS later sends them at once: a group that
 * still grows costs more time than it saves system calls. When the thread that is expected gets no processor,
 * the bytes wait for DEFER_NS. */
#define GROUP_NS (RL_NS_PER_MS / 20)
#define DEFER_NS RL_NS_PER_MS

/* Whether the round that the answer is for still goes on. A token that may have been given back is not
 * claimed again. */
static bool is_wanted(const redlock_client *c, const struct rl_answer *answer)
{
	const redlock_lock *lock = rl_registry_find(&c->handles, answer->tag);
	if (lock == NULL || lock->core.round.seq != answer->tag.seq || !lock->core.round.open)
		return false;
	return lock->core.phase == RL_ACQUIRING || !rl_ops[answer->operation].claims;
}

/* Asks where a server of a cluster has sent a request on (MOVED, ASK). False: the answer is a vote. */
static bool send_on(redlock_client *c, struct rl_node *node, struct rl_answer *answer)
{
	return rl_cluster_redirect(c->nodes.clusters, node, answer, is_wanted(c, answer), &c->nodes.wire,
	                           c->loop.now_ns);
}

static void collect(redlock_client *c, struct rl_node *node)
{
	struct rl_answer answer;
	while (rl_node_next(node, &answer, c->loop.now_ns)) {
		bool sent_on = node->redirect != NULL && node->redirect->kind != RL_REDIRECT_NONE;
		if (!sent_on || !send_on(c, node, &answer))
			rl_operate_answer(c, node, &answer);
	}
}

/* Requests that wait for the connection of a cluster's server, which does not open, go to another one. */
static __attribute__((noinline)) void pass_over(redlock_client *c)
{
	struct rl_node *node;
	struct rl_answer answer;
	while ((node = rl_cluster_opening(c->nodes.clusters, c->loop.now_ns)) != NULL)
		while (rl_loss_next_unsent(node, &answer))
			if (node->redirect->kind == RL_REDIRECT_NONE || !send_on(c, node, &answer))
				rl_operate_answer(c, node, &answer);
}

/* Sends to the servers of clusters, which are not in the list. False: none of them has ended. */
static bool send_to_servers(redlock_client *c)
{
	bool ended = false;
	for (unsigned i = 0; i < rl_cluster_count(c->nodes.clusters); i++) {
		struct rl_node *node = c->nodes.clusters->servers[i];
		rl_submit_flush(node);
		if (node->link.state != RL_LINK_BROKEN)
			continue;
		collect(c, node);
		ended = true;
	}
	return ended;
}

/* Sending can break a connection, whose unanswered requests are votes, which can make handles send. It ends
 * because a node that is down does not take requests. */
static void send_all(redlock_client *c)
{
	bool again = true;
	while (again) {
		again = c->nodes.clusters != NULL && send_to_servers(c);
		for (unsigned i = 0; i < c->nodes.count; i++) {
			struct rl_node *node = &c->nodes.list[i];
			rl_submit_flush(node);
			if (node->link.state != RL_LINK_BROKEN)
				continue;
			collect(c, node);
			again = true;
		}
	}
}

uint64_t rl_turn_deadline(const redlock_client *c)
{
	const struct rl_timer *first = rl_schedule_first(&c->loop.schedule);
	uint64_t next =
	    rl_time_min(first != NULL ? first->at_ns : UINT64_MAX, rl_nodes_deadline(&c->nodes, c->loop.now_ns));
	if (rl_nodes_are_guarded(&c->nodes))
		next = rl_time_min(next, rl_admit_deadline(&c->guard, &c->nodes));
	if (atomic_load(&c->loop.deferred))
		next = rl_time_min(next, rl_time_add(c->loop.deferred_since_ns, DEFER_NS));
	return c->loop.drainers > 0 ? rl_time_min(next, c->loop.drain_until_ns) : next;
}

static redlock_lock *lock_of(struct rl_timer *timer)
{
	return (redlock_lock *)((char *)timer - offsetof(redlock_lock, timer));
}

/* A handle whose timer fires sets a later one: every tick makes progress. The timers that are left are due in
 * the next turn. */
static void run_timers(redlock_client *c)
{
	struct rl_timer *timer;
	for (unsigned i = 0; i < MAX_TIMERS; i++) {
		timer = rl_schedule_first(&c->loop.schedule);
		if (timer == NULL || timer->at_ns > c->loop.now_ns)
			break;
		rl_operate(c, lock_of(timer), &(struct rl_event){.kind = RL_EV_TICK});
	}
	rl_nodes_tick(&c->nodes, c->loop.now_ns);
	if (c->nodes.clusters != NULL)
		pass_over(c);
}

static void arm(redlock_client *c)
{
	(void)rl_poller_arm(&c->loop.poller, rl_turn_deadline(c),
	                    c->loop.now_ns); /* fails only for a bad descriptor */
}

void rl_turn_arm(redlock_client *c)
{
	const struct rl_timer *first = rl_schedule_first(&c->loop.schedule);
	if (first != NULL && first->at_ns < c->loop.poller.armed_ns)
		arm(c);
}

void rl_turn_settle(redlock_client *c)
{
	atomic_store(&c->loop.deferred, false);
	if (c->nodes.new_credentials)
		rl_nodes_log_in(&c->nodes, c->loop.now_ns);
	send_all(c);
	arm(c);
}

void rl_turn_settle_or_defer(redlock_client *c)
{
	if (!atomic_exchange(&c->loop.deferred, true))
		c->loop.deferred_since_ns = c->loop.now_ns;
	bool late = rl_time_sub(c->loop.now_ns, c->loop.deferred_since_ns) >= GROUP_NS;
	if (late || atomic_load(&c->loop.expected) == 0)
		rl_turn_settle(c);
	else
		arm(c);
}

/* The next server of a node that is a cluster; NULL: there are no more. */
static struct rl_node *next_server(const redlock_client *c, unsigned index, unsigned *at)
{
	while (*at < rl_cluster_count(c->nodes.clusters)) {
		struct rl_node *node = c->nodes.clusters->servers[(*at)++];
		if (node->id == index)
			return node;
	}
	return NULL;
}

static void attend_cluster(redlock_client *c, unsigned index, const struct rl_ready *ready)
{
	if (!rl_cluster_is(c->nodes.clusters, index))
		return;
	rl_cluster_ready(c->nodes.clusters, index, ready->id, ready->events, c->loop.now_ns);
	struct rl_node *node;
	for (unsigned i = 0; (node = next_server(c, index, &i)) != NULL;)
		collect(c, node);
}

/* Reads from a listener, which has news for handles that wait, or from Sentinels or a server of a cluster. */
static void listen(redlock_client *c, const struct rl_ready *ready)
{
	unsigned index = RL_WATCH_NODE(ready->id);
	struct rl_heard heard;
	if (index >= c->nodes.count)
		return;
	struct rl_node *node = &c->nodes.list[index];
	if (ready->id % RL_WATCH_LINKS >= RL_WATCH_CLUSTERS) {
		attend_cluster(c, index, ready);
		return;
	}
	if (ready->id % RL_WATCH_LINKS >= RL_WATCH_SENTINELS) {
		rl_sentinels_ready(node->sentinels, ready->id, ready->events, c->loop.now_ns);
		collect(c, node);
		return;
	}
	for (unsigned i = 0; node != NULL; node = next_server(c, index, &i)) {
		rl_node_listener_ready(node, ready->id, ready->events, c->loop.now_ns);
		while (rl_node_hear(node, &heard, c->loop.now_ns))
			rl_hear_message(c, &heard, index);
	}
}

/* A waiter at a node that sends no more messages has to ask. */
static void note_deafness(redlock_client *c)
{
	uint32_t before = c->nodes.heard;
	c->nodes.heard = rl_nodes_heard(&c->nodes);
	if ((before & ~c->nodes.heard) == 0)
		return;
	rl_hear_no_more(c, before & ~c->nodes.heard);
	rl_operate_check_kept(c);
}

/* Warns programs that trace, and programs that look at the status. */
static void warn_of_clocks(redlock_client *c)
{
	char line[320];
	for (unsigned i = 0; i < c->nodes.count; i++) {
		struct rl_node *n = &c->nodes.list[i];
		if ((c->nodes.set->warned >> i & 1) == 0)
			continue;
		rl_server_clock_warn(n);
		snprintf(line, sizeof line, "node %u: %s", i, n->link.failure_text);
		if (c->trace != NULL)
			c->trace(c->trace_user, line);
	}
	c->nodes.set->warned = 0;
}

/* Takes news of a guarded set: requests that waited for them go on, and nodes may have to be admitted. */
static __attribute__((noinline)) void keep_set(redlock_client *c)
{
	if (c->nodes.set->warned != 0)
		warn_of_clocks(c);
	if (c->nodes.set->changed) {
		rl_nodes_settle(&c->nodes, c->loop.now_ns);
		if (c->nodes.set->noticed)
			rl_operate_notice(c);
		for (unsigned i = 0; i < c->nodes.count; i++)
			collect(c, &c->nodes.list[i]);
	}
	rl_admit_turn(&c->guard, &c->nodes, c->loop.now_ns);
}

/* Stops waiting for records that are overdue, before the requests that need them are out of time. */
static void give_up(redlock_client *c)
{
	if (c->loop.now_ns < rl_set_deadline(c->nodes.set))
		return;
	rl_set_give_up(c->nodes.set, UINT32_MAX);
	keep_set(c);
}

/* One turn: receives from the ready nodes and runs timers. */
static void turn(redlock_client *c, const struct rl_ready *ready, int count)
{
	rl_loop_look(&c->loop);
	c->loop.looked_ns = c->loop.now_ns;
	rl_operate_catch_up(c);
	for (int i = 0; i < count; i++) {
		uint32_t number = ready[i].id % RL_WATCH_LINKS; /* the other links' are above those of all nodes */
		if (number >= c->nodes.count) {
			listen(c, &ready[i]);
			continue;
		}
		struct rl_node *node = &c->nodes.list[number];
		rl_link_ready(&node->link, ready[i].id, ready[i].events, c->loop.now_ns);
		collect(c, node);
	}
	if (rl_nodes_are_guarded(&c->nodes))
		give_up(c);
	run_timers(c);
	if (rl_nodes_are_guarded(&c->nodes))
		keep_set(c);
	if (c->nodes.heard != 0 || c->nodes.listening)
		note_deafness(c);
	if (c->loop.asleep_drainers != NULL)
		rl_loop_wake_drainers(&c->loop);
}

int rl_turn_poll(redlock_client *c)
{
	struct rl_ready ready[MAX_READY];
	int count = c->loop.led ? 0 : rl_poller_look(&c->loop.poller, ready, MAX_READY);
	if (count < 0)
		return count;
	turn(c, ready, count);
	rl_turn_settle(c);
	return 0;
}

int rl_turn_lead(redlock_client *c, const sigset_t *signals)
{
	struct rl_ready ready[MAX_READY];
	c->loop.led = true;
	rl_loop_leave(&c->loop);
	int count = rl_poller_wait(&c->loop.poller, ready, MAX_READY, signals);
	rl_loop_enter(&c->loop);
	c->loop.led = false;
	bool signalled = count == -EINTR;
	if (count < 0 && !signalled)
		return count;
	turn(c, ready, signalled ? 0 : count);
	rl_turn_settle_or_defer(c);
	return signalled && signals != NULL ? 1 : 0;
}

void rl_turn_pass_lead(redlock_client *c)
{
	struct rl_loop *l = &c->loop;
	if (l->led)
		return;
	if (l->waiters != NULL) {
		if (l->waiters->asleep)
			rl_loop_will_wake(l, l->waiters);
	} else if (l->drainers > 0) {
		rl_loop_wake_drainers(l);
	} else if (l->keeper_runs) {
		rl_thread_signal(&l->keeper_wake);
	} else if (atomic_load(&l->deferred)) {
		rl_turn_settle(c); /* nobody sees to it that they are sent in time */
	}
}
