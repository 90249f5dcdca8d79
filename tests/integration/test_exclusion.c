/* SPDX-License-Identifier: MIT */
/*
 * Never two holders: many processes, and many threads on one client, contend for one resource. Each holder
 * notes in shared memory that it is in, and increments a counter in two steps; an overlap or a lost increment
 * shows.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"

enum { NODES = 5, CONTENDERS = 8 };

struct arena {
	atomic_int inside;   /* holders at this moment */
	atomic_int overlaps; /* times that somebody was inside already */
	atomic_int late;     /* times that the validity had ended inside */
	atomic_int failures; /* calls that failed */
	atomic_long counter; /* read and written apart, not added to */
	atomic_long rounds;
};

static struct arena *arena;

static int rounds_each(void)
{
	return wait_is_slow() ? 25 : 50;
}

static redlock_lock *contend_for(redlock_client *client, const char *name)
{
	struct redlock_lock_options options = fixture_options(60000);
	options.wait_ms = 200000;
	options.retry_min_ms = 1;
	options.retry_max_ms = 20;
	redlock_lock *lock = NULL;
	if (redlock_lock_new(client, name, &options, &lock) != 0)
		arena->failures++;
	return lock;
}

static void critical_section(const redlock_lock *lock)
{
	if (atomic_fetch_add(&arena->inside, 1) != 0)
		arena->overlaps++;
	long seen = atomic_load(&arena->counter);
	for (int i = 0; i < 3; i++)
		sched_yield();
	atomic_store(&arena->counter, seen + 1);
	arena->rounds++;
	atomic_fetch_sub(&arena->inside, 1);
	if (redlock_remaining_ms(lock) == 0)
		arena->late++;
}

static void run_rounds(redlock_client *client, const char *name, int rounds)
{
	own_lock *lock = contend_for(client, name);
	for (int i = 0; i < rounds && lock != NULL; i++) {
		if (redlock_acquire(lock) != 0) {
			arena->failures++;
			continue;
		}
		critical_section(lock);
		if (redlock_release(lock) != 0)
			arena->failures++;
	}
}

static void expect_exact(long total)
{
	assert_int_equal(arena->overlaps, 0);
	assert_int_equal(arena->failures, 0);
	assert_int_equal(arena->late, 0);
	assert_int_equal(arena->rounds, total);
	assert_int_equal(arena->counter, total);
	on_servers(0, NODES, assert_soon(server_key_count(it) == 0));
}

static int contend_in_process(int index)
{
	redlock_client *client;
	struct redlock_options options = fixture_client(index % 2 == 0 ? servers.urls : servers.tcp_urls, NODES);
	if (redlock_open(&options, &client) != 0)
		return 1;
	run_rounds(client, "processes", rounds_each());
	int owed = redlock_drain(client, WAIT_SOON_MS);
	redlock_close(client);
	return owed == 0 ? 0 : 2;
}

static void run_processes(int (*contend)(int))
{
	pid_t pids[CONTENDERS];
	for (int i = 0; i < CONTENDERS; i++) {
		pids[i] = child_fork();
		if (pids[i] == 0)
			_exit(contend(i));
	}
	int failed = 0;
	for (int i = 0; i < CONTENDERS; i++)
		failed += child_join(pids[i]) != 0;
	assert_int_equal(failed, 0);
}

TEST(processes)
{
	run_processes(contend_in_process);
	expect_exact((long)CONTENDERS * rounds_each());
}

/* The first three nodes do not answer to half of the contenders, as if the network were split: those get no
 * quorum, and the others exclude each other all the same. */
static int contend_in_minority(int index)
{
	const char *urls[NODES] = {"unix:///nowhere/0", "unix:///nowhere/1", "unix:///nowhere/2", servers.urls[3],
	                           servers.urls[4]};
	redlock_client *client;
	redlock_lock *lock;
	struct redlock_options options = fixture_client(urls, NODES);
	if (index % 2 == 0)
		return contend_in_process(index);
	if (redlock_open(&options, &client) != 0 || redlock_lock_new(client, "processes", NULL, &lock) != 0)
		return 1;
	int wrong = 0;
	for (int i = 0; i < rounds_each(); i++) {
		wrong += redlock_acquire(lock) != REDLOCK_E_NOQUORUM;
		wait_ms(2);
	}
	redlock_lock_free(lock);
	redlock_drain(client, WAIT_SOON_MS);
	redlock_close(client);
	return wrong == 0 ? 0 : 3;
}

TEST(processes_beside_a_minority)
{
	run_processes(contend_in_minority);
	expect_exact((long)CONTENDERS / 2 * rounds_each());
}

static void *contend_in_thread(void *client)
{
	run_rounds(client, "threads", rounds_each());
	return NULL;
}

static void run_threads(redlock_client *client)
{
	pthread_t threads[CONTENDERS];
	for (int i = 0; i < CONTENDERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, contend_in_thread, client), 0);
	for (int i = 0; i < CONTENDERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	expect_exact((long)CONTENDERS * rounds_each());
}

TEST(threads_on_one_client)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	run_threads(client);
}

TEST(threads_beside_a_keeper)
{
	own_client *client = fixture_open(servers.tcp_urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	expect_ok(NULL, redlock_keeper_start(client));
	run_threads(client);
}

static void *own_resource_in_thread(void *client)
{
	char name[32];
	snprintf(name, sizeof name, "own-%ld", atomic_fetch_add(&arena->rounds, 1));
	redlock_lock *lock = contend_for(client, name);
	for (int i = 0; i < 4 * rounds_each() && lock != NULL; i++) {
		if (redlock_acquire(lock) != 0 || redlock_extend(lock, 0) != 0 || redlock_release(lock) != 0)
			arena->failures++;
	}
	redlock_lock_free(lock);
	return NULL;
}

TEST(threads_on_own_resources)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	pthread_t threads[CONTENDERS];
	for (int i = 0; i < CONTENDERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, own_resource_in_thread, client), 0);
	for (int i = 0; i < CONTENDERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(arena->failures, 0);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	on_servers(0, NODES, assert_int_equal(server_key_count(it), 0));
}

static void reset(void)
{
	*arena = (struct arena){0};
}

static void start(void)
{
	arena = mmap(NULL, sizeof *arena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(arena != MAP_FAILED);
}

static void stop(void)
{
	munmap(arena, sizeof *arena);
}

SERVER_TESTS(NODES, .start = start, .stop = stop, .before = reset)
