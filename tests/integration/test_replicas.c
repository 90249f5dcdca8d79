/* SPDX-License-Identifier: MIT */
/* ?replicas=1 on a real master with a replica: a vote needs the replica's acknowledgement, for each kind of
 * lock. */
#include <stdio.h>

#include "fixture.h"
#include "proxy.h"
#include "record.h"

enum { TIMEOUT_MS = 3000 };

static char url[160];
static const char *const urls[] = {url};

static bool is_acknowledging(void)
{
	struct raw_reply reply;
	return strstr(server_ask(&servers.server[0], &reply, "INFO", "replication", NULL), "state=online") !=
	       NULL;
}

static void start(void)
{
	char port[16];
	servers_start(&servers, 2, NULL);
	snprintf(port, sizeof port, "%d", servers.server[0].port);
	server_must(&servers.server[0], "OK", "CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL);
	server_must(&servers.server[1], "OK", "REPLICAOF", "127.0.0.1", port, NULL);
	assert_soon(is_acknowledging());
	snprintf(url, sizeof url, "%s/?replicas=1", servers.server[0].tcp_url);
}

static void stop(void)
{
	servers_stop(&servers);
}

TEST(a_lock_is_granted_when_the_replica_has_it)
{
	own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_held(client, "replicated", WAIT_LONG_TTL_MS, 0);
	assert_true(server_has(&servers.server[1], "replicated"));
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	assert_soon(!server_has(&servers.server[1], "replicated"));
}

/* The replica hangs: no vote, and the key is given back. When it goes on, so do votes. */
TEST(without_the_replica_there_is_no_vote_and_no_key)
{
	own_client *client = fixture_open(urls, 1, TIMEOUT_MS);
	own_lock *held = fixture_held(client, "held", WAIT_LONG_TTL_MS, 0);
	own_lock *lock = fixture_lock(client, "missing", WAIT_LONG_TTL_MS, 0);
	server_pause(&servers.server[1]);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_UNREPLICATED);
	assert_driven(client, !server_has(&servers.server[0], "missing"));
	expect_result(held, REDLOCK_E_NOQUORUM, redlock_extend(held, 0));
	struct redlock_node_status status = {.size = sizeof status};
	expect_ok(NULL, redlock_node_status(client, 0, &status));
	assert_int_equal(status.last_failure, REDLOCK_VOTE_UNREPLICATED);
	assert_non_null(strstr(status.last_error, "0 of 1 replicas"));
	server_resume(&servers.server[1]);
	assert_soon(redlock_acquire(lock) == 0);
	assert_soon(redlock_extend(held, 0) == 0);
	expect_ok(lock, redlock_release(lock));
	expect_ok(held, redlock_release(held));
}

/* One node of three: the others are a quorum, and the key is released with theirs. */
TEST(other_nodes_outvote_it)
{
	struct servers plain;
	servers_start(&plain, 2, NULL);
	const char *const three[] = {url, plain.urls[0], plain.urls[1]};
	own_client *client = fixture_open(three, 3, TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "outvoted", WAIT_LONG_TTL_MS, 0);
	server_pause(&servers.server[1]);
	int got = redlock_acquire(lock);
	server_resume(&servers.server[1]);
	expect_ok(lock, got);
	expect_ok(lock, redlock_release(lock));
	assert_driven(client, !server_has(&servers.server[0], "outvoted"));
	redlock_close(client);
	client = NULL;
	servers_stop(&plain);
}

TEST(each_kind_of_lock_waits)
{
	static const char own[] = "own-value";
	struct redlock_lock_options kinds[4];
	for (unsigned i = 0; i < 4; i++)
		kinds[i] = fixture_options(WAIT_LONG_TTL_MS);
	kinds[1].mode = REDLOCK_SHARED;
	kinds[2].slots = 2;
	kinds[3].token = own;
	kinds[3].token_len = sizeof own - 1;
	own_client *client = fixture_open(urls, 1, TIMEOUT_MS);
	for (unsigned i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof name, "kind-%u", i);
		own_lock *lock = NULL;
		char why[256] = "";
		int error = redlock_lock_new(client, name, &kinds[i], &lock);
		(void)redlock_client_last_error(client, why, sizeof why);
		assert_string_equal(error == 0 ? "" : why, "");
		server_pause(&servers.server[1]);
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
		assert_vote(lock, 0, REDLOCK_VOTE_UNREPLICATED);
		assert_driven(client, !server_has(&servers.server[0], name));
		server_resume(&servers.server[1]);
		assert_soon(redlock_acquire(lock) == 0);
		expect_ok(lock, redlock_release(lock));
	}
}

static redlock_lock *lock_of_several(redlock_client *client)
{
	static const char *const names[] = {"{several}:a", "{several}:b"};
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	redlock_lock *lock = NULL;
	expect_ok(NULL, redlock_lock_new_many(client, names, 2, &options, &lock));
	return lock;
}

static redlock_lock *lock_of_kind(redlock_client *client, const char *name, int mode, unsigned slots,
                                  bool fence)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.mode = mode;
	options.slots = slots;
	options.fence = fence;
	return fixture_lock_with(client, name, &options);
}

/* A master, and a replica that hears it through a proxy. The set is guarded. */
static void start_pair(struct servers *pair, struct proxy *between)
{
	char port[16], member[64];
	struct raw_reply reply;
	servers_start(pair, 2, NULL);
	struct server *master = &pair->server[0];
	proxy_start(between, master->socket);
	snprintf(member, sizeof member, "127.0.0.1:%d/0", master->port);
	record_write_alone(master, member, WAIT_LONG_TTL_MS);
	server_must(master, "OK", "CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL);
	snprintf(port, sizeof port, "%d", between->port);
	server_must(&pair->server[1], "OK", "REPLICAOF", "127.0.0.1", port, NULL);
	assert_soon(strstr(server_ask(master, &reply, "INFO", "replication", NULL), "state=online") != NULL);
}

/* When a replica is promoted it has the locks, of every kind, that it has acknowledged. It lacks a lock whose
 * vote did not wait, and a second client gets that lock. A node with replicas gives no fencing tokens, as a
 * promoted replica might give a number again. */
TEST(a_promoted_replica_has_what_it_acknowledged)
{
	struct servers pair;
	own_proxy between;
	char waiting[160];
	start_pair(&pair, &between);
	snprintf(waiting, sizeof waiting, "%s/?replicas=1", pair.server[0].tcp_url);
	const char *const with[] = {waiting}, *const without[] = {pair.server[0].tcp_url},
	                  *const promoted[] = {pair.server[1].tcp_url};
	own_client *client = fixture_open(with, 1, TIMEOUT_MS), *plain = fixture_open(without, 1, TIMEOUT_MS);
	own_lock *alone = lock_of_kind(client, "alone", REDLOCK_EXCLUSIVE, 0, false);
	own_lock *shared = lock_of_kind(client, "shared", REDLOCK_SHARED, 0, false);
	own_lock *slot = lock_of_kind(client, "slot", REDLOCK_EXCLUSIVE, 1, false);
	own_lock *several = lock_of_several(client);
	redlock_lock *const kinds[] = {alone, shared, slot, several};
	for (unsigned i = 0; i < 4; i++)
		expect_ok(kinds[i], redlock_acquire(kinds[i]));
	own_lock *fenced = lock_of_kind(client, "fenced", REDLOCK_EXCLUSIVE, 0, true);
	expect_result(fenced, REDLOCK_E_NOQUORUM, redlock_acquire(fenced));
	assert_string_equal(fixture_status(client, 0).last_error, "it has or had replicas or was one");
	proxy_set(&between, &between.faults->hold_down, 1);
	own_lock *forgotten = fixture_held(plain, "forgotten", WAIT_LONG_TTL_MS, 0);
	own_lock *refused = fixture_lock(client, "refused", WAIT_LONG_TTL_MS, 0);
	expect_result(refused, REDLOCK_E_NOQUORUM, redlock_acquire(refused));
	server_kill(&pair.server[0]);
	server_must(&pair.server[1], "OK", "REPLICAOF", "NO", "ONE", NULL);
	server_must(&pair.server[1], "1", "DEL", "redlock:set", NULL); /* the quarantine would hide it */

	own_client *next = fixture_open(promoted, 1, TIMEOUT_MS);
	redlock_lock *rivals[] = {lock_of_kind(next, "alone", REDLOCK_EXCLUSIVE, 0, false),
	                          lock_of_kind(next, "shared", REDLOCK_EXCLUSIVE, 0, false),
	                          lock_of_kind(next, "slot", REDLOCK_EXCLUSIVE, 1, false), lock_of_several(next)};
	for (unsigned i = 0; i < 4; i++)
		expect_result(rivals[i], REDLOCK_E_BUSY, redlock_acquire(rivals[i]));
	own_lock *second = fixture_held(next, "forgotten", WAIT_LONG_TTL_MS, 0);
	assert_true(redlock_remaining_ms(second) > 0 && redlock_remaining_ms(forgotten) > 0);
	for (unsigned i = 0; i < 4; i++)
		redlock_lock_free(rivals[i]);
	servers_stop(&pair);
}

/* Waiters get their turn: nothing is handed over, as that has no WAIT. */
TEST(a_waiter_gets_the_lock)
{
	own_client *client = fixture_open(urls, 1, TIMEOUT_MS);
	own_client *other = fixture_open(urls, 1, TIMEOUT_MS);
	own_lock *held = fixture_held(client, "turns", 4000, 0);
	own_lock *waiter = fixture_lock(other, "turns", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(waiter, redlock_acquire(waiter));
	expect_ok(waiter, redlock_release(waiter));
	(void)redlock_release(held);
}

/* A server without WAIT, or a user who may not use it, has no vote, and says why. */
TEST(the_right_is_needed)
{
	char as_user[160];
	const char *const tight[] = {as_user};
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "tight", "reset", "on", ">pw", "~*", "&*",
	            "+@all", "-wait", NULL);
	snprintf(as_user, sizeof as_user, "redis://tight:pw@127.0.0.1:%d/?replicas=1", servers.server[0].port);
	own_client *client = fixture_open(tight, 1, TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "tight", WAIT_LONG_TTL_MS, 0);
	assert_int_not_equal(redlock_acquire(lock), 0);
	assert_vote(lock, 0, REDLOCK_VOTE_NOPERM);
	assert_driven(client, !server_has(&servers.server[0], "tight"));
}

TESTS(.start = start, .stop = stop)
