/* SPDX-License-Identifier: MIT */
/* A guarded node set: a node that has forgotten its keys, in whatever way, has no vote until they have
 * expired. Each scenario is run without the guard too: then two hold the lock. */
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

enum { MAX_TTL_MS = 1500 };

static const char set_id[] = "00112233445566aa", config_id[] = "8899aabbccddeeff";

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The members as a record lists them. */
static const char *members_of(unsigned count)
{
	static char text[SERVERS_MAX * 128];
	char members[SERVERS_MAX][128];
	const char *sorted[SERVERS_MAX];
	size_t used = 0;
	for (unsigned i = 0; i < count; i++) {
		snprintf(members[i], sizeof members[i], "unix:%s/0", servers.server[i].socket);
		sorted[i] = members[i];
	}
	qsort(sorted, count, sizeof sorted[0], compare);
	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "", sorted[i]);
	return text;
}

static void run_id_of(const struct server *server, char ret[41])
{
	struct raw_reply reply;
	const char *info = server_ask(server, &reply, "INFO", "server", NULL);
	snprintf(ret, 41, "%s", strstr(info, "run_id:") + 7);
}

/* What `redlock init` writes. */
static void write_record(const struct server *server, unsigned count)
{
	struct raw_reply reply;
	char pass[80], quorum[16], node[128], run_id[41], ttl[16];
	run_id_of(server, run_id);
	snprintf(pass, sizeof pass, "%s:%s", run_id, config_id);
	snprintf(quorum, sizeof quorum, "%u", count / 2 + 1);
	snprintf(node, sizeof node, "unix:%s/0", server->socket);
	snprintf(ttl, sizeof ttl, "%d", MAX_TTL_MS);
	const char *const words[][2] = {
	    {"version", "1"},      {"mode", "guard"}, {"set", set_id},    {"step", "1"},
	    {"config", config_id}, {"ttl", ttl},      {"quorum", quorum}, {"node", node},
	    {"pass", pass},        {"floor", "1000"}, {"gmax", "1000"},   {"members", members_of(count)}};
	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		server_ask(server, &reply, "HSET", "redlock:set", words[i][0], words[i][1], NULL);
	assert_int_equal(reply.type, ':');
}

static void write_records(unsigned count)
{
	on_servers(0, count, write_record(it, count));
}

static redlock_client *open_guarded(unsigned count, int guard)
{
	struct redlock_options options = fixture_client(servers.urls, count);
	options.guard = guard;
	options.node_timeout_ms = 300;
	return fixture_open_with(&options);
}

TEST(a_lock_of_a_guarded_set)
{
	for (unsigned count = 3; count <= 5; count += 2) {
		write_records(count);
		for (int guard = REDLOCK_GUARD_AUTO; guard <= REDLOCK_GUARD_REQUIRE; guard++) {
			own_client *client = open_guarded(count, guard);
			own_lock *lock = fixture_held(client, "job", MAX_TTL_MS, 0);
			own_lock *other = fixture_lock(client, "job", MAX_TTL_MS, 0);
			expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
			expect_ok(lock, redlock_extend(lock, 0));
			expect_ok(lock, redlock_release(lock));
			expect_pair(other);
			expect_settled(client, count, "job");
		}
		servers_heal(&servers);
	}
}

/* ---- servers that forget ---- */

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

/* Before the lock is had: what comes back is older than it. */
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

/* Promoted before the lock is had, as if that had not arrived there yet. */
static void replicate(struct server *server)
{
	struct server *replica = replica_of(server);
	struct raw_reply reply;
	char port[16];
	snprintf(port, sizeof port, "%d", server->port);
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

/* A holds the lock on three nodes, and two of them forget it. B wants it. Returns what B gets at first. */
static int two_forget(const struct scenario *s, int guard, bool warm)
{
	servers_heal(&servers);
	write_records(3);
	for (unsigned i = 0; i < 2 && s->prepare != NULL; i++)
		s->prepare(&servers.server[i]);
	own_client *a = open_guarded(3, guard), *b = warm ? open_guarded(3, guard) : NULL;
	if (warm) {
		own_lock *other = fixture_lock(b, "other", MAX_TTL_MS, 0);
		expect_pair(other);
	}
	own_lock *held = fixture_held(a, "job", MAX_TTL_MS, 0);
	uint64_t until_ns = redlock_deadline_ns(held);
	expect_ok(held, redlock_query(held)); /* the third one may have answered late: now it has the key, too */
	on_servers(0, 2, s->forget(it));
	if (b == NULL)
		b = open_guarded(3, guard);
	own_lock *wanted = fixture_lock(b, "job", MAX_TTL_MS, 0);
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

TEST(who_has_forgotten_has_no_vote)
{
	for (unsigned i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
		for (int warm = 0; warm <= !scenarios[i].fresh; warm++) {
			print_message("  %s%s\n", scenarios[i].name, warm ? ", clients are connected" : "");
			assert_int_equal(two_forget(&scenarios[i], scenarios[i].guard, warm), REDLOCK_E_NOQUORUM);
		}
}

/* The control: what the guard is for. */
TEST(without_a_guard_two_hold_the_lock)
{
	for (unsigned i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
		print_message("  %s\n", scenarios[i].name);
		assert_int_equal(two_forget(&scenarios[i], REDLOCK_GUARD_OFF, false), 0);
	}
}

/* ---- who is refused, and why ---- */

/* Node 0 votes so, and says why; an acquire has no quorum. */
static void expect_refused(const struct redlock_options *options, uint64_t ttl_ms,
                           enum redlock_vote_code vote, const char *why)
{
	own_client *client = fixture_open_with(options);
	own_lock *lock = fixture_lock(client, "job", ttl_ms, 0);
	assert_soon(redlock_acquire(lock) == REDLOCK_E_NOQUORUM && fixture_vote(lock, 0) == vote);
	if (strstr(fixture_status(client, 0).last_error, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, fixture_status(client, 0).last_error);
}

static void set_field(unsigned first, unsigned end, const char *field, const char *value)
{
	struct raw_reply reply;
	on_servers(first, end, server_ask(it, &reply, "HSET", "redlock:set", field, value, NULL));
}

TEST(who_does_not_belong_here_is_told_why)
{
	static const struct {
		const char *field, *value; /* of the record of all nodes */
		unsigned nodes, quorum;
		uint64_t ttl_ms;
		enum redlock_vote_code vote;
		const char *why;
	} cases[] = {
	    {"mode", "guard", 4, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "other members"},
	    {"mode", "guard", 3, 3, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "another quorum"},
	    {"mode", "guard", 3, 0, MAX_TTL_MS + 1, REDLOCK_VOTE_LONG_TTL, ""},
	    {"mode", "plain", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_UNGUARDED, "taken back"},
	    {"mode", "removed", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "was removed"},
	    {"version", "2", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "newer version"},
	    {"node", "unix:/another/0", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "another member"},
	    {"pass", "-:8899aabbccddeeff", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "no run_id"},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		servers_heal(&servers);
		write_records(3);
		set_field(0, 3, cases[i].field, cases[i].value);
		struct redlock_options options = fixture_client(servers.urls, cases[i].nodes);
		options.guard = REDLOCK_GUARD_REQUIRE;
		options.node_timeout_ms = 300;
		options.quorum = cases[i].quorum;
		expect_refused(&options, cases[i].ttl_ms, cases[i].vote, cases[i].why);
	}
}

TEST(a_set_without_records)
{
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.guard = REDLOCK_GUARD_REQUIRE;
	expect_refused(&options, WAIT_LONG_TTL_MS, REDLOCK_VOTE_UNGUARDED, "redlock init");
	options.guard = REDLOCK_GUARD_AUTO;
	own_client *client = fixture_open_with(&options);
	own_lock *lock = fixture_lock(client, "job", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	on_servers(0, 3, assert_false(server_has(it, "redlock:set")));
}

/* A majority answers without a record, and later one node has one: that one decides. */
TEST(a_record_is_seen_late)
{
	write_records(3);
	on_servers(0, 1, server_must(it, "OK", "FLUSHALL", NULL));
	own_client *client = open_guarded(3, REDLOCK_GUARD_AUTO);
	own_lock *lock = fixture_held(client, "job", MAX_TTL_MS, 0);
	assert_false(server_has(&servers.server[0], "job"));
	expect_ok(lock, redlock_release(lock));
}

/* A user who may not read the record sees no guard, and none may be sure of one. */
TEST(a_record_out_of_reach)
{
	write_records(3);
	on_servers(0, 3,
	           server_must(it, "OK", "ACL", "SETUSER", "jobs", "on", "nopass", "~job*", "&*", "+@all", NULL));
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.user = "jobs";
	options.password = "x";
	options.guard = REDLOCK_GUARD_REQUIRE;
	expect_refused(&options, WAIT_LONG_TTL_MS, REDLOCK_VOTE_NOPERM, "NOPERM");
}

/* ---- repair ---- */

static const char *field_of(const struct server *server, const char *field)
{
	static struct raw_reply reply;
	return server_ask(server, &reply, "HGET", "redlock:set", field, NULL);
}

/* The counters of five nodes are read from three that were never away; of three nodes one is too few. */
TEST(counters_are_repaired_from_a_quorum)
{
	for (unsigned count = 3; count <= 5; count += 2) {
		servers_heal(&servers);
		write_records(count);
		set_field(count - 1, count, "gmax", "5000");
		own_client *client = open_guarded(count, REDLOCK_GUARD_REQUIRE);
		on_servers(0, 2, flush(it));
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		for (unsigned i = 0; i < 2; i++)
			assert_soon((redlock_acquire(lock) != 0 || redlock_release(lock) == 0) &&
			            fixture_vote(lock, i) == REDLOCK_VOTE_YES);
		for (unsigned i = 0; i < 2; i++) {
			assert_string_equal(field_of(&servers.server[i], "floor"), count == 5 ? "5000" : "(nil)");
			assert_string_equal(field_of(&servers.server[i], "gmax"), count == 5 ? "5000" : "(nil)");
			assert_int_equal(strcmp(field_of(&servers.server[i], "qid"), "(nil)") == 0, count == 5);
		}
	}
}

/* Members have changed since this client met the other node: it learns so when it reads the numbers there. */
TEST(who_learns_of_a_newer_configuration_repairs_nothing)
{
	struct raw_reply reply;
	write_records(2);
	set_field(0, 2, "ttl", "400");
	own_client *client = open_guarded(2, REDLOCK_GUARD_REQUIRE);
	own_lock *lock = fixture_lock(client, "job", 400, 0);
	expect_pair(lock);
	flush(&servers.server[0]);
	for (unsigned i = 0; i < 2; i++)
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	expect_result(lock, REDLOCK_E_GONE, redlock_query(lock)); /* takes in what is said of the quarantine */
	server_ask(&servers.server[1], &reply, "HSET", "redlock:set", "step", "2", "members", "others", "config",
	           "newer", "pass", "newer:newer", NULL);
	wait_ms(420);
	for (unsigned i = 0; i < 20; i++) {
		expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));
		wait_ms(2);
	}
	assert_string_equal(field_of(&servers.server[0], "config"), "(nil)");
}

SERVER_TESTS(5)
