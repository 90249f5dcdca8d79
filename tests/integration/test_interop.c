/* SPDX-License-Identifier: MIT */
/* Other programs on the same key: they exclude us and we exclude them, whatever they write as a value.
 * (python3-redis: tests/cli/interop.bats.) */
#include <stdio.h>

#include "child.h"
#include "client.h"
#include "fixture.h"

#define UNLOCK_SCRIPT                                                                                        \
	"if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return 0 end"

static redlock_client *client; /* of all three nodes */
static redlock_client *single; /* of the first alone */

static redlock_lock *new_lock(redlock_client *of, const char *name)
{
	return fixture_lock(of, name, WAIT_LONG_TTL_MS, 0);
}

/* ---- redis-cli ---- */

TEST(others_are_refused_while_we_hold)
{
	struct raw_reply reply;
	own_lock *lock = new_lock(client, "ours");
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, 3, "ours") == 3);
	for (unsigned i = 0; i < 3; i++) {
		struct server *server = &servers.server[i];
		assert_string_equal(server_ask(server, &reply, "SET", "ours", "theirs", "NX", "PX", "1000", NULL),
		                    "(nil)");
		assert_string_equal(server_ask(server, &reply, "SETNX", "ours", "1700000000", NULL), "0");
		assert_string_equal(server_ask(server, &reply, "EVAL", UNLOCK_SCRIPT, "1", "ours", "theirs", NULL),
		                    "0");
	}
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	for (unsigned i = 0; i < 3; i++) {
		assert_driven(client, !server_has(&servers.server[i], "ours"));
		server_must(&servers.server[i], "OK", "SET", "ours", "theirs", "NX", "PX", "100000", NULL);
	}
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	on_servers(0, 3, server_must(it, "1", "EVAL", UNLOCK_SCRIPT, "1", "ours", "theirs", NULL));
	expect_ok(lock, redlock_acquire(lock));
}

/* An operator with redis-cli and the classic script, who has our token, gives our lock back. */
TEST(redis_cli_releases_with_our_token)
{
	char output[256];
	own_lock *lock = new_lock(client, "cli");
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, 3, "cli") == 3);
	struct fixture_token token = fixture_token(lock);
	for (unsigned i = 0; i < 3; i++) {
		const char *argv[] = {"redis-cli", "-s", servers.server[i].socket, "EVAL", UNLOCK_SCRIPT, "1", "cli",
		                      token.text,  NULL};
		assert_int_equal(child_run(argv, output, sizeof output), 0);
		assert_string_equal(output, "1");
	}
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
}

/* ---- what others write ---- */

struct holder {
	const char *whose;
	const char *words[6]; /* the command that makes the key `theirs`; its answer does not matter */
	const char *type;
};

static const struct holder holders[] = {
    {"redsync: base64", {"SET", "theirs", "mB3Ss1mT0l3kVw==", "NX", "PX", "100000"}, "string"},
    {"node-redlock: hex", {"SET", "theirs", "c6f1a08cbd0dbc8c3d6b6d3b41a0cc6a", "NX"}, "string"},
    {"redis-py: hex of a UUID",
     {"SET", "theirs", "5f3a0a9e7a1e11ee8c990242ac120002", "NX", "PX", "100000"},
     "string"},
    {"a UUID", {"SET", "theirs", "123e4567-e89b-12d3-a456-426614174000", "NX"}, "string"},
    {"redlock-cpp: a name", {"SET", "theirs", "host:4711:1", "NX"}, "string"},
    {"binary", {"SET", "theirs", "\x80\xff\x01\r\n\xfe"}, "string"},
    {"empty", {"SET", "theirs", ""}, "string"},
    {"a number", {"SET", "theirs", "42"}, "string"},
    {"an old SETNX with the time it ends", {"SETNX", "theirs", "1700000000"}, "string"},
    {"the same, long over", {"SETNX", "theirs", "1"}, "string"},
    {"Redisson: a hash", {"HSET", "theirs", "d9c4b1a2-2f6e-4b5e-9d0a-1c2d3e4f5a6b:1", "1"}, "hash"},
    {"a list", {"RPUSH", "theirs", "x"}, "list"},
    {"a set", {"SADD", "theirs", "x"}, "set"},
    {"a sorted set", {"ZADD", "theirs", "1", "x"}, "zset"},
    {"a stream", {"XADD", "theirs", "1-1", "field", "value"}, "stream"},
};

static void make_key(const struct server *server, const struct holder *holder)
{
	struct raw_arg args[6];
	struct raw_reply reply;
	size_t count = 0;
	for (; count < 6 && holder->words[count] != NULL; count++)
		args[count] = (struct raw_arg){holder->words[count], strlen(holder->words[count])};
	server_call(server, args, count, &reply);
	if (reply.type == '-' || !server_has(server, "theirs"))
		fail_msg("%s: %s", holder->whose, reply.text);
}

static void respect(const struct holder *holder, int mode)
{
	struct raw_reply before;
	struct raw_reply after;
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	redlock_lock *lock = NULL;
	options.mode = mode;
	expect_ok(NULL, redlock_lock_new(client, "theirs", &options, &lock));
	for (unsigned i = 0; i < 3; i++)
		make_key(&servers.server[i], holder);
	server_ask(&servers.server[0], &before, "DUMP", "theirs", NULL);
	int result = redlock_acquire(lock);
	if (result != REDLOCK_E_BUSY)
		fail_msg("%s: %s", holder->whose, redlock_error_name(result));
	assert_true(fixture_votes_of_kind(lock, 3, REDLOCK_KIND_NO) >= 2);

	/* The owner of the key is visible. */
	struct redlock_finding finding = {.size = sizeof finding};
	expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));
	expect_ok(lock, redlock_lock_finding(lock, 0, &finding));
	assert_true(finding.known);
	assert_string_equal(finding.type, holder->type);
	bool expires = holder->words[4] != NULL && strcmp(holder->words[4], "PX") == 0;
	if (expires)
		assert_in_range(finding.pttl_ms, 1, 100000);
	else
		assert_int_equal(finding.pttl_ms, -1);
	if (strcmp(holder->type, "string") == 0) {
		assert_int_equal(finding.value_len, strlen(holder->words[2]));
		assert_int_equal(finding.value_kept, strlen(holder->words[2]));
		assert_memory_equal(finding.value, holder->words[2], finding.value_kept);
	} else if (strcmp(holder->type, "hash") == 0) {
		assert_memory_equal(finding.value, "d9c4b1a2-2f6e-4b5e-9d0a-1c2d3e4f5a6b:1=1", 40);
	}
	redlock_lock_free(lock);
	redlock_drain(client, WAIT_SOON_MS);

	/* The key was not touched. */
	server_ask(&servers.server[0], &after, "DUMP", "theirs", NULL);
	assert_int_equal(after.length, before.length);
	assert_memory_equal(after.text, before.text, before.length);
	on_servers(0, 3, server_must(it, "1", "DEL", "theirs", NULL));
}

TEST(other_holders_are_respected)
{
	for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++)
		for (int mode = REDLOCK_EXCLUSIVE; mode <= REDLOCK_SHARED; mode++)
			respect(&holders[i], mode);
}

TEST(long_foreign_value)
{
	static char value[100001];
	struct redlock_finding finding = {.size = sizeof finding};
	memset(value, 'v', sizeof value - 1);
	on_servers(0, 3, server_must(it, "OK", "SET", "long", value, NULL));
	own_lock *lock = new_lock(client, "long");
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));
	expect_ok(lock, redlock_lock_finding(lock, 0, &finding));
	assert_int_equal(finding.value_len, 100000);
	assert_int_equal(finding.value_kept, sizeof finding.value);
	assert_memory_equal(finding.value, value, finding.value_kept);
}

/* A value like ours, but not ours: one more or one less byte makes it another's. */
TEST(values_are_compared_whole)
{
	own_lock *lock = new_lock(single, "whole");
	for (int variant = 0; variant < 4; variant++) {
		expect_ok(lock, redlock_acquire(lock));
		struct fixture_token token = fixture_token(lock);
		char value[64];
		snprintf(value, sizeof value,
		         variant == 0   ? "%s "
		         : variant == 1 ? "%.39s"
		         : variant == 2 ? "%s|x"
		                        : "x%.39s",
		         token.text);
		server_must(&servers.server[0], "OK", "SET", "whole", value, NULL);
		expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
		expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
		assert_true(server_has_value(&servers.server[0], "whole", value));
		server_must(&servers.server[0], "1", "DEL", "whole", NULL);
	}
}

/* ---- how soon it is noticed that another program has released ---- */

/* The user `worker` with these rights more than those for keys. */
static redlock_client *open_worker(const char *channel)
{
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.user = "worker";
	options.password = "pw";
	on_servers(0, 3,
	           server_must(it, "OK", "ACL", "SETUSER", "worker", "reset", "on", ">pw", "+@all", "~*",
	                       "&redlock:wake:*", channel, NULL));
	return fixture_open_with(&options);
}

/* The first waiter in line pauses, and does not ask for a while. */
static bool sleeps(const redlock_lock *lock)
{
	enum { LONG_MS = 150 };
	const struct rl_lock *l = &lock->core;
	return l->phase == RL_PAUSED && l->queue.place == 1 &&
	       l->wait.retry_at_ns > wait_now_ns() + rl_time_ms(LONG_MS);
}

/* At once where the servers notify, else by the next question that is due. The longest waiter hears nothing
 * twice, and one that may not hear of keys is still woken by messages. */
TEST(a_key_that_others_delete)
{
	static const struct {
		const char *told, *channel, *how[3];
		bool follows, soon;
	} rows[] = {
	    {"Kgx", "&__keyspace@*__:theirs", {"DEL", "theirs"}, true, true},
	    {"Kg", "&*", {"UNLINK", "theirs"}, true, true},
	    {"KA", "&*", {"GETDEL", "theirs"}, true, true},
	    {"Kgx", "&*", {"PEXPIRE", "theirs", "-1"}, true, true},
	    {"KA", "&*", {"RENAME", "theirs", "other"}, true, true},
	    {"Egx", "&*", {"DEL", "theirs"}, true, false},
	    {"", "&*", {"DEL", "theirs"}, true, false},
	    {"KA", "&redlock:wake:*", {"DEL", "theirs"}, false, false},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *const *how = rows[i].how;
		struct redlock_event event = {.size = sizeof event};
		struct raw_reply reply;
		on_servers(0, 3, {
			server_must(it, "OK", "CONFIG", "SET", "notify-keyspace-events", rows[i].told, NULL);
			server_must(it, "OK", "SET", "theirs", "x", "NX", "PX", "100000", NULL);
		});
		own_client *worker = open_worker(rows[i].channel);
		own_lock *lock = fixture_lock(worker, "theirs", WAIT_LONG_TTL_MS, REDLOCK_FOREVER);
		expect_ok(lock, redlock_start_acquire(lock));
		assert_driven(worker, lock->follows != 0 && sleeps(lock));
		const struct rl_listener *ears = worker->nodes.list[lock->core.queue.gate].listener;
		assert_true(ears->no_keys != rows[i].follows &&
		            rl_node_hears(&worker->nodes.list[lock->core.queue.gate]));
		uint64_t since_ns = wait_now_ns(), due_ns = lock->core.wait.retry_at_ns;
		on_servers(0, 3, server_ask(it, &reply, how[0], how[1], how[2], NULL));
		assert_driven(worker, redlock_next(worker, &event) == 1);
		assert_int_equal(event.result, 0);
		if ((wait_now_ns() < due_ns) != rows[i].soon)
			fail_msg("row %u: %d ms", i, (int)wait_elapsed_ms(since_ns));
		assert_int_equal(lock->follows, 0);
		expect_ok(lock, redlock_start_release(lock));
		expect_settled(worker, 3, "theirs");
	}
	on_servers(0, 3, server_must(it, "OK", "CONFIG", "SET", "notify-keyspace-events", "", NULL));
}

static void start(void)
{
	client = fixture_open(servers.urls, 3, FIXTURE_NODE_TIMEOUT_MS);
	single = fixture_open(servers.tcp_urls, 1, FIXTURE_NODE_TIMEOUT_MS);
}

static void stop(void)
{
	redlock_close(single);
	redlock_close(client);
}

SERVER_TESTS(3, .start = start, .stop = stop)
