/* SPDX-License-Identifier: MIT */
/* After fork(2) the child's calls are refused and send nothing, and the parent does not notice. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "child.h"
#include "client.h"
#include "fixture.h"

enum { NODES = 3 };

/* A client of one node set, or of three sets of a server each, of which the last joins the others. */
enum sets { ONE_SET, THREE_SETS };

/* The client and the handles of the parent. */
struct parent {
	redlock_client *client;
	redlock_lock *held, *idle;
	const char *name;     /* of the lock that is held */
	unsigned descriptors; /* of the process, without the client */
};

/* How a child begins to give up what it has of its parent's client. */
enum first { FREE, CLOSE, RELEASE_ALL };

/* Every call that a child could make. Returns the number of the first that is not refused, 0 when all are. */
static int refused_in_child(redlock_client *client, redlock_lock *held, redlock_lock *idle)
{
	struct redlock_node_status status = {.size = sizeof status};
	struct redlock_vote vote = {.size = sizeof vote};
	struct redlock_finding finding = {.size = sizeof finding};
	struct redlock_event event = {.size = sizeof event};
	struct redlock_stats stats = {.size = sizeof stats};
	struct redlock_node_stats of_node = {.size = sizeof of_node};
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
	    redlock_turn(client, 1, &event),
	    redlock_drain(client, 10),
	    redlock_node_status(client, 0, &status),
	    redlock_node_stats(client, 0, &of_node),
	    redlock_stats(client, &stats),
	    redlock_set_credentials(client, "u", "p"),
	    redlock_lock_vote(held, 0, &vote),
	    redlock_lock_finding(held, 0, &finding),
	    redlock_lock_token(held, token, sizeof token, &length),
	    redlock_keeper_start(client),
	    redlock_keeper_stop(client),
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

/* Counts descriptors below 256: those of valgrind have high numbers. */
static unsigned open_descriptors(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void set_locked(redlock_client *client, bool locked)
{
	if (locked)
		rl_thread_lock(&client->loop.mutex);
	else
		rl_thread_unlock(&client->loop.mutex);
	for (unsigned i = 0; client->parts != NULL && i < client->parts->count; i++)
		set_locked(client->parts->list[i], locked);
}

/* The keeper's thread is at rest as the process is forked: what it changes then is left to the child. */
static pid_t fork_between_turns(redlock_client *client)
{
	set_locked(client, true);
	pid_t pid = child_fork();
	set_locked(client, false);
	return pid;
}

static void child_in_between(const struct parent *p, enum first first)
{
	pid_t pid = fork_between_turns(p->client);
	if (pid == 0) {
		int wrong = refused_in_child(p->client, p->held, p->idle);
		if (first == CLOSE)
			redlock_close(p->client);
		if (first == RELEASE_ALL)
			redlock_release_all(p->client);
		redlock_lock_free(p->held);
		redlock_lock_leave(p->idle);
		if (first != CLOSE)
			redlock_close(p->client);
		if (wrong == 0 && open_descriptors() != p->descriptors)
			wrong = 60;
		_exit(wrong);
	}
	assert_int_equal(child_join(pid), 0);
}

static void expect_untouched(const struct parent *p, unsigned keys, enum first first)
{
	struct fixture_token token = fixture_token(p->held);
	long long before[NODES];
	assert_driven(p->client, servers_with_value(&servers, NODES, p->name, token.text) == keys);
	assert_int_equal(redlock_drain(p->client, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < NODES; i++)
		before[i] = commands_processed(&servers.server[i]);
	child_in_between(p, first);
	for (unsigned i = 0; i < NODES; i++) /* one is the question itself */
		assert_int_equal(commands_processed(&servers.server[i]), before[i] + 1);
	assert_int_equal(servers_with_value(&servers, NODES, p->name, token.text), keys);
	assert_true(redlock_remaining_ms(p->held) > 0);
}

static struct redlock_options client_options(enum sets sets)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	if (sets == THREE_SETS)
		fixture_spread(&options);
	return options;
}

/* The first of these names that has so many nodes. */
static const char *name_on(const struct redlock_options *options, size_t nodes)
{
	static char name[32];
	struct redlock_node_set set = {.size = sizeof set};
	const char *urls[REDLOCK_MAX_NODES];
	for (unsigned i = 0; set.url_count != nodes; i++) {
		struct redlock_name list = {name, (size_t)snprintf(name, sizeof name, "parent-%u", i)};
		assert_int_equal(redlock_nodes_of(options, &list, 1, urls, &set), 0);
	}
	return name;
}

/* The parent goes on over the same connections, and hears of them by the same descriptor. */
static void release_by_descriptor(redlock_client *client, redlock_lock *lock)
{
	struct redlock_event event = {.size = sizeof event};
	struct pollfd fd = {.fd = redlock_fd(client), .events = POLLIN};
	expect_ok(lock, redlock_start_release(lock));
	assert_int_equal(redlock_process(client), 0); /* sends it */
	while (redlock_next(client, &event) == 0) {
		if (redlock_timeout_ns(client) > 0)
			assert_int_equal(poll(&fd, 1, WAIT_SOON_MS), 1);
		assert_int_equal(redlock_process(client), 0);
	}
	assert_ptr_equal(event.lock, lock);
	expect_ok(lock, event.result);
}

static unsigned connections(void)
{
	struct raw_reply reply;
	unsigned count = 0;
	for (unsigned i = 0; i < NODES; i++) {
		server_ask(&servers.server[i], &reply, "CLIENT", "LIST", "TYPE", "normal", NULL);
		for (const char *line = reply.text; (line = strstr(line, "id=")) != NULL; line++)
			count++;
	}
	return count - NODES; /* each question has a connection of its own */
}

static void run_sets(enum sets sets, bool keeper, enum first first)
{
	unsigned keys = sets == ONE_SET ? NODES : 2;
	struct redlock_options options = client_options(sets);
	struct parent p = {.name = name_on(&options, keys), .descriptors = open_descriptors()};
	own_client *client = fixture_open_with(&options);
	p.client = client;
	assert_true(redlock_notice_fd(client) >= 0);
	p.held = fixture_lock(client, p.name, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	p.idle = fixture_lock(client, "idle", WAIT_LONG_TTL_MS, 0);
	if (keeper)
		expect_ok(NULL, redlock_keeper_start(client));
	expect_ok(p.held, redlock_acquire(p.held));
	expect_untouched(&p, keys, first);
	assert_int_equal(connections(), redlock_node_count(client));
	expect_ok(p.held, redlock_extend(p.held, 0));
	expect_ok(p.idle, redlock_acquire(p.idle));
	expect_ok(p.idle, redlock_release(p.idle));
	if (keeper) /* its thread reads the descriptor */
		expect_ok(p.held, redlock_release(p.held));
	else
		release_by_descriptor(client, p.held);
	redlock_lock_free(p.idle);
	redlock_lock_free(p.held);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(server_key_count(&servers.server[i]), 0);
}

static void run(bool keeper, enum first first)
{
	run_sets(ONE_SET, keeper, first);
	run_sets(THREE_SETS, keeper, first);
}

TEST(child_frees_then_closes)
{
	run(false, FREE);
}

TEST(child_closes_then_frees)
{
	run(false, CLOSE);
}

TEST(child_releases_all_then_frees)
{
	run(false, RELEASE_ALL);
}

/* The keeper's thread does not exist in the child: its close must not wait for it. */
TEST(child_of_a_parent_with_keeper)
{
	run(true, FREE);
	run(true, CLOSE);
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
