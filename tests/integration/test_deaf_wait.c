/* SPDX-License-Identifier: MIT */
/* A waiter whose user may not subscribe, among others that hand the lock over to one another without a pause.
 * It gets its turn, and when it dies the others go on. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"

enum { NODES = 3, RIVALS = 3, TURNS = 20, HOLD_MS = 2, SHORT_TTL_MS = 2000 };

static atomic_bool over;
static atomic_int inside, overlaps;

static struct rival {
	pthread_t thread;
	atomic_uint turns;
	atomic_uint failures;
} rivals[RIVALS];

static void hold(void)
{
	overlaps += atomic_fetch_add(&inside, 1) != 0;
	wait_ms(HOLD_MS);
	inside--;
}

static void *take_turns(void *argument)
{
	struct rival *r = argument;
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "busy", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	while (!over) {
		int result = redlock_acquire(lock);
		if (result == 0)
			hold();
		r->failures += result != 0 || redlock_release(lock) != 0;
		r->turns++;
	}
	return NULL;
}

static bool all_have(const unsigned *turns)
{
	for (unsigned i = 0; i < RIVALS; i++)
		if (rivals[i].turns < turns[i] + TURNS)
			return false;
	return true;
}

/* Each rival has had the lock again and again. */
static void expect_progress(void)
{
	unsigned before[RIVALS];
	for (unsigned i = 0; i < RIVALS; i++)
		before[i] = rivals[i].turns;
	assert_soon(all_have(before));
}

static redlock_client *open_deaf(uint32_t node_timeout_ms)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.node_timeout_ms = node_timeout_ms;
	options.user = "deaf";
	options.password = "pw";
	return fixture_open_with(&options);
}

/* It waits when it is killed, maybe as the first of the queue; a lock that it holds ends with its TTL. */
static void kill_one_that_waits(unsigned after_ms)
{
	pid_t pid = child_fork();
	if (pid == 0) {
		redlock_client *client = open_deaf(SHORT_TTL_MS / 4);
		redlock_lock *lock = fixture_lock(client, "busy", SHORT_TTL_MS, WAIT_SOON_MS);
		while (redlock_acquire(lock) == 0 && redlock_release(lock) == 0)
			;
		_exit(1);
	}
	wait_ms(after_ms);
	child_kill(pid);
}

static void start(void)
{
	on_servers(0, NODES,
	           server_must(it, "OK", "ACL", "SETUSER", "deaf", "reset", "on", ">pw", "+@all", "~*",
	                       "resetchannels", NULL));
	over = false;
	for (unsigned i = 0; i < RIVALS; i++) {
		rivals[i] = (struct rival){.turns = 0};
		assert_int_equal(pthread_create(&rivals[i].thread, NULL, take_turns, &rivals[i]), 0);
	}
	expect_progress();
}

static void stop(void)
{
	over = true;
	for (unsigned i = 0; i < RIVALS; i++) {
		pthread_join(rivals[i].thread, NULL);
		assert_int_equal(rivals[i].failures, 0);
	}
	assert_int_equal(overlaps, 0);
}

TEST(it_gets_its_turn)
{
	start();
	own_client *client = open_deaf(FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "busy", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (unsigned i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		hold();
		expect_ok(lock, redlock_release(lock));
	}
	stop();
}

TEST(others_go_on_when_it_dies)
{
	start();
	for (unsigned i = 0; i < 4; i++) {
		kill_one_that_waits(1100 + 150 * i);
		expect_progress();
	}
	stop();
}

SERVER_TESTS(NODES)
