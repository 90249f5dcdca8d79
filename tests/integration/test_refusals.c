/* SPDX-License-Identifier: MIT */
/* Real servers that refuse writes, each for its own reason: a missing vote that says so, until it is over. */
#include <stdio.h>
#include <sys/stat.h>

#include "fixture.h"

static redlock_client *client;

#define BAD (&servers.server[0])

/* Node 1 grants and node 2 is held by somebody else, so that the vote of node 0 is waited for. A value of its
 * own makes the handle try once, whatever the others might still give back. */
static enum redlock_vote_code vote_of_bad_node(void)
{
	redlock_lock *lock = fixture_value_lock(client, "refused", WAIT_LONG_TTL_MS, "ours");
	server_must(&servers.server[2], "OK", "SET", "refused", "somebody else", NULL);
	int result = redlock_acquire(lock);
	enum redlock_vote_code vote = fixture_vote(lock, 0);
	if (vote != REDLOCK_VOTE_YES)
		expect_result(lock, REDLOCK_E_BUSY, result);
	if (result == 0)
		expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_drain(client, WAIT_SOON_MS);
	server_must(&servers.server[2], "1", "DEL", "refused", NULL);
	assert_false(server_has(&servers.server[1], "refused"));
	return vote;
}

/* A probe finds the same reason, and writes nothing anywhere. */
static void expect_probe(enum redlock_vote_code want)
{
	own_lock *lock = fixture_lock(client, "probed", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	struct fixture_token token = fixture_token(lock);
	long long before = server_key_count(&servers.server[1]);
	expect_ok(lock, redlock_probe(lock));
	assert_vote_is(fixture_vote(lock, 0), want);
	assert_vote_is(fixture_vote(lock, 1), REDLOCK_VOTE_YES);
	expect_result(lock, REDLOCK_E_STATE, redlock_release(lock)); /* it holds nothing */
	assert_string_equal(fixture_token(lock).text, token.text);
	assert_int_equal(server_key_count(&servers.server[1]), before);
}

static void expect_vote(enum redlock_vote_code want)
{
	expect_probe(want);
	struct redlock_node_status status = {.size = sizeof status};
	assert_vote_is(vote_of_bad_node(), want);
	expect_ok(NULL, redlock_node_status(client, 0, &status));
	if (want != REDLOCK_VOTE_YES)
		assert_int_equal(status.last_failure, want);
	/* The others are a quorum without it. */
	own_lock *lock = fixture_lock(client, "quorum", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
}

TEST(healthy)
{
	expect_vote(REDLOCK_VOTE_YES);
}

TEST(maxmemory)
{
	server_must(BAD, "OK", "CONFIG", "SET", "maxmemory", "1", NULL);
	expect_vote(REDLOCK_VOTE_OOM);
	server_must(BAD, "OK", "CONFIG", "SET", "maxmemory", "0", NULL);
	expect_vote(REDLOCK_VOTE_YES);
}

/* A lock that is held when the memory runs out can still be extended and released there. */
TEST(maxmemory_while_held)
{
	own_lock *lock = fixture_held(client, "full", WAIT_LONG_TTL_MS, 0);
	on_servers(0, 3, server_must(it, "OK", "CONFIG", "SET", "maxmemory", "1", NULL));
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_release(lock));
	assert_driven(client, servers_with_key(&servers, 3, "full") == 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	on_servers(0, 3, server_must(it, "OK", "CONFIG", "SET", "maxmemory", "0", NULL));
}

TEST(replica)
{
	server_must(BAD, "OK", "REPLICAOF", "127.0.0.1", "1", NULL); /* nothing is there */
	expect_vote(REDLOCK_VOTE_READONLY);
	server_must(BAD, "OK", "REPLICAOF", "NO", "ONE", NULL);
	expect_vote(REDLOCK_VOTE_YES);
}

TEST(too_few_replicas)
{
	server_must(BAD, "OK", "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
	expect_vote(REDLOCK_VOTE_REPLICAS);
	server_must(BAD, "OK", "CONFIG", "SET", "min-replicas-to-write", "0", NULL);
	expect_vote(REDLOCK_VOTE_YES);
}

/* A background save that failed: its file cannot be written, because a directory has the name. */
TEST(cannot_persist)
{
	char path[160];
	struct raw_reply reply;
	snprintf(path, sizeof path, "%s/dump.rdb", BAD->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	server_must(BAD, "OK", "CONFIG", "SET", "save", "3600 1000", NULL);
	server_must(BAD, "Background saving started", "BGSAVE", NULL);
	assert_soon(strstr(server_ask(BAD, &reply, "INFO", "persistence", NULL), "rdb_last_bgsave_status:err") !=
	            NULL);
	expect_vote(REDLOCK_VOTE_MISCONF);
	server_must(BAD, "OK", "CONFIG", "SET", "save", "", NULL);
	expect_vote(REDLOCK_VOTE_YES);
}

TEST(long_script)
{
	struct raw busy;
	struct raw_reply reply;
	const char *const words[] = {"EVAL", "while true do end", "0"};
	struct raw_arg args[3];
	for (int i = 0; i < 3; i++)
		args[i] = (struct raw_arg){words[i], strlen(words[i])};
	server_must(BAD, "OK", "CONFIG", "SET", "busy-reply-threshold", "20", NULL);
	assert_int_equal(raw_open(&busy, BAD->socket, WAIT_SOON_MS), 0);
	assert_int_equal(raw_send(&busy, args, 3), 0);
	assert_soon(strncmp(server_ask(BAD, &reply, "PING", NULL), "BUSY", 4) == 0);
	expect_vote(REDLOCK_VOTE_BLOCKED);
	server_must(BAD, "OK", "SCRIPT", "KILL", NULL);
	raw_close(&busy);
	assert_soon(strcmp(server_ask(BAD, &reply, "PING", NULL), "PONG") == 0);
	expect_vote(REDLOCK_VOTE_YES);
}

/* Writes that a server delays come too late for the attempt; and are taken back when they come. */
TEST(paused_writes)
{
	own_client *quick = fixture_open(servers.urls, 3, 500);
	own_lock *lock = fixture_lock(quick, "later", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_pair(lock);
	redlock_drain(quick, WAIT_SOON_MS);
	server_must(&servers.server[2], "OK", "SET", "later", "somebody else", NULL);
	server_must(BAD, "OK", "CLIENT", "PAUSE", "600000", "WRITE", NULL);
	own_lock *once = fixture_lock(quick, "later", WAIT_LONG_TTL_MS, 0);
	expect_result(once, REDLOCK_E_BUSY, redlock_acquire(once));
	assert_vote(once, 0, REDLOCK_VOTE_TIMEOUT);
	server_must(BAD, "OK", "CLIENT", "UNPAUSE", NULL);
	expect_settled(quick, 2, "later");
}

/* The connection whose last command is SET. */
static long setter(void)
{
	struct raw_reply reply;
	const char *list = server_ask(BAD, &reply, "CLIENT", "LIST", NULL), *at = strstr(list, " cmd=set ");
	while (at != NULL && at > list && at[-1] != '\n')
		at--;
	return at != NULL ? strtol(at + 3, NULL, 10) : 0; /* id=5 addr=... */
}

/* Redis 7.0 answers a request twice that CLIENT UNBLOCK frees from a CLIENT PAUSE: with an error, and when it
 * executes it. The second answer is not one to the next request. */
TEST(unblocked_while_paused)
{
	struct raw_reply reply;
	char id[24];
	redlock_client *one = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *locks[] = {fixture_lock(one, "unblocked", WAIT_LONG_TTL_MS, 0),
	                         fixture_lock(one, "taken", WAIT_LONG_TTL_MS, 0)};
	expect_ok(locks[0], redlock_acquire(locks[0]));
	expect_ok(locks[0], redlock_release(locks[0]));
	server_must(BAD, "OK", "SET", "taken", "somebody else", NULL);
	server_must(BAD, "OK", "CLIENT", "PAUSE", "600000", "WRITE", NULL);
	for (unsigned i = 0; i < 2; i++)
		expect_ok(locks[i], redlock_start_acquire(locks[i]));
	assert_driven(one, setter() != 0);
	snprintf(id, sizeof id, "%ld", setter());
	server_ask(BAD, &reply, "CLIENT", "UNBLOCK", id, "ERROR", NULL);
	server_must(BAD, "OK", "CLIENT", "UNPAUSE", NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct redlock_event event = {.size = sizeof event};
		assert_soon(redlock_process(one) == 0 && redlock_next(one, &event) == 1);
		assert_true(event.lock == locks[0] || event.result < 0);
		if (event.result == 0)
			expect_ok(locks[0], redlock_release(locks[0]));
	}
	assert_int_equal(redlock_drain(one, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < 2; i++)
		redlock_lock_free(locks[i]);
	redlock_close(one);
	server_must(BAD, "1", "DEL", "taken", NULL);
	assert_false(server_has(BAD, "unblocked"));
}

/* A server that takes no more connections says so and closes, maybe before the reason can be read. Its
 * connections stay, and new ones come in when there is room again. */
TEST(too_many_clients)
{
	struct raw control;
	struct raw_reply reply;
	const char *const limits[] = {"1", "1000"};
	assert_int_equal(raw_open(&control, BAD->socket, WAIT_SOON_MS), 0);
	for (int i = 0; i < 2; i++) {
		struct raw_arg args[] = {
		    {"CONFIG", 6}, {"SET", 3}, {"maxclients", 10}, {limits[i], strlen(limits[i])}};
		assert_int_equal(raw_send(&control, args, 4), 0);
		assert_int_equal(raw_receive(&control, &reply), 0);
		assert_string_equal(reply.text, "OK");
		redlock_client *old = client;
		client = fixture_open(servers.urls, 3, FIXTURE_NODE_TIMEOUT_MS);
		enum redlock_vote_code vote = vote_of_bad_node();
		if (i == 0)
			assert_int_equal(redlock_vote_kind(vote), REDLOCK_KIND_MISSING);
		else
			assert_vote_is(vote, REDLOCK_VOTE_YES);
		redlock_close(client);
		client = old;
		assert_vote_is(vote_of_bad_node(), REDLOCK_VOTE_YES);
	}
	raw_close(&control);
}

/* All nodes refuse, each for another reason: no quorum, with every reason. */
TEST(all_refuse)
{
	server_must(&servers.server[0], "OK", "CONFIG", "SET", "maxmemory", "1", NULL);
	server_must(&servers.server[1], "OK", "REPLICAOF", "127.0.0.1", "1", NULL);
	server_must(&servers.server[2], "OK", "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
	own_lock *lock = fixture_lock(client, "refused", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	redlock_drain(client, WAIT_SOON_MS); /* late votes are still counted */
	assert_vote(lock, 0, REDLOCK_VOTE_OOM);
	assert_vote(lock, 1, REDLOCK_VOTE_READONLY);
	assert_vote(lock, 2, REDLOCK_VOTE_REPLICAS);
}

static void repair(void)
{
	for (unsigned i = 0; i < 3; i++) {
		server_must(&servers.server[i], "OK", "CONFIG", "SET", "maxmemory", "0", "min-replicas-to-write", "0",
		            "save", "", NULL);
		server_must(&servers.server[i], "OK", "REPLICAOF", "NO", "ONE", NULL);
	}
}

static void start(void)
{
	client = fixture_open(servers.urls, 3, FIXTURE_NODE_TIMEOUT_MS);
}

static void stop(void)
{
	redlock_close(client);
}

SERVER_TESTS(3, .start = start, .stop = stop, .after = repair)
