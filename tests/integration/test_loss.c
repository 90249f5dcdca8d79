/* SPDX-License-Identifier: MIT */
/* The end of a lock: by the clock, by a client that takes its keys, by a cap. A lost lock stays lost. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "fixture.h"

enum { NODES = 5 };

static redlock_client *client;

static redlock_lock *held(const char *name, uint64_t ttl_ms)
{
	redlock_lock *lock = fixture_held(client, name, ttl_ms, 0);
	assert_driven(client, servers_with_key(&servers, NODES, name) == NODES);
	return lock;
}

static void delete_on(unsigned count, const char *key)
{
	on_servers(0, count, server_must(it, "1", "DEL", key, NULL));
}

/* A holder that is stopped for longer than its TTL, as by a suspended laptop. Its exit code tells what it
 * saw. */
static int paused_holder(void)
{
	struct redlock_lock_options options = fixture_options(1500);
	redlock_client *own;
	redlock_lock *lock;
	struct redlock_options client_options = fixture_client(servers.urls, NODES);
	client_options.node_timeout_ms = 1000;
	options.wait_ms = WAIT_SOON_MS;
	if (redlock_open(&client_options, &own) != 0 || redlock_lock_new(own, "paused", &options, &lock) != 0)
		return 1;
	if (redlock_acquire(lock) != 0)
		return 2;
	raise(SIGSTOP);
	if (redlock_remaining_ms(lock) != 0 || redlock_deadline_ns(lock) != 0)
		return 3;
	for (int i = 0; i < 2; i++) { /* for good */
		if (redlock_extend(lock, 0) != REDLOCK_E_LOST)
			return 4;
	}
	if (redlock_release(lock) != REDLOCK_E_GONE)
		return 5;
	redlock_lock_free(lock);
	redlock_close(own);
	return 0;
}

TEST(holder_that_was_paused)
{
	int status;
	pid_t pid = child_fork();
	if (pid == 0)
		_exit(paused_holder());
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_soon(servers_with_key(&servers, NODES, "paused") == 0);
	/* Somebody else comes in meanwhile, and is not harmed by the one who wakes up. */
	own_lock *next = held("paused", WAIT_LONG_TTL_MS);
	kill(pid, SIGCONT);
	assert_int_equal(child_join(pid), 0);
	assert_int_equal(servers_with_value(&servers, NODES, "paused", fixture_token(next).text), NODES);
	expect_ok(next, redlock_release(next));
}

TEST(expiry)
{
	own_client *quick = fixture_open(servers.urls, NODES, 500);
	own_lock *lock = fixture_held(quick, "expired", 1000, WAIT_SOON_MS);
	struct fixture_token token = fixture_token(lock);
	assert_soon(redlock_deadline_ns(lock) == 0);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	/* Even when the keys come back: what was lost stays lost. */
	on_servers(0, NODES, server_must(it, "OK", "SET", "expired", token.text, NULL));
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	assert_int_equal(redlock_remaining_ms(lock), 0);
	expect_result(lock, REDLOCK_E_STATE, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	assert_driven(quick, servers_with_key(&servers, NODES, "expired") == 0);
	expect_ok(lock, redlock_acquire(lock)); /* after the release it is a new claim */
}

TEST(deleted_on_a_quorum)
{
	own_lock *lock = held("deleted", WAIT_LONG_TTL_MS);
	delete_on(3, "deleted");
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	assert_int_equal(redlock_remaining_ms(lock), 0);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	on_servers(0, 3, assert_false(server_has(it, "deleted"));
	           /* an extend re-creates nothing */ expect_result(lock, REDLOCK_E_GONE, redlock_release(lock)));
	assert_driven(client, servers_with_key(&servers, NODES, "deleted") == 0);
}

TEST(deleted_on_a_minority)
{
	own_lock *lock = held("dented", WAIT_LONG_TTL_MS);
	delete_on(2, "dented");
	expect_ok(lock, redlock_extend(lock, 2 * WAIT_LONG_TTL_MS));
	assert_true(redlock_remaining_ms(lock) > WAIT_LONG_TTL_MS);
	assert_int_equal(servers_with_key(&servers, NODES, "dented"), 3);
	expect_ok(lock, redlock_release(lock));
}

TEST(stolen)
{
	own_lock *lock = held("stolen", WAIT_LONG_TTL_MS);
	on_servers(0, 3, server_must(it, "OK", "SET", "stolen", "thief", "PX", "250000", NULL));
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 2 * WAIT_LONG_TTL_MS));
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	assert_driven(client, servers_with_key(&servers, NODES, "stolen") == 3);
	assert_int_equal(servers_with_value(&servers, NODES, "stolen", "thief"), 3);
	on_servers(0, 3, assert_in_range(server_pttl(it, "stolen"), 1, 250000));
}

/* A key that became another type is somebody else's, as one that was overwritten. */
TEST(replaced_by_a_hash)
{
	own_lock *lock = held("hashed", WAIT_LONG_TTL_MS);
	delete_on(3, "hashed");
	on_servers(0, 3, server_must(it, "1", "HSET", "hashed", "uuid:1", "1", NULL));
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	assert_driven(client, servers_with_key(&servers, NODES, "hashed") == 3);
}

TEST(extend_never_shortens)
{
	own_lock *lock = held("long", WAIT_LONG_TTL_MS);
	uint64_t deadline_ns = redlock_deadline_ns(lock);
	expect_ok(lock, redlock_extend(lock, 60000));
	assert_int_equal(redlock_deadline_ns(lock), deadline_ns);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	on_servers(0, NODES, assert_in_range(server_pttl(it, "long"), 100000, WAIT_LONG_TTL_MS));
	/* A key that somebody made immortal stays so: never shorter. */
	server_must(&servers.server[0], "1", "PERSIST", "long", NULL);
	expect_ok(lock, redlock_extend(lock, 0));
	assert_int_equal(server_pttl(&servers.server[0], "long"), -1);
	expect_ok(lock, redlock_release(lock));
}

TEST(extend_without_a_quorum_keeps_the_validity)
{
	own_client *quick = fixture_open(servers.urls, NODES, 500);
	own_lock *lock = fixture_held(quick, "unsure", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	uint64_t deadline_ns = redlock_deadline_ns(lock);
	on_servers(0, 3, server_pause(it));
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_extend(lock, 2 * WAIT_LONG_TTL_MS));
	assert_int_equal(redlock_deadline_ns(lock), deadline_ns);
	on_servers(0, 3, server_resume(it));
	assert_soon(redlock_extend(lock, 2 * WAIT_LONG_TTL_MS) == 0);
	assert_true(redlock_deadline_ns(lock) > deadline_ns);
	expect_ok(lock, redlock_release(lock));
}

static void start(void)
{
	client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
}

static void stop(void)
{
	redlock_close(client);
}

SERVER_TESTS(NODES, .start = start, .stop = stop)
