/* SPDX-License-Identifier: MIT */
/* After fork(2) the child's calls are refused and send nothing, and the parent does not notice. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "child.h"
#include "client.h"
#include "fixture.h"

enum { NODES = 3 };

/* Every call that a child could make. Returns the number of the first that is not refused, 0 when all are. */
static int refused_in_child(redlock_client *client, redlock_lock *held, redlock_lock *idle)
{
	struct redlock_node_status status = {.size = sizeof status};
	struct redlock_vote vote = {.size = sizeof vote};
	struct redlock_finding finding = {.size = sizeof finding};
	struct redlock_event event = {.size = sizeof event};
	redlock_lock *made = NULL;
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t length;
	const int results[] = {
	    redlock_lock_new(client, "child", NULL, &made),
	    redlock_acquire(idle),
	    redlock_extend(held, 0),
	    redlock_release(held),
	    redlock_query(held),
	    redlock_cancel(held),
	    redlock_start_acquire(idle),
	    redlock_start_extend(held, 0),
	    redlock_start_release(held),
	    redlock_start_query(held),
	    redlock_process(client),
	    redlock_next(client, &event),
	    redlock_drain(client, 10),
	    redlock_node_status(client, 0, &status),
	    redlock_lock_vote(held, 0, &vote),
	    redlock_lock_finding(held, 0, &finding),
	    redlock_lock_token(held, token, sizeof token, &length),
	    redlock_keeper_start(client),
	    redlock_notice_fd(client),
	    redlock_fd(client),
	    redlock_client_last_error(client, NULL, 0),
	};
	for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
		if (results[i] != REDLOCK_E_FORKED)
			return (int)i + 1;
	}
	if (redlock_remaining_ms(held) != 0 || redlock_deadline_ns(held) != 0)
		return 50; /* the child holds nothing */
	if (redlock_node_count(client) != 0 || redlock_quorum(client) != 0)
		return 51; /* as for NULL */
	return 0;
}

static long long commands_processed(const struct server *server)
{
	struct raw_reply reply;
	server_ask(server, &reply, "INFO", "stats", NULL);
	const char *line = strstr(reply.text, "total_commands_processed:");
	assert_non_null(line);
	return strtoll(line + strlen("total_commands_processed:"), NULL, 10);
}

static void child_in_between(redlock_client *client, redlock_lock *held, redlock_lock *idle, bool close_first)
{
	pid_t pid = child_fork();
	if (pid == 0) {
		int wrong = refused_in_child(client, held, idle);
		if (close_first)
			redlock_close(client);
		redlock_lock_free(held);
		redlock_lock_leave(idle);
		if (!close_first)
			redlock_close(client);
		_exit(wrong);
	}
	assert_int_equal(child_join(pid), 0);
}

static void expect_untouched(redlock_client *client, redlock_lock *held, redlock_lock *idle, bool close_first)
{
	struct fixture_token token = fixture_token(held);
	long long before[NODES];
	assert_driven(client, servers_with_value(&servers, NODES, "parent", token.text) == NODES);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < NODES; i++)
		before[i] = commands_processed(&servers.server[i]);
	child_in_between(client, held, idle, close_first);
	for (unsigned i = 0; i < NODES; i++) /* one is the question itself */
		assert_int_equal(commands_processed(&servers.server[i]), before[i] + 1);
	assert_int_equal(servers_with_value(&servers, NODES, "parent", token.text), NODES);
	assert_true(redlock_remaining_ms(held) > 0);
}

static void run(bool keeper, bool close_first)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *held = fixture_lock(client, "parent", WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	redlock_lock *idle = fixture_lock(client, "idle", WAIT_LONG_TTL_MS, 0);
	if (keeper)
		expect_ok(NULL, redlock_keeper_start(client));
	expect_ok(held, redlock_acquire(held));
	expect_untouched(client, held, idle, close_first);
	/* The parent goes on over the same connections. */
	struct raw_reply reply;
	long long connections = 0;
	for (unsigned i = 0; i < NODES; i++) {
		server_ask(&servers.server[i], &reply, "CLIENT", "LIST", "TYPE", "normal", NULL);
		for (const char *line = reply.text; (line = strstr(line, "id=")) != NULL; line++)
			connections++;
	}
	assert_true(connections >= 2LL * NODES);
	expect_ok(held, redlock_extend(held, 0));
	expect_ok(idle, redlock_acquire(idle));
	expect_ok(held, redlock_release(held));
	redlock_lock_free(idle);
	redlock_lock_free(held);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(server_key_count(&servers.server[0]), 0);
}

TEST(child_frees_then_closes)
{
	run(false, false);
}

TEST(child_closes_then_frees)
{
	run(false, true);
}

/* The keeper's thread does not exist in the child: its close must not wait for it. */
TEST(child_of_a_parent_with_keeper)
{
	run(true, false);
	run(true, true);
}

/* In the child: drops the parent's client, opens its own, and meets the parent's lock as any process would.
 */
static int meet_parent(redlock_client *parents)
{
	struct redlock_lock_options lock_options = fixture_options(WAIT_LONG_TTL_MS);
	redlock_client *own = NULL;
	redlock_lock *same = NULL;
	redlock_close(parents);
	struct redlock_options options = fixture_client(servers.urls, NODES);
	if (redlock_open(&options, &own) != 0 || redlock_lock_new(own, "shared", &lock_options, &same) != 0)
		return 1;
	int result = redlock_acquire(same);
	redlock_lock_free(same);
	redlock_close(own);
	return result == REDLOCK_E_BUSY ? 0 : 2;
}

TEST(child_opens_a_client_of_its_own)
{
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_held(client, "shared", WAIT_LONG_TTL_MS, 0);
	pid_t pid = child_fork();
	if (pid == 0) {
		int wrong = meet_parent(client);
		redlock_lock_free(lock);
		_exit(wrong);
	}
	assert_int_equal(child_join(pid), 0);
	expect_ok(lock, redlock_release(lock));
}

/* ---- other threads ---- */

static sem_t inside, leave;

static void *change(void *argument)
{
	redlock_client *client = argument;
	rl_thread_lock(&client->loop.mutex);
	sem_post(&inside);
	sem_wait(&leave);
	rl_thread_unlock(&client->loop.mutex);
	return NULL;
}

/* A change that another thread has half done at the fork is not touched. */
TEST(child_of_a_client_that_was_being_changed)
{
	static char halfway;
	own_client *client = fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_held(client, "shared", WAIT_LONG_TTL_MS, 0);
	pthread_t thread;
	sem_init(&inside, 0, 0);
	sem_init(&leave, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, change, client), 0);
	sem_wait(&inside);
	pid_t pid = child_fork();
	if (pid == 0) {
		lock->seen = (struct rl_seen *)&halfway;
		redlock_lock_free(lock);
		redlock_close(client);
		_exit(0);
	}
	assert_int_equal(child_join(pid), 0);
	sem_post(&leave);
	pthread_join(thread, NULL);
	expect_ok(lock, redlock_release(lock));
}

SERVER_TESTS(NODES)
