/* SPDX-License-Identifier: MIT */
/*
 * Many threads on one client, who leave their bytes to each other to send. The poller's timer is taken away,
 * and all timeouts are far: a request that nobody sends, or a thread that nobody wakes, hangs for ever, and
 * shows as a crowd that makes no progress.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "client.h"
#include "fixture.h"
#include "os/clock.h"

enum { NODES = 3, MOST = 24 };

/* The linker leads the library's calls here (--wrap). */
int __real_rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns);
int __wrap_rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns);

static atomic_bool no_timer;

int __wrap_rl_poller_arm(struct rl_poller *poller, uint64_t deadline_ns, uint64_t now_ns)
{
	if (no_timer)
		deadline_ns = now_ns = UINT64_MAX; /* a timer that was set, or has fired, is taken back */
	return __real_rl_poller_arm(poller, deadline_ns, now_ns);
}

struct crowd {
	redlock_client *client;
	unsigned size;
	atomic_bool stop;
	atomic_uint failures;
	pthread_barrier_t meeting;
};

struct member {
	struct crowd *crowd;
	pthread_t thread;
	redlock_lock *lock;
	uint32_t dice;
	atomic_uint pairs;
	atomic_bool ended;
};

static struct member members[MOST];

static redlock_client *open_warm(unsigned nodes)
{
	redlock_client *client = fixture_open(servers.urls, nodes, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = fixture_lock(client, "warm", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_pair(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0); /* all nodes are connected */
	redlock_lock_free(lock);
	return client;
}

static void pair(struct member *m)
{
	bool ok = redlock_acquire(m->lock) == 0 && redlock_release(m->lock) == 0;
	m->crowd->failures += !ok;
	m->pairs++;
}

static unsigned roll(struct member *m, unsigned sides)
{
	m->dice = m->dice * 1664525u + 1013904223u;
	return (m->dice >> 16) % sides;
}

/* Between two meetings some members do one pair, and some more: members that are ready early do not send the
 * bytes that are left. */
static void *meet(void *argument)
{
	struct member *m = argument;
	unsigned rounds = wait_is_slow() ? 60 : 400;
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned n = 1 + roll(m, 3); n > 0; n--)
			pair(m);
		if (roll(m, 4) == 0)
			sched_yield();
		pthread_barrier_wait(&m->crowd->meeting);
	}
	m->ended = true;
	return NULL;
}

static void *hurry(void *argument)
{
	struct member *m = argument;
	while (!m->crowd->stop)
		pair(m);
	m->ended = true;
	return NULL;
}

static void begin(struct crowd *crowd, unsigned nodes, unsigned size, void *(*work)(void *))
{
	char name[32];
	*crowd = (struct crowd){.client = open_warm(nodes), .size = size};
	pthread_barrier_init(&crowd->meeting, NULL, size);
	no_timer = true;
	for (unsigned i = 0; i < size; i++) {
		snprintf(name, sizeof name, "crowd-%u", i);
		members[i] = (struct member){.crowd = crowd, .dice = i};
		members[i].lock = fixture_lock(crowd->client, name, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	}
	for (unsigned i = 0; i < size; i++)
		assert_int_equal(pthread_create(&members[i].thread, NULL, work, &members[i]), 0);
}

static unsigned pairs_of_all(const struct crowd *crowd)
{
	unsigned pairs = 0;
	for (unsigned i = 0; i < crowd->size; i++)
		pairs += members[i].pairs;
	return pairs;
}

/* A member may take any time, as long as there is progress. */
static void wait_for(const struct crowd *crowd, const struct member *m)
{
	while (!m->ended) {
		unsigned before = pairs_of_all(crowd);
		assert_soon(m->ended || pairs_of_all(crowd) != before);
	}
}

static void end(struct crowd *crowd)
{
	for (unsigned i = 0; i < crowd->size; i++) {
		wait_for(crowd, &members[i]);
		pthread_join(members[i].thread, NULL);
		redlock_lock_free(members[i].lock);
	}
	no_timer = false;
	assert_int_equal(crowd->failures, 0);
	pthread_barrier_destroy(&crowd->meeting);
	/* The next crowd has the same names: a release that a server has not read yet is lost by closing. */
	assert_int_equal(redlock_drain(crowd->client, WAIT_SOON_MS), 0);
	redlock_close(crowd->client);
}

/* With one node there are no late answers, which would make somebody look by chance. */
TEST(no_key_is_left)
{
	static const unsigned sizes[] = {1, 2, 3, 4, 8, MOST};
	for (unsigned i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
		struct crowd crowd;
		begin(&crowd, i % 2 == 0 ? 1 : NODES, sizes[i / 2], meet);
		end(&crowd);
	}
}

static bool all_have(const struct crowd *crowd, unsigned pairs)
{
	for (unsigned i = 0; i < crowd->size; i++)
		if (members[i].pairs < pairs)
			return false;
	return true;
}

/* However fast the others are, each gets its turn: the last has at least a tenth of the first one's. */
TEST(nobody_starves)
{
	struct crowd crowd;
	unsigned least = wait_is_slow() ? 20 : 200, times = wait_is_slow() ? 30 : 10;
	unsigned most = 0;
	begin(&crowd, NODES, MOST, hurry);
	assert_soon(all_have(&crowd, least));
	for (unsigned i = 0; i < MOST; i++)
		most = members[i].pairs > most ? members[i].pairs : most;
	crowd.stop = true;
	assert_in_range(most, least, times * least);
	end(&crowd);
}

/* A thread that is expected need not arrive: it may be stopped for long. The others wait a millisecond for
 * it. */
TEST(somebody_does_not_come)
{
	own_client *client = open_warm(NODES);
	own_lock *lock = fixture_lock(client, "late", WAIT_LONG_TTL_MS, 0);
	uint64_t since_ns = wait_now_ns();
	client->loop.expected++;
	for (int i = 0; i < 20; i++)
		expect_pair(lock);
	client->loop.expected--;
	assert_in_range(wait_elapsed_ms(since_ns), 0,
	                WAIT_SOON_MS); /* not seconds for each, when other timers fire */
}

static bool is_free(unsigned server, const char *name)
{
	struct raw_reply reply;
	return strcmp(server_ask(&servers.server[server], &reply, "EXISTS", name, NULL), "0") == 0;
}

/* The give-backs of a failed acquire leave with the last thread, although another one is expected. */
TEST(the_last_leaves_nothing)
{
	own_client *client = open_warm(NODES);
	own_lock *lock = fixture_lock(client, "half", WAIT_LONG_TTL_MS, 0);
	on_servers(0, NODES - 1, server_must(it, "OK", "SET", "half", "another", NULL));
	client->loop.expected++;
	assert_int_equal(redlock_acquire(lock), REDLOCK_E_BUSY);
	assert_soon(is_free(NODES - 1, "half"));
	client->loop.expected--;
}

static void *wait_alone(void *argument)
{
	struct member *m = argument;
	m->crowd->failures += redlock_acquire(m->lock) != REDLOCK_E_CANCELLED;
	m->ended = true;
	return NULL;
}

static bool leads(const struct member *m)
{
	redlock_client *c = m->crowd->client;
	rl_thread_lock(&c->loop.mutex);
	bool ret = c->loop.led && c->loop.leader == m->lock->waiter;
	rl_thread_unlock(&c->loop.mutex);
	return ret;
}

/* The thread that leads waits for the servers, which are hung. A result that another thread decides for it
 * wakes it. */
TEST(a_leader_is_told)
{
	struct crowd crowd = {.client = open_warm(NODES)};
	struct member *m = &members[0];
	*m = (struct member){.crowd = &crowd};
	m->lock = fixture_lock(crowd.client, "cancelled", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	on_servers(0, NODES, server_pause(it));
	no_timer = true;
	assert_int_equal(pthread_create(&m->thread, NULL, wait_alone, m), 0);
	assert_soon(leads(m));
	assert_int_equal(redlock_cancel(m->lock), 0);
	assert_soon(m->ended);
	pthread_join(m->thread, NULL);
	no_timer = false;
	assert_int_equal(crowd.failures, 0);
	servers_heal(&servers);
	redlock_lock_free(m->lock);
	redlock_close(crowd.client);
}

static void *drain_alone(void *argument)
{
	struct member *m = argument;
	m->crowd->failures += redlock_drain(m->crowd->client, 300) < 0;
	m->ended = true;
	return NULL;
}

static bool drain_leads(const struct crowd *crowd)
{
	redlock_client *c = crowd->client;
	rl_thread_lock(&c->loop.mutex);
	bool ret = c->loop.led && c->loop.leader == NULL;
	rl_thread_unlock(&c->loop.mutex);
	return ret;
}

/* A drain that leads, and gives up, leaves the lead to the one that sleeps. */
TEST(a_drain_passes_the_lead)
{
	struct crowd crowd = {.client = open_warm(NODES)};
	struct member *drainer = &members[0], *m = &members[1];
	*drainer = *m = (struct member){.crowd = &crowd};
	redlock_lock *owed = fixture_lock(crowd.client, "owed", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	m->lock = fixture_lock(crowd.client, "cancelled", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(owed, redlock_acquire(owed));
	on_servers(0, NODES, server_pause(it));
	redlock_lock_free(owed);
	assert_int_equal(pthread_create(&drainer->thread, NULL, drain_alone, drainer), 0);
	assert_soon(drain_leads(&crowd) || drainer->ended);
	assert_int_equal(pthread_create(&m->thread, NULL, wait_alone, m), 0);
	assert_soon(drainer->ended);
	assert_soon(leads(m));
	assert_int_equal(redlock_cancel(m->lock), 0);
	pthread_join(m->thread, NULL);
	pthread_join(drainer->thread, NULL);
	assert_int_equal(crowd.failures, 0);
	servers_heal(&servers);
	redlock_lock_free(m->lock);
	redlock_close(crowd.client);
}

static void *wait_shortly(void *argument)
{
	struct member *m = argument;
	m->crowd->failures += redlock_acquire(m->lock) != REDLOCK_E_NOQUORUM;
	m->ended = true;
	return NULL;
}

static bool sleeps(const struct member *m)
{
	redlock_client *c = m->crowd->client;
	rl_thread_lock(&c->loop.mutex);
	const struct rl_waiter *w = c->loop.waiters;
	while (w != NULL && w != m->lock->waiter)
		w = w->next;
	int64_t unused;
	bool ret = w != NULL && w->asleep && rl_lock_deadline(&m->lock->core) <= rl_clock_read(&unused);
	rl_thread_unlock(&c->loop.mutex);
	return ret;
}

/* A drain finds that somebody's time is over, and tells it before it sleeps itself. */
TEST(a_drain_wakes_others)
{
	struct crowd crowd = {.client = open_warm(NODES)};
	struct member *leader = &members[0], *m = &members[1], *drainer = &members[2];
	redlock_lock *owed = fixture_lock(crowd.client, "owed", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	*leader = *m = *drainer = (struct member){.crowd = &crowd};
	leader->lock = fixture_lock(crowd.client, "leader", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	m->lock = fixture_lock(crowd.client, "shortly", WAIT_LONG_TTL_MS, 50);
	expect_ok(owed, redlock_acquire(owed));
	on_servers(0, NODES, server_pause(it));
	redlock_lock_free(owed);
	no_timer = true;
	assert_int_equal(pthread_create(&leader->thread, NULL, wait_alone, leader), 0);
	assert_soon(leads(leader));
	assert_int_equal(pthread_create(&m->thread, NULL, wait_shortly, m), 0);
	assert_soon(sleeps(m)); /* its time is over, and nobody has looked */
	assert_int_equal(pthread_create(&drainer->thread, NULL, drain_alone, drainer), 0);
	assert_soon(m->ended);
	no_timer = false;
	assert_int_equal(redlock_cancel(leader->lock), 0);
	pthread_join(m->thread, NULL);
	pthread_join(leader->thread, NULL);
	pthread_join(drainer->thread, NULL);
	assert_int_equal(crowd.failures, 0);
	servers_heal(&servers);
	redlock_lock_free(m->lock);
	redlock_lock_free(leader->lock);
	redlock_close(crowd.client);
}

SERVER_TESTS(NODES)
