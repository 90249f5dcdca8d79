/* SPDX-License-Identifier: MIT */
/*
 * Servers that run no scripts for us: EVAL denied by ACL, renamed away, denied on some nodes only, and denied
 * while the library is at work. Everything must be as with scripts. Commands that replace scripts on newer
 * servers (DELEX, DELIFEQ) are tested on scripted servers too, since redis-server may be too old to have
 * them.
 */
#include <pthread.h>
#include <stdio.h>

#include "fixture.h"
#include "scripted.h"

enum { NODES = 5, THREADS = 8, NAMES = 3 };

static struct servers renamed; /* no EVAL for anybody */

static void permit(unsigned first, unsigned count, const char *rule)
{
	on_servers(first, first + count, server_must(it, "OK", "ACL", "SETUSER", "default", rule, NULL));
}

static long long calls(const struct server *server, const char *command)
{
	struct raw_reply reply;
	char mark[64];
	server_ask(server, &reply, "INFO", "commandstats", NULL);
	snprintf(mark, sizeof mark, "cmdstat_%s:calls=", command);
	const char *at = strstr(reply.text, mark);
	return at != NULL ? strtoll(at + strlen(mark), NULL, 10) : 0;
}

/* ---- the main path ---- */

static void expect_main_path(struct servers *on, unsigned count, const char *name)
{
	own_client *client = fixture_open(on->urls, count, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, name, 60000, 0);
	own_lock *rival = fixture_lock(client, name, 60000, 0);
	struct redlock_finding finding = {.size = sizeof finding};
	for (int i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		expect_result(rival, REDLOCK_E_BUSY, redlock_acquire(rival));
		expect_ok(lock, redlock_query(lock));
		struct fixture_token token = fixture_token(lock);
		expect_ok(NULL, redlock_lock_finding(lock, 0, &finding));
		assert_string_equal(finding.type, "string");
		assert_int_equal(finding.value_len, token.length);
		assert_memory_equal(finding.value, token.text, token.length);
		assert_in_range(finding.pttl_ms, 30000, 60000);
		expect_ok(lock, redlock_extend(lock, 600000));
		assert_driven(client, server_pttl(&on->server[count - 1], name) > 500000);
		expect_ok(lock, redlock_extend(lock, 60000)); /* never shortens */
		for (unsigned n = 0; n < count; n++)
			assert_driven(client, server_pttl(&on->server[n], name) > 500000);
		expect_ok(lock, redlock_release(lock));
		for (unsigned n = 0; n < count; n++)
			assert_driven(client, !server_has(&on->server[n], name));
	}
	/* somebody else's, and of another type */
	expect_ok(lock, redlock_acquire(lock));
	for (unsigned n = 0; n < count; n++)
		assert_driven(client, server_has(&on->server[n], name));
	for (unsigned n = 0; n < count; n++)
		server_must(&on->server[n], "OK", "SET", name, "another", NULL);
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	redlock_release(lock);
	for (unsigned n = 0; n < count; n++) {
		assert_true(server_has_value(&on->server[n], name, "another"));
		server_must(&on->server[n], "1", "DEL", name, NULL);
		server_must(&on->server[n], "1", "HSET", name, "a", "b", NULL);
	}
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));
	expect_ok(NULL, redlock_lock_finding(lock, 0, &finding));
	assert_string_equal(finding.type, "hash");
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned n = 0; n < count; n++)
		server_must(&on->server[n], "1", "DEL", name, NULL);
}

TEST(denied_by_acl)
{
	permit(0, NODES, "-@scripting");
	long long evals = calls(&servers.server[0], "eval"), execs = calls(&servers.server[0], "exec");
	expect_main_path(&servers, NODES, "acl");
	assert_int_equal(calls(&servers.server[0], "eval"), evals);
	assert_true(calls(&servers.server[0], "exec") > execs);
}

TEST(renamed)
{
	expect_main_path(&renamed, 3, "renamed");
}

TEST(mixed)
{
	permit(0, 2, "+@all");
	permit(2, 3, "-eval");
	expect_main_path(&servers, NODES, "mixed");
	permit(0, NODES, "-@scripting");
	permit(1, 2, "-evalsha");
	permit(1, 2, "+eval");
	expect_main_path(&servers, NODES, "mixed");
}

TEST(changed_at_work)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "changing", 60000, 0);
	permit(0, NODES, "+@all");
	for (int i = 0; i < 6; i++) {
		static const char *const rules[] = {"-eval", "-evalsha", "+@all", "-@scripting", "+evalsha", "+eval"};
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_extend(lock, 0));
		permit(0, NODES, rules[i]);
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		on_servers(0, NODES, assert_driven(client, !server_has(it, "changing")));
	}
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
}

static int unsent(redlock_client *client, unsigned node)
{
	struct redlock_node_status status = fixture_status(client, node);
	return status.owed > 0 ? status.unsent : 0;
}

/* Redis 8.4 and Valkey 9 compare and delete without a script. */
static bool has_native(void)
{
	struct raw_reply reply;
	return strstr(server_ask(&servers.server[0], &reply, "DELEX", NULL), "unknown") == NULL ||
	       strstr(server_ask(&servers.server[0], &reply, "DELIFEQ", NULL), "unknown") == NULL;
}

/* A process that ends would take its second question with it: what has left as a script may be refused, as by
 * the other nodes. Where no node refuses scripts it is on its way, and with a command of its own where the
 * node is not the gate. */
TEST(script_may_be_refused)
{
	for (int refused = 0; refused < 2; refused++) {
		permit(0, NODES, refused ? "-@scripting" : "+@all");
		own_client *client = fixture_open(servers.urls, 3, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_held(client, "slow", 60000, 0);
		on_servers(0, 3, assert_driven(client, server_has(it, "slow")));
		assert_driven(client, fixture_vote(lock, 2) == REDLOCK_VOTE_YES);
		server_pause(&servers.server[2]);
		expect_ok(lock, redlock_release(lock));
		int said = unsent(client, 2);
		server_resume(&servers.server[2]);
		assert_true(said == (refused ? 2 : 0) || (refused && has_native() && said == 0));
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
		on_servers(0, 3, assert_false(server_has(it, "slow")));
	}
}

/* ---- the caller's own value, which is the same each time ---- */

TEST(own_value)
{
	permit(0, NODES, "+@all");
	permit(1, 3, "-@scripting");
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_value_lock(client, "own", 60000, "mine");
	for (int i = 0; i < 100; i++) {
		/* A late release of the round before would delete this round's key. */
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, servers_with_value(&servers, NODES, "own", "mine") == NODES);
		expect_ok(lock, redlock_release(lock));
	}
	expect_settled(client, NODES, "own");
}

/* ---- contention ---- */

static struct {
	redlock_client *client;
	atomic_int inside[NAMES], overlaps, failures;
	atomic_long rounds;
} arena;

static void *contend(void *argument)
{
	unsigned number = *(const unsigned *)argument;
	static const char *const names[NAMES] = {"one", "two", "three"};
	redlock_lock *locks[NAMES];
	struct redlock_lock_options options = fixture_options(60000);
	options.wait_ms = 200000;
	options.retry_min_ms = 1;
	options.retry_max_ms = 20;
	for (unsigned i = 0; i < NAMES; i++)
		arena.failures += redlock_lock_new(arena.client, names[i], &options, &locks[i]) != 0;
	int rounds = wait_is_slow() ? 20 : 60;
	for (int i = 0; i < rounds; i++) {
		unsigned which = (number + (unsigned)i) % NAMES;
		if (redlock_acquire(locks[which]) != 0) {
			arena.failures++;
			continue;
		}
		arena.overlaps += atomic_fetch_add(&arena.inside[which], 1) != 0;
		if (i % 4 == 0)
			arena.failures += redlock_extend(locks[which], 0) != 0;
		atomic_fetch_sub(&arena.inside[which], 1);
		arena.failures += redlock_release(locks[which]) != 0;
		arena.rounds++;
	}
	for (unsigned i = 0; i < NAMES; i++)
		redlock_lock_free(locks[i]);
	return NULL;
}

TEST(contention)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];
	permit(0, NODES, "-@scripting");
	permit(0, 1, "+@all");
	memset(&arena, 0, sizeof arena);
	arena.client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, contend, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(arena.overlaps, 0);
	assert_int_equal(arena.failures, 0);
	assert_int_equal(arena.rounds, THREADS * (wait_is_slow() ? 20 : 60));
	assert_int_equal(redlock_drain(arena.client, WAIT_SOON_MS), 0);
	on_servers(0, NODES, assert_int_equal(server_key_count(it), 0));
	redlock_close(arena.client);
}

/* ---- debts ---- */

/* The connections are cut while a node hangs with a SET and its release: it is released in the end. */
TEST(debts)
{
	permit(0, NODES, "-@scripting");
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "debt", 600000, 0);
	expect_pair(lock);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0); /* each node's rules are known now */
	for (int i = 0; i < 5; i++) {
		struct raw_reply reply;
		server_pause(&servers.server[i]);
		expect_ok(lock, redlock_acquire(lock));
		if (i % 2 == 0)
			expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		server_resume(&servers.server[i]);
		server_ask(&servers.server[i], &reply, "CLIENT", "KILL", "TYPE", "normal", NULL);
		assert_driven(client, !server_has(&servers.server[i], "debt"));
		assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	}
	assert_int_equal(servers_with_key(&servers, NODES, "debt"), 0);
}

/* ---- newer servers, by script ---- */

/* clang-format off */
#define NO_SCRIPTS \
	{.command = "EVAL", .reply = "-NOPERM no right to run the 'eval' command\r\n"}, \
	{.command = "EVALSHA", .reply = "-ERR not this\r\n"}, \
	{.command = "MULTI", .reply = "-ERR not this\r\n"}
/* clang-format on */

static void expect_served(const struct scripted_plan *plan)
{
	own_scripted server;
	scripted_start(&server, plan);
	const char *urls[] = {server.url};
	own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "native", 60000, 0);
	for (int i = 0; i < 3; i++)
		expect_pair(lock);
}

TEST(native)
{
	static const char both[] = "*2\r\n*1\r\n$5\r\ndelex\r\n*1\r\n$7\r\ndelifeq\r\n";
	static const char unknown[] = "-ERR unknown command 'X', with args beginning with: 'native'\r\n";
	static const char denied[] = "-NOPERM this user has no permissions to run the 'delex' command\r\n";
	static const struct scripted_rule no_scripts[] = {NO_SCRIPTS, {.command = NULL}};
	static const struct scripted_rule first_denied[] = {{.command = "COMMAND", .reply = both},
	                                                    {.command = "DELEX", .reply = denied},
	                                                    NO_SCRIPTS,
	                                                    {.command = NULL}};
	/* said to be there, and not: the scripts do it */
	static const struct scripted_rule not_there[] = {{.command = "COMMAND", .reply = both},
	                                                 {.command = "DELEX", .reply = unknown},
	                                                 {.command = "DELIFEQ", .reply = unknown},
	                                                 {.command = NULL}};
	static const struct scripted_rule no_probe[] = {{.command = "COMMAND", .reply = "-NOPERM x\r\n"},
	                                                {.command = "DELEX", .reply = "-ERR not this\r\n"},
	                                                {.command = NULL}};
	static const struct scripted_rule odd_probe[] = {{.command = "COMMAND", .reply = "*0\r\n"},
	                                                 {.command = "DELEX", .reply = "-ERR not this\r\n"},
	                                                 {.command = NULL}};
	expect_served(&(struct scripted_plan){.native = NATIVE_DELEX, .rules = no_scripts});
	expect_served(&(struct scripted_plan){.native = NATIVE_DELIFEQ, .rules = no_scripts});
	expect_served(&(struct scripted_plan){.native = NATIVE_DELIFEQ, .rules = first_denied});
	expect_served(&(struct scripted_plan){.rules = not_there});
	expect_served(&(struct scripted_plan){.rules = no_probe});
	expect_served(&(struct scripted_plan){.rules = odd_probe});
}

static void start(void)
{
	static const char *const without[] = {"--rename-command", "EVAL", "",  "--rename-command",
	                                      "EVALSHA",          "",     NULL};
	servers_start(&renamed, 3, without);
}

static void stop(void)
{
	servers_stop(&renamed);
}

static void heal(void)
{
	servers_heal(&renamed);
	permit(0, NODES, "+@all");
}

SERVER_TESTS(NODES, .start = start, .stop = stop, .after = heal)
