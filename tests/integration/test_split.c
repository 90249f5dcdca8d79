/* SPDX-License-Identifier: MIT */
/*
 * Clients that try a free lock at the same moment, each at its own distance from each server: exactly one
 * gets it. A client is a process with a proxy of its own in front of each server, which delays what passes.
 * The winner holds until the others have their answer. `integration_split ROUNDS` plays so many rounds per
 * size.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"
#include "proxy.h"

enum { NODES = 5, CLIENTS = 8 };

static struct proxy proxies[CLIENTS][NODES];
static int rounds;

/* The contenders of a round begin together, and go on when all have their answer. */
struct arena {
	pthread_barrier_t begin, answered, settled;
	int result[CLIENTS];
	unsigned findings[CLIENTS]; /* how many nodes named the same holder */
};

static struct arena *arena;

static unsigned draw(unsigned *state, unsigned below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 16) % below;
}

static unsigned same_findings(const redlock_lock *lock, unsigned nodes)
{
	unsigned most = 0;
	struct redlock_finding a = {.size = sizeof a}, b = a;
	for (unsigned i = 0; i < nodes; i++) {
		unsigned same = 0;
		for (unsigned j = 0; j < nodes; j++)
			same += redlock_lock_finding(lock, i, &a) == 0 && redlock_lock_finding(lock, j, &b) == 0 &&
			        a.known && b.known && a.value_len > 0 && a.value_len == b.value_len &&
			        memcmp(a.value, b.value, a.value_kept) == 0;
		most = same > most ? same : most;
	}
	return most;
}

/* One contender, through its own proxies. Some have been connected for long, others connect now. */
static int contend(unsigned client, unsigned nodes)
{
	const char *urls[NODES];
	redlock_client *c = NULL;
	redlock_lock *lock = NULL;
	for (unsigned i = 0; i < nodes; i++)
		urls[i] = proxies[client][(i + client) % nodes].url;
	for (int r = 0; r < rounds; r++) {
		bool fresh = (unsigned)r % 3 == client % 3;
		if (fresh && c != NULL) {
			redlock_lock_free(lock);
			redlock_drain(c, WAIT_SOON_MS);
			redlock_close(c);
			c = NULL;
		}
		pthread_barrier_wait(&arena->begin);
		if (c == NULL) {
			c = fixture_open(urls, nodes, 1000);
			lock = fixture_lock(c, "split", WAIT_LONG_TTL_MS, 0);
		}
		arena->result[client] = redlock_acquire(lock);
		arena->findings[client] = same_findings(lock, nodes);
		pthread_barrier_wait(&arena->answered);
		if (arena->result[client] == 0 && redlock_release(lock) != 0)
			return 1;
		redlock_drain(c, WAIT_SOON_MS);
		pthread_barrier_wait(&arena->settled);
	}
	redlock_lock_free(lock);
	redlock_close(c);
	return 0;
}

static void set_distances(unsigned clients, unsigned nodes, int round, unsigned *dice)
{
	static const unsigned most_ms[] = {1, 3, 11, 51};
	unsigned most = most_ms[(unsigned)round % 4];
	for (unsigned c = 0; c < clients; c++)
		for (unsigned n = 0; n < nodes; n++) {
			/* a third are near one node each, as in the worst case */
			unsigned ms = round % 3 == 0 ? (c % nodes == n ? 0 : most - 1) : draw(dice, most);
			proxy_set(&proxies[c][n], &proxies[c][n].faults->delay_up_ms, ms);
			proxy_set(&proxies[c][n], &proxies[c][n].faults->delay_down_ms, draw(dice, ms + 1));
		}
}

static void judge(unsigned clients, unsigned nodes, int round)
{
	unsigned winners = 0;
	for (unsigned i = 0; i < clients; i++)
		winners += arena->result[i] == 0;
	if (winners != 1)
		fail_msg("%u clients, %u nodes, round %d: %u winners", clients, nodes, round, winners);
	for (unsigned i = 0; i < clients; i++)
		if (arena->result[i] != 0) {
			assert_int_equal(arena->result[i], REDLOCK_E_BUSY);
			assert_true(arena->findings[i] > nodes / 2);
		}
}

static void play(unsigned clients, unsigned nodes)
{
	pid_t pids[CLIENTS];
	pthread_barrierattr_t shared;
	unsigned dice = clients * 100 + nodes;
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&arena->begin, &shared, clients + 1);
	pthread_barrier_init(&arena->answered, &shared, clients + 1);
	pthread_barrier_init(&arena->settled, &shared, clients + 1);
	for (unsigned i = 0; i < clients; i++) {
		pids[i] = child_fork();
		if (pids[i] == 0)
			_exit(contend(i, nodes));
	}
	for (int r = 0; r < rounds; r++) {
		set_distances(clients, nodes, r, &dice);
		pthread_barrier_wait(&arena->begin);
		pthread_barrier_wait(&arena->answered);
		judge(clients, nodes, r);
		pthread_barrier_wait(&arena->settled);
		assert_int_equal(servers_with_key(&servers, nodes, "split"), 0);
	}
	for (unsigned i = 0; i < clients; i++)
		assert_int_equal(child_join(pids[i]), 0);
}

TEST(exactly_one_wins)
{
	static const unsigned clients[] = {2, 3, 5, CLIENTS};
	for (unsigned i = 0; i < 4; i++) {
		play(clients[i], 3);
		play(clients[i], NODES);
	}
}

static void start(void)
{
	rounds = group.argument != NULL ? atoi(group.argument) : wait_is_slow() ? 6 : 12;
	arena = mmap(NULL, sizeof *arena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned c = 0; c < CLIENTS; c++)
		for (unsigned n = 0; n < NODES; n++)
			proxy_start(&proxies[c][n], servers.server[n].socket);
	assert_true(arena != MAP_FAILED);
}

static void stop(void)
{
	for (unsigned c = 0; c < CLIENTS; c++)
		for (unsigned n = 0; n < NODES; n++)
			proxy_stop(&proxies[c][n]);
	munmap(arena, sizeof *arena);
}

SERVER_TESTS(NODES, .start = start, .stop = stop)
