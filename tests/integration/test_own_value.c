/* SPDX-License-Identifier: MIT */
/* A caller's own value that is used again: what an older attempt left on its way must not delete the key of
 * the next acquisition, nor that of one that is going on. */
#include "fixture.h"
#include "proxy.h"

enum { NODES = 3, TIMEOUT_MS = 300, FAR = 2 /* so many nodes, the first ones, are behind a proxy */ };

static struct proxy far_away[FAR];
static const char *urls[NODES]; /* of a client that is far away from a quorum */

static void set_all(size_t fault, unsigned value)
{
	for (unsigned i = 0; i < FAR; i++)
		proxy_set(&far_away[i], (atomic_uint *)((char *)far_away[i].faults + fault), value);
}

#define set_far(fault, value) set_all(offsetof(struct proxy_faults, fault), (value))

static redlock_lock *mine(redlock_client *client, const char *name)
{
	return fixture_value_lock(client, name, WAIT_LONG_TTL_MS, "mine");
}

/* An attempt of a client whose process ends after it, while a quorum has not heard of it. */
static void attempt_from_far_away(const char *name, int result)
{
	own_client *client = fixture_open(urls, NODES, TIMEOUT_MS);
	own_lock *lock = mine(client, name);
	assert_driven(client, far_away[0].faults->open == 1 && far_away[1].faults->open == 1);
	set_far(hold_up, 1);
	expect_result(lock, result, redlock_acquire(lock));
	redlock_drain(client, TIMEOUT_MS);
}

/* The delayed bytes arrive, and the lock is still the first client's alone. */
static void expect_excluded(const char *name)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *rival = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
	set_far(hold_up, 0);
	assert_soon(far_away[0].faults->open + far_away[1].faults->open == 0);
	wait_ms(50); /* the servers read it, or have read it */
	expect_result(rival, REDLOCK_E_BUSY, redlock_acquire(rival));
	assert_int_equal(servers_with_value(&servers, NODES, name, "mine"), NODES);
}

/* The first try fails, the second, of the same value, has the lock, then the first one's requests come. */
TEST(late_requests_of_a_failed_attempt)
{
	attempt_from_far_away("second", REDLOCK_E_NOQUORUM);
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = mine(client, "second");
	expect_ok(lock, redlock_acquire(lock));
	expect_excluded("second");
	expect_ok(lock, redlock_release(lock));
}

/* The value is in use: a second try, of a cron job that begins before the last one is done, fails, and leaves
 * the key where it is. */
TEST(a_second_try_while_held)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = mine(client, "going-on");
	expect_ok(lock, redlock_acquire(lock));
	attempt_from_far_away("going-on", REDLOCK_E_NOQUORUM);
	expect_excluded("going-on");
}

TEST(a_late_yes_is_given_back)
{
	own_client *client = fixture_open(urls, NODES, TIMEOUT_MS);
	redlock_lock *lock = mine(client, "late");
	set_far(hold_down, 1);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_int_equal(redlock_drain(client, 50), FAR);
	assert_soon(servers_with_value(&servers, FAR, "late", "mine") == FAR);
	/* A second try before it is known what became of the first one is no vote there. */
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_STALE);
	redlock_lock_free(lock);
	set_far(hold_down, 0);
	expect_settled(client, NODES, "late");
}

/* One client, two handles, one value: it is used by one of them at a time. */
TEST(two_handles)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *one = mine(client, "shared"), *other = mine(client, "shared");
	redlock_lock *elsewhere = mine(client, "another-name");
	expect_ok(one, redlock_acquire(one));
	expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
	expect_result(one, REDLOCK_E_STATE, redlock_acquire(one));
	expect_ok(elsewhere, redlock_acquire(elsewhere));
	/* Lost, but not given back: its release is still to come. */
	on_servers(0, NODES, server_must(it, "OK", "FLUSHALL", NULL));
	expect_result(one, REDLOCK_E_LOST, redlock_extend(one, 0));
	expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
	redlock_release(one);
	expect_ok(other, redlock_acquire(other));
	redlock_lock_free(one);
	expect_ok(other, redlock_extend(other, 0));
	redlock_lock_free(other);
	redlock_lock_free(elsewhere);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
}

static void start(void)
{
	for (unsigned i = 0; i < NODES; i++)
		urls[i] = servers.urls[i];
	for (unsigned i = 0; i < FAR; i++) {
		proxy_start(&far_away[i], servers.server[i].socket);
		urls[i] = far_away[i].url;
	}
}

static void stop(void)
{
	for (unsigned i = 0; i < FAR; i++)
		proxy_stop(&far_away[i]);
}

static void heal(void)
{
	set_far(hold_up, 0);
	set_far(hold_down, 0);
}

SERVER_TESTS(NODES, .start = start, .stop = stop, .after = heal)
