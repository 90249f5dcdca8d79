/* SPDX-License-Identifier: MIT */
/*
 * A Redis Cluster as one node, under load. A vote is that of the shard that has the name, also while its slot
 * moves to another shard and when a replica takes over. Eight processes contend meanwhile, and each holder
 * notes in shared memory that it is in. `integration_cluster_load long` moves slots and fails over ten times
 * as often, and prints what it counted.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "child.h"
#include "cluster_stage.h"

enum { CONTENDERS = 8, NAMES = 3 };

struct arena {
	atomic_int inside, overlaps;
	atomic_long counter, rounds;
};

struct shared_page {
	struct arena arenas[NAMES];
	atomic_bool ends;
	atomic_long refused; /* acquires and releases that did not succeed */
};

static struct shared_page *all;

static const char *names[NAMES] = {"load-a", "load-b", "load-d"};

static void critical_section(struct arena *a)
{
	if (atomic_fetch_add(&a->inside, 1) != 0)
		a->overlaps++;
	long seen = atomic_load(&a->counter);
	for (int i = 0; i < 3; i++)
		sched_yield();
	atomic_store(&a->counter, seen + 1);
	a->rounds++;
	atomic_fetch_sub(&a->inside, 1);
}

struct load {
	const char *const *urls;
	unsigned count;
	bool apart; /* the control: each process has names of its own */
};

static int contend(const struct load *load, int index)
{
	redlock_lock *locks[NAMES];
	struct redlock_options options = fixture_client(load->urls, load->count);
	struct redlock_lock_options lock_options = fixture_options(20000);
	redlock_client *client;
	options.node_timeout_ms = NODE_TIMEOUT_MS;
	lock_options.wait_ms = 60000;
	lock_options.noquorum_wait_ms = 60000;
	lock_options.retry_min_ms = 1;
	lock_options.retry_max_ms = 20;
	if (redlock_open(&options, &client) != 0)
		return 1;
	for (int i = 0; i < NAMES; i++) {
		char name[64];
		snprintf(name, sizeof name, load->apart ? "%s-%d" : "%s", names[i], index);
		if (redlock_lock_new(client, name, &lock_options, &locks[i]) != 0)
			return 2;
	}
	for (unsigned i = (unsigned)index; !all->ends; i++) {
		redlock_lock *lock = locks[i % NAMES];
		if (redlock_acquire(lock) != 0) {
			all->refused++;
			continue;
		}
		critical_section(&all->arenas[i % NAMES]);
		all->refused += redlock_release(lock) != 0;
	}
	redlock_drain(client, WAIT_SOON_MS);
	redlock_close(client);
	return 0;
}

static long rounds(void)
{
	long sum = 0;
	for (int i = 0; i < NAMES; i++)
		sum += all->arenas[i].rounds;
	return sum;
}

static int overlaps(void)
{
	int sum = 0;
	for (int i = 0; i < NAMES; i++)
		sum += all->arenas[i].overlaps + (all->arenas[i].counter != all->arenas[i].rounds);
	return sum;
}

static pid_t contenders[CONTENDERS];

/* Ends what a failed test has left running. */
static void end_contenders(void)
{
	for (int i = 0; i < CONTENDERS; i++)
		child_kill(contenders[i]);
	memset(contenders, 0, sizeof contenders);
}

/* Does `harm` so often while processes contend, and waits after each for some more rounds. */
static void under_load(const struct load *load, void (*harm)(unsigned), unsigned times)
{
	memset(all, 0, sizeof *all);
	for (int i = 0; i < CONTENDERS; i++) {
		contenders[i] = child_fork();
		if (contenders[i] == 0)
			_exit(contend(load, i));
	}
	for (unsigned i = 0; i < times; i++) {
		long before = rounds();
		assert_within(60000, rounds() > before + CONTENDERS);
		harm(i);
		before = rounds();
		assert_within(60000, rounds() > before + CONTENDERS);
	}
	all->ends = true;
	int failed = 0;
	for (int i = 0; i < CONTENDERS; i++)
		failed += child_join(contenders[i]) != 0;
	memset(contenders, 0, sizeof contenders);
	assert_int_equal(failed, 0);
	if (group.argument != NULL || overlaps() > 0)
		print_message("%ld rounds, %ld calls refused, %d overlaps\n", rounds(), (long)all->refused,
		              overlaps());
}

static unsigned often(unsigned times)
{
	return group.argument != NULL ? 10 * times : times;
}

static void nothing(unsigned unused)
{
	(void)unused;
}

static void move_one(unsigned i)
{
	move(names[i % NAMES]);
}

/* A failover that has not begun after 5 seconds is over. */
static void fail_over(const struct server *replica)
{
	for (int tries = 0; tries < 10 && !is_master(replica); tries++) {
		server_must(replica, "OK", "CLUSTER", "FAILOVER", NULL);
		for (uint64_t began = wait_now_ns(); wait_elapsed_ms(began) < 7000 && !is_master(replica);)
			wait_ms(5);
	}
	assert_true(is_master(replica));
}

/* The replica takes over after the master has stopped to serve, with all of its data. */
static void hand_shard_over(unsigned i)
{
	struct raw_reply reply;
	char id[48];
	struct server *master = owner_of(names[i % NAMES]);
	id_of(master, id);
	assert_soon(is_whole());
	on_servers(0, SERVERS, {
		bool is_its = strstr(server_ask(it, &reply, "CLUSTER", "NODES", NULL), "myself,slave") != NULL;
		const char *line = is_its ? strstr(reply.text, "myself,slave ") : NULL;
		if (line == NULL || strncmp(line + strlen("myself,slave "), id, 40) != 0)
			continue;
		fail_over(it);
	});
	assert_soon(is_whole());
}

/* A master that dies and comes back after another has taken over. */
static void kill_one(unsigned i)
{
	struct server *master = owner_of(names[i % NAMES]);
	on_servers(0, SERVERS, server_must(it, "OK", "CONFIG", "SET", "cluster-node-timeout", "1000", NULL));
	server_kill(master);
	struct server *next = owner_of(names[i % NAMES]);
	assert_true(next != master);
	server_restart(master);
	assert_soon(is_whole());
}

static const struct load on_cluster = {one_url, 1, false};

TEST(exclusion_while_slots_move)
{
	under_load(&on_cluster, move_one, often(12));
	assert_int_equal(overlaps(), 0);
	for (int i = 0; i < NAMES; i++)
		expect_free(names[i]);
}

TEST(exclusion_while_replicas_take_over_in_order)
{
	under_load(&on_cluster, hand_shard_over, often(3));
	assert_int_equal(overlaps(), 0);
}

/* Asynchronous replication may lose the last locks of a master that dies: the cluster alone is not judged,
 * but as one node of three. */
TEST(exclusion_of_three_nodes_while_masters_die)
{
	const char *const urls[] = {url, plain.urls[0], plain.urls[1]};
	const struct load load = {urls, 3, false};
	under_load(&load, kill_one, often(2));
	assert_int_equal(overlaps(), 0);
}

TEST(a_cluster_alone_votes_again_when_a_master_has_died)
{
	under_load(&on_cluster, kill_one, often(2));
}

/* The checker sees it when nothing is excluded. */
TEST(control)
{
	const struct load load = {one_url, 1, true};
	under_load(&load, nothing, 10);
	assert_true(overlaps() > 0);
}

static void begin(void)
{
	all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(all != MAP_FAILED);
	start();
}

TESTS(.start = begin, .stop = stop, .after = end_contenders)
