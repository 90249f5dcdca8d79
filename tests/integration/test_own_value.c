/* SPDX-License-Identifier: MIT */
/* A caller's own value that is used again: what an older attempt left on its way must not delete the key of
 * the next acquisition, nor that of one that is going on. */
#include "fixture.h"
#include "proxy.h"

enum { NODES = 3, TIMEOUT_MS = 300, FAR = 2 /* so many nodes, the first ones, are behind a proxy */ };

static struct servers servers;
static struct proxy far_away[FAR];
static const char *urls[NODES]; /* of a client that is far away from a quorum */

static void set_all(size_t fault, unsigned value)
{
	for (unsigned i = 0; i < FAR; i++)
		proxy_set(&far_away[i], (atomic_uint *)((char *)far_away[i].faults + fault), value);
}

#define set_far(fault, value) set_all(offsetof(struct proxy_faults, fault), (value))

static redlock_lock *own_lock(redlock_client *client, const char *name)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.token = "mine";
	options.token_len = 4;
	return fixture_lock_with(client, name, &options);
}

/* An attempt of a client whose process ends behind it, while a quorum has not heard of it. */
static void attempt_from_far_away(const char *name, int result)
{
	redlock_client *client = fixture_open(urls, NODES, TIMEOUT_MS);
	redlock_lock *lock = own_lock(client, name);
	assert_driven(client, far_away[0].faults->open == 1 && far_away[1].faults->open == 1);
	set_far(hold_up, 1);
	expect_result(lock, result, redlock_acquire(lock));
	redlock_drain(client, TIMEOUT_MS);
	redlock_lock_free(lock);
	redlock_close(client);
}

/* What was held back arrives, and the lock is still the first one's alone. */
static void expect_excluded(const char *name)
{
	redlock_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *rival = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
	set_far(hold_up, 0);
	assert_soon(far_away[0].faults->open + far_away[1].faults->open == 0);
	wait_ms(50); /* the servers read it, or have read it */
	expect_result(rival, REDLOCK_E_BUSY, redlock_acquire(rival));
	assert_int_equal(servers_with_value(&servers, NODES, name, "mine"), NODES);
	redlock_lock_free(rival);
	redlock_close(client);
}

/* The first try fails, the second one of the same value has the lock, then the first one's requests arrive.
 */
static void test_late_requests_of_a_failed_attempt(void **state)
{
	(void)state;
	attempt_from_far_away("second", REDLOCK_E_NOQUORUM);
	redlock_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = own_lock(client, "second");
	expect_ok(lock, redlock_acquire(lock));
	expect_excluded("second");
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_close(client);
}

/* The value is in use: a second try, of a cron job that begins before the last one is done, fails, and leaves
 * the key where it is. */
static void test_a_second_try_while_held(void **state)
{
	(void)state;
	redlock_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = own_lock(client, "going-on");
	expect_ok(lock, redlock_acquire(lock));
	attempt_from_far_away("going-on", REDLOCK_E_NOQUORUM);
	expect_excluded("going-on");
	redlock_lock_free(lock);
	redlock_close(client);
}

/* The answer that says that the key was made comes after the attempt has failed: then it is given back. */
static void test_a_late_yes_is_given_back(void **state)
{
	(void)state;
	redlock_client *client = fixture_open(urls, NODES, TIMEOUT_MS);
	redlock_lock *lock = own_lock(client, "late");
	set_far(hold_down, 1);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_int_equal(redlock_drain(client, 50), FAR);
	assert_soon(servers_with_value(&servers, FAR, "late", "mine") == FAR);
	/* A second try before it is known what became of the first one is no vote there. */
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_STALE);
	redlock_lock_free(lock);
	set_far(hold_down, 0);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(servers_with_key(&servers, NODES, "late"), 0);
	redlock_close(client);
}

/* One client, two handles, one value: it is used by one of them at a time. */
static void test_two_handles(void **state)
{
	(void)state;
	redlock_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *one = own_lock(client, "shared"), *other = own_lock(client, "shared");
	redlock_lock *elsewhere = own_lock(client, "another-name");
	expect_ok(one, redlock_acquire(one));
	expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
	expect_result(one, REDLOCK_E_STATE, redlock_acquire(one));
	expect_ok(elsewhere, redlock_acquire(elsewhere));
	/* Lost, but not given back: its release is still to come. */
	for (unsigned i = 0; i < NODES; i++)
		server_must(&servers.server[i], "OK", "FLUSHALL", NULL);
	expect_result(one, REDLOCK_E_LOST, redlock_extend(one, 0));
	expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
	redlock_release(one);
	expect_ok(other, redlock_acquire(other));
	redlock_lock_free(one);
	expect_ok(other, redlock_extend(other, 0));
	redlock_lock_free(other);
	redlock_lock_free(elsewhere);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	redlock_close(client);
}

static int start(void **state)
{
	(void)state;
	servers_start(&servers, NODES, NULL);
	for (unsigned i = 0; i < NODES; i++)
		urls[i] = servers.urls[i];
	for (unsigned i = 0; i < FAR; i++) {
		proxy_start(&far_away[i], servers.server[i].socket);
		urls[i] = far_away[i].url;
	}
	return 0;
}

static int stop(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FAR; i++)
		proxy_stop(&far_away[i]);
	servers_stop(&servers);
	return 0;
}

static int heal(void **state)
{
	(void)state;
	set_far(hold_up, 0);
	set_far(hold_down, 0);
	servers_heal(&servers);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_late_requests_of_a_failed_attempt, heal),
	    cmocka_unit_test_teardown(test_a_second_try_while_held, heal),
	    cmocka_unit_test_teardown(test_a_late_yes_is_given_back, heal),
	    cmocka_unit_test_teardown(test_two_handles, heal),
	};
	return cmocka_run_group_tests_name("own_value", tests, start, stop);
}
