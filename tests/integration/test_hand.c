/* SPDX-License-Identifier: MIT */
/* A lock that is handed over while a node has not answered its holder yet. */
#include "client.h"
#include "fixture.h"
#include "proxy.h"

enum { NODES = 3, CLIENTS = 3, FIRST = 0, HOLDER, HEIR, TTL_MS = 100000, LONG_MS = 10000 };

struct stage {
	redlock_client *clients[CLIENTS];
	redlock_lock *locks[CLIENTS];
	struct proxy slow, late; /* before one node of the holder, and before another one of the heir */
};

static bool drive(const struct stage *s)
{
	struct redlock_event event = {.size = sizeof event};
	for (unsigned i = 0; i < CLIENTS; i++) {
		expect_ok(NULL, redlock_process(s->clients[i]));
		while (redlock_next(s->clients[i], &event) == 1)
			expect_ok(event.lock, event.result);
	}
	return true;
}

static bool holds(const struct stage *s, unsigned i)
{
	return redlock_remaining_ms(s->locks[i]) > 0;
}

static redlock_client *open_beside(unsigned node, struct proxy *proxy)
{
	const char *urls[NODES];
	for (unsigned i = 0; i < NODES; i++)
		urls[i] = servers.urls[i];
	proxy_start(proxy, servers.server[node].socket);
	urls[node] = proxy->url;
	return fixture_open(urls, NODES, LONG_MS);
}

static void open_stage(struct stage *s, unsigned slow, unsigned late)
{
	s->clients[FIRST] = fixture_open(servers.urls, NODES, LONG_MS);
	s->clients[HOLDER] = open_beside(slow, &s->slow);
	s->clients[HEIR] = open_beside(late, &s->late);
	for (unsigned i = 0; i < CLIENTS; i++)
		s->locks[i] = fixture_lock(s->clients[i], "job", TTL_MS, REDLOCK_FOREVER);
}

static void close_stage(struct stage *s)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		redlock_lock_free(s->locks[i]);
		redlock_close(s->clients[i]);
	}
	proxy_stop(&s->slow);
	proxy_stop(&s->late);
}

static void line_up(struct stage *s)
{
	expect_ok(s->locks[FIRST], redlock_acquire(s->locks[FIRST]));
	for (unsigned i = HOLDER; i < CLIENTS; i++) {
		expect_ok(s->locks[i], redlock_start_acquire(s->locks[i]));
		assert_soon(drive(s) && s->locks[i]->core.queue.placed);
	}
}

/* The holder, or CLIENTS while nobody holds. */
static unsigned holder(const struct stage *s)
{
	unsigned i = 0;
	while (i < CLIENTS && !holds(s, i))
		i++;
	return i;
}

static void release_in_any_order(struct stage *s, unsigned count)
{
	for (unsigned released = 0; released < count; released++) {
		assert_soon(drive(s) && holder(s) < CLIENTS);
		redlock_lock *lock = s->locks[holder(s)];
		expect_ok(lock, redlock_release(lock));
	}
}

/* One message does not reach the heir in time, so it asks the slow node itself. It has had the lock and
 * released it before that node learns that the holder ever had it. */
static void pass_beside_slow_nodes(struct stage *s)
{
	proxy_set(&s->late, &s->late.faults->hold_down, 1);
	expect_ok(s->locks[HOLDER], redlock_release(s->locks[HOLDER]));
	assert_soon(drive(s) && holds(s, HEIR));
	proxy_set(&s->late, &s->late.faults->hold_down, 0);
	expect_ok(s->locks[HEIR], redlock_release(s->locks[HEIR]));
	assert_int_equal(redlock_drain(s->clients[HEIR], WAIT_SOON_MS), 0);
	proxy_set(&s->slow, &s->slow.faults->hold_up, 0);
	expect_settled(s->clients[HOLDER], NODES, "job");
}

/* Returns whether the holder has handed over. A claim that meets the release at one node waits for the slow
 * one, and gives way to the heir. */
static bool release_in_turn(struct stage *s)
{
	const uint64_t *handed_over = &s->clients[HOLDER]->stats.handed_over, before = *handed_over;
	proxy_set(&s->slow, &s->slow.faults->hold_up, 1);
	expect_ok(s->locks[FIRST], redlock_release(s->locks[FIRST]));
	assert_soon(drive(s) && holder(s) < CLIENTS);
	if (holds(s, HOLDER)) {
		pass_beside_slow_nodes(s);
		return *handed_over > before;
	}
	proxy_set(&s->slow, &s->slow.faults->hold_up, 0);
	release_in_any_order(s, CLIENTS - 1);
	return false;
}

/* A waiter makes its offer once it hears the nodes: so there are rounds until one hands over. A waiter for
 * which a node is slow to connect may stand at another gate for the moment. */
static void hand_over_beside(unsigned slow, unsigned late)
{
	struct stage s;
	unsigned rounds = 0;
	bool done = false;
	open_stage(&s, slow, late);
	while (!done) {
		assert_true(rounds++ < 100);
		line_up(&s);
		unsigned gate = s.locks[HOLDER]->core.queue.gate;
		done = gate == slow || gate == late;
		if (done || s.locks[HEIR]->core.queue.gate != gate)
			release_in_any_order(&s, CLIENTS);
		else
			done = release_in_turn(&s);
	}
	close_stage(&s);
}

TEST(a_node_that_has_not_answered_hands_nothing_over)
{
	for (unsigned slow = 0; slow < NODES; slow++)
		for (unsigned late = 0; late < NODES; late++)
			if (slow != late)
				hand_over_beside(slow, late);
}

SERVER_TESTS(NODES)
