/* SPDX-License-Identifier: MIT */
/* A node of a guarded set that has forgotten its keys, in whatever way, has no vote until they have expired.
 * Each scenario is run without the guard too: then two hold the lock. The quarantines are waited for, so that
 * the scenarios with clients that are connected before are a run of their own: "connected". */
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"
#include "record.h"

enum { NODES = 3, MAX_TTL_MS = 1500, NODE_TIMEOUT_MS = 1000 };

static redlock_client *open_guarded(int guard)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.guard = guard;
	options.node_timeout_ms = NODE_TIMEOUT_MS;
	return fixture_open_with(&options);
}

static void restart(struct server *server)
{
	server_restart(server);
}

static void flush(struct server *server)
{
	server_must(server, "OK", "FLUSHALL", NULL);
}

static void delete_keys(struct server *server)
{
	server_must(server, "2", "DEL", "redlock:set", "job", NULL);
}

static void swap_databases(struct server *server)
{
	server_must(server, "OK", "SWAPDB", "0", "1", NULL);
}

/* Called before the lock is acquired: the data that comes back is older than the lock. */
static void back_up(struct server *server)
{
	server_must(server, "OK", "SAVE", NULL);
}

static void forget_backup(struct server *server)
{
	char path[128];
	snprintf(path, sizeof path, "%s/dump.rdb", server->dir);
	assert_int_equal(unlink(path), 0);
}

static struct server *replica_of(const struct server *server)
{
	return &servers.server[server - servers.server + 3];
}

/* Promotes a replica before the lock is acquired, as if the lock had not arrived there yet. */
static void replicate(struct server *server)
{
	struct server *replica = replica_of(server);
	struct raw_reply reply;
	char port[16];
	snprintf(port, sizeof port, "%d", server->port);
	server_must(server, "OK", "CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL);
	server_must(replica, "OK", "REPLICAOF", "127.0.0.1", port, NULL);
	assert_soon(strstr(server_ask(replica, &reply, "INFO", "replication", NULL), "link_status:up") != NULL);
	server_must(replica, "OK", "REPLICAOF", "NO", "ONE", NULL);
}

static void fail_over(struct server *server)
{
	assert_int_equal(rename(replica_of(server)->socket, server->socket), 0);
}

static void end_failover(struct server *server)
{
	forget_backup(replica_of(server)); /* of what it was sent */
	server_restart(server);
	server_restart(replica_of(server));
}

/* Behind the addresses of the members are other servers, which go on running. */
static void exchange(struct server *server)
{
	char aside[160];
	snprintf(aside, sizeof aside, "%s.aside", server->socket);
	assert_int_equal(rename(server->socket, aside), 0);
	assert_int_equal(rename(replica_of(server)->socket, server->socket), 0);
	assert_int_equal(rename(aside, replica_of(server)->socket), 0);
}

/* Two members are stopped, and each is started at the address of the other one, with what it has saved. */
static void start_crosswise(struct server *server)
{
	char paths[3][160];
	if (server != &servers.server[0])
		return;
	for (unsigned i = 0; i < 3; i++)
		snprintf(paths[i], sizeof paths[i], "%s/%s", servers.server[i % 2].dir, i < 2 ? "dump.rdb" : "aside");
	assert_int_equal(rename(paths[0], paths[2]), 0);
	assert_int_equal(rename(paths[1], paths[0]), 0);
	assert_int_equal(rename(paths[2], paths[1]), 0);
	on_servers(0, 2, server_restart(it));
}

static const struct scenario {
	const char *name;
	void (*prepare)(struct server *);
	void (*forget)(struct server *);
	void (*clean)(struct server *);
	bool fresh; /* only a new connection sees it */
	int guard;
} scenarios[] = {
    {"restart", NULL, restart, NULL, false, REDLOCK_GUARD_REQUIRE},
    {"flush", NULL, flush, NULL, false, REDLOCK_GUARD_REQUIRE},
    {"keys deleted", NULL, delete_keys, NULL, false, REDLOCK_GUARD_REQUIRE},
    {"databases swapped", NULL, swap_databases, NULL, false, REDLOCK_GUARD_REQUIRE},
    {"old backup", back_up, restart, forget_backup, false, REDLOCK_GUARD_REQUIRE},
    {"replica promoted", replicate, fail_over, end_failover, true, REDLOCK_GUARD_AUTO},
    {"exchanged for others", NULL, exchange, exchange, true, REDLOCK_GUARD_REQUIRE},
    {"exchanged", back_up, start_crosswise, forget_backup, true, REDLOCK_GUARD_REQUIRE},
};

/* The mode in which A holds the lock, and the mode that B wants: one of them may share. Or A holds all slots,
 * and B wants one. */
struct modes {
	int held, wanted;
	unsigned slots;
};

static redlock_lock *lock_of(redlock_client *client, int mode, unsigned slots)
{
	struct redlock_lock_options options = fixture_options(MAX_TTL_MS);
	options.mode = mode;
	options.slots = slots;
	return fixture_lock_with(client, "job", &options);
}

/* A holds the lock on three nodes, and two of them forget it. B wants it. Returns what B gets at first. */
static int two_forget(const struct scenario *s, const struct modes *modes, int guard, bool warm)
{
	servers_heal(&servers);
	record_write(&servers, NODES, MAX_TTL_MS, "1000");
	for (unsigned i = 0; i < 2 && s->prepare != NULL; i++)
		s->prepare(&servers.server[i]);
	own_client *a = open_guarded(guard), *b = warm ? open_guarded(guard) : NULL;
	if (warm) {
		own_lock *other = fixture_lock(b, "other", MAX_TTL_MS, 0);
		expect_pair(other);
	}
	own_lock *held = lock_of(a, modes->held, modes->slots), *second = lock_of(a, modes->held, modes->slots);
	expect_ok(held, redlock_acquire(held));
	if (modes->slots > 1) {
		expect_ok(second, redlock_acquire(second));
		expect_ok(second, redlock_query(second));
	}
	uint64_t until_ns = redlock_deadline_ns(held);
	expect_ok(held, redlock_query(held)); /* the third one may have answered late: now it has the key, too */
	on_servers(0, 2, s->forget(it));
	if (b == NULL)
		b = open_guarded(guard);
	own_lock *wanted = lock_of(b, modes->wanted, modes->slots);
	int first = redlock_acquire(wanted);
	for (int got = first; guard != REDLOCK_GUARD_OFF && got != 0; got = redlock_acquire(wanted)) {
		assert_true(wait_now_ns() < until_ns + WAIT_SOON_MS * UINT64_C(1000000));
		wait_ms(20);
	}
	assert_true(redlock_remaining_ms(wanted) > 0);
	assert_int_equal(wait_now_ns() < until_ns, guard == REDLOCK_GUARD_OFF);
	if (guard != REDLOCK_GUARD_OFF) { /* and they vote again, all of them */
		expect_ok(wanted, redlock_release(wanted));
		assert_soon(redlock_acquire(wanted) == 0 && redlock_release(wanted) == 0 &&
		            redlock_drain(b, 100) == 0 && fixture_vote(wanted, 0) == REDLOCK_VOTE_YES);
	}
	for (unsigned i = 0; i < 2 && s->clean != NULL; i++)
		s->clean(&servers.server[i]);
	return first;
}

/* A server does not load what a newer one has saved. */
static bool are_of_one_version(void)
{
	char version[2][64];
	struct raw_reply reply;
	for (unsigned i = 0; i < 2; i++) {
		const char *id =
		    strstr(server_ask(&servers.server[i], &reply, "INFO", "server", NULL), "redis_build_id:");
		snprintf(version[i], sizeof version[i], "%.32s", id != NULL ? id : "");
	}
	return strcmp(version[0], version[1]) == 0;
}

static void try_all(bool guarded, int want)
{
	bool alike = are_of_one_version();
	bool warm = group.argument != NULL;
	for (const struct scenario *s = scenarios; s < scenarios + sizeof scenarios / sizeof scenarios[0]; s++) {
		if ((warm && s->fresh) || (!alike && s->forget == start_crosswise))
			continue;
		print_message("  %s\n", s->name);
		assert_int_equal(two_forget(s, &(struct modes){0}, guarded ? s->guard : REDLOCK_GUARD_OFF, warm),
		                 want);
	}
}

/* The last lines are the control, without a guard. A reader has no such control: the keys that are left at
 * the gate refuse it. */
TEST(nor_for_other_kinds)
{
	enum { KINDS = 4 };
	static const struct modes modes[KINDS] = {{REDLOCK_SHARED, REDLOCK_EXCLUSIVE, 0},
	                                          {.slots = 1},
	                                          {.slots = 2},
	                                          {REDLOCK_EXCLUSIVE, REDLOCK_SHARED, 0}};
	const struct scenario flushed = {"flush", NULL, flush, NULL, false, REDLOCK_GUARD_REQUIRE};
	for (unsigned i = 0; i < KINDS; i++) {
		assert_int_equal(two_forget(&flushed, &modes[i], flushed.guard, group.argument != NULL),
		                 REDLOCK_E_NOQUORUM);
	}
	for (unsigned i = 0; i < KINDS - 1; i++)
		assert_int_equal(two_forget(&flushed, &modes[i], REDLOCK_GUARD_OFF, false), 0);
}

TEST(a_node_that_forgot_has_no_vote)
{
	try_all(true, REDLOCK_E_NOQUORUM);
}

/* The control: what the guard is for. Once suffices. */
TEST(without_a_guard_two_hold_the_lock)
{
	if (group.argument == NULL)
		try_all(false, 0);
}

/* Two addresses lead to other servers now, and the former ones run on. A client renews its lock there, and
 * has no reason of its own to connect again: it has lost the lock before another client gets it. */
TEST(a_former_server_that_runs_on_is_left)
{
	record_write(&servers, NODES, MAX_TTL_MS, "1000");
	own_client *a = open_guarded(REDLOCK_GUARD_REQUIRE);
	struct redlock_lock_options options = fixture_options(MAX_TTL_MS);
	options.renew_ms = MAX_TTL_MS / 10;
	own_lock *held = fixture_lock_with(a, "job", &options);
	assert_int_equal(redlock_keeper_start(a), 0);
	expect_ok(held, redlock_acquire(held));
	on_servers(0, 2, exchange(it));
	own_client *b = open_guarded(REDLOCK_GUARD_REQUIRE);
	own_lock *wanted = fixture_lock(b, "job", MAX_TTL_MS, 0);
	assert_soon(redlock_acquire(wanted) == 0);
	assert_int_equal(redlock_remaining_ms(held), 0);
	assert_true(redlock_remaining_ms(wanted) > 0);
	expect_ok(wanted, redlock_release(wanted));
	assert_int_equal(redlock_keeper_stop(a), 0);
	on_servers(0, 2, exchange(it));
}

SERVER_TESTS(5)
