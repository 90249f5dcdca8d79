/* SPDX-License-Identifier: MIT */
/* A waiter whose user may not subscribe, among others that hand the lock over to one another without a pause.
 * It gets its turn, and when it dies the others go on. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"

enum { NODES = 3, RIVALS = 3, TURNS = 20, HOLD_MS = 2 };

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

static redlock_client *open_deaf(void)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.user = "deaf";
	options.password = "pw";
	return fixture_open_with(&options);
}

/* How many places there are in the queue of the lock, at whichever node it is. */
static unsigned places(void)
{
	unsigned count = 0;
	struct raw_reply reply;
	for (unsigned i = 0; i < NODES; i++) {
		const char *at = server_ask(&servers.server[i], &reply, "GET", "{busy}:redlock:queue", NULL);
		while ((at = strstr(at, "1w")) != NULL) {
			count++;
			at += 2;
		}
	}
	return count;
}

static void wait_for_ever(void)
{
	redlock_client *client = open_deaf();
	redlock_lock *lock = fixture_lock(client, "busy", WAIT_LONG_TTL_MS, WAIT_LONG_TTL_MS);
	_exit(redlock_acquire(lock));
}

static void allow_deaf_user(void)
{
	on_servers(0, NODES,
	           server_must(it, "OK", "ACL", "SETUSER", "deaf", "reset", "on", ">pw", "+@all", "~*",
	                       "resetchannels", NULL));
}

static void start(void)
{
	allow_deaf_user();
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
	own_client *client = open_deaf();
	own_lock *lock = fixture_lock(client, "busy", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	for (unsigned i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		hold();
		expect_ok(lock, redlock_release(lock));
	}
	stop();
}

/* The deaf waiter is killed as the first of the queue: the next waiter does not wait for it for long. */
TEST(others_go_on_when_it_dies)
{
	struct redlock_event event = {.size = sizeof event};
	allow_deaf_user();
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *holder = fixture_held(client, "busy", WAIT_LONG_TTL_MS, 0);
	pid_t pid = child_fork();
	if (pid == 0)
		wait_for_ever();
	assert_soon(places() == 1);
	own_client *other = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(other, "busy", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(NULL, redlock_start_acquire(lock));
	assert_driven(other, places() == 2);
	child_kill(pid);
	expect_ok(holder, redlock_release(holder));
	assert_driven(other, redlock_next(other, &event) == 0);
	assert_int_equal(event.result, 0);
}

SERVER_TESTS(NODES)
