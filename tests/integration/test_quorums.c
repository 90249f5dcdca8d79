/* SPDX-License-Identifier: MIT */
/* Names spread over several node sets: one client with one descriptor, and sets that are added. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "fixture.h"
#include "raw.h"

#include <redlock/ask.h>

enum { SETS = 3, NODES = 3, ALL = SETS * NODES, OLD = 2 * NODES, NAMES = 40 };

/* The sets a, b and c, of three servers each; `joining`: of these the one that joins, SETS: none. */
static struct redlock_options spread(unsigned count, unsigned joining)
{
	static struct redlock_node_set sets[SETS];
	static const char *const names[SETS] = {"a", "b", "c"};
	struct redlock_options options = fixture_client(NULL, 0);
	for (size_t i = 0; i < count; i++)
		sets[i] = (struct redlock_node_set){.size = sizeof sets[i],
		                                    .name = names[i],
		                                    .urls = &servers.urls[i * NODES],
		                                    .url_count = NODES,
		                                    .joining = i == joining};
	options.sets = sets;
	options.set_count = count;
	return options;
}

static redlock_client *open_spread(unsigned count, unsigned joining)
{
	struct redlock_options options = spread(count, joining);
	return fixture_open_with(&options);
}

/* The clients of the three steps in which set c is added. */
#define own_before own_client *before = open_spread(2, SETS)
#define own_during own_client *during = open_spread(3, 2)
#define own_after own_client *after = open_spread(3, SETS)

/* Name number `i`. */
static const char *name_of(unsigned i)
{
	static char name[32];
	snprintf(name, sizeof name, "job-%u", i);
	return name;
}

/* The index of the set that has the name, once it is there. */
static size_t set_of(const char *name)
{
	struct redlock_options options = spread(SETS, SETS);
	struct redlock_node_set nodes = {.size = sizeof nodes};
	const struct redlock_name list = {name, strlen(name)};
	const char *urls[REDLOCK_MAX_NODES];
	assert_int_equal(redlock_nodes_of(&options, &list, 1, urls, &nodes), 0);
	return (size_t)(*nodes.name - 'a');
}

/* A name that goes to set c when that is added, or one that stays. */
static const char *name_that(bool moves)
{
	for (unsigned i = 0; i < NAMES; i++)
		if ((set_of(name_of(i)) == 2) == moves)
			return name_of(i);
	fail_msg("all %d names are in one set", NAMES);
	return NULL;
}

/* On how many servers of a set the key is. */
static unsigned keys_in(size_t set, const char *name)
{
	unsigned count = 0;
	on_servers(set * NODES, (set + 1) * NODES, count += server_has(it, name));
	return count;
}

/* Drives the client by its one descriptor until so many operations have ended well. */
static void await_events(redlock_client *client, unsigned count)
{
	struct redlock_event event = {.size = sizeof event};
	while (count > 0) {
		int got;
		assert_int_equal(redlock_process(client), 0);
		while ((got = redlock_next(client, &event)) > 0) {
			assert_int_equal(event.kind, REDLOCK_EVENT_DONE);
			expect_ok(event.lock, event.result);
			count--;
		}
		assert_int_equal(got, 0);
		struct pollfd fd = {.fd = redlock_fd(client), .events = POLLIN};
		if (count > 0 && redlock_timeout_ns(client) > 0)
			assert_int_equal(poll(&fd, 1, WAIT_SOON_MS), 1);
	}
}

TEST(one_descriptor_for_all_sets)
{
	own_client *client = open_spread(SETS, SETS);
	redlock_lock *locks[NAMES];
	unsigned share[SETS] = {0};
	for (unsigned i = 0; i < NAMES; i++) {
		locks[i] = fixture_lock(client, name_of(i), WAIT_LONG_TTL_MS, 0);
		share[set_of(name_of(i))]++;
		expect_ok(locks[i], redlock_start_acquire(locks[i]));
	}
	await_events(client, NAMES);
	for (unsigned i = 0; i < NAMES; i++) {
		const char *name = name_of(i);
		assert_true(redlock_remaining_ms(locks[i]) > 0);
		for (size_t set = 0; set < SETS; set++)
			assert_driven(client, keys_in(set, name) == (set == set_of(name) ? NODES : 0));
		expect_ok(locks[i], redlock_start_release(locks[i]));
	}
	await_events(client, NAMES);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < NAMES; i++) {
		assert_int_equal(servers_with_key(&servers, ALL, name_of(i)), 0);
		redlock_lock_free(locks[i]);
	}
	for (size_t set = 0; set < SETS; set++)
		assert_true(share[set] > 0);
}

TEST(nodes_and_counters_of_all_sets)
{
	own_client *client = open_spread(SETS, SETS);
	own_lock *lock = fixture_held(client, "job", WAIT_LONG_TTL_MS, 0);
	struct redlock_stats stats = {.size = sizeof stats};
	struct redlock_node_stats of_node = {.size = sizeof of_node};
	struct redlock_node_status status = {.size = sizeof status};
	struct redlock_guard_status guard = {.size = sizeof guard};
	redlock_asker *asker;
	assert_int_equal(redlock_node_count(client), ALL);
	assert_int_equal(redlock_quorum(client), 0);
	for (unsigned i = 0; i < ALL; i++) {
		assert_string_equal(fixture_status(client, i).address, servers.urls[i]);
		assert_int_equal(redlock_node_stats(client, i, &of_node), 0);
	}
	assert_int_equal(redlock_node_status(client, ALL, &status), REDLOCK_E_INVAL);
	assert_int_equal(redlock_node_stats(client, ALL, &of_node), REDLOCK_E_INVAL);
	assert_int_equal(redlock_stats(client, &stats), 0);
	assert_int_equal(stats.acquires[0], 1);
	assert_int_equal(stats.held, 1);
	assert_int_equal(redlock_guard_status(client, &guard), REDLOCK_E_INVAL);
	assert_int_equal(redlock_asker_open(client, &asker), REDLOCK_E_INVAL);
	redlock_client *part = redlock_lock_client(lock);
	assert_int_equal(redlock_node_count(part), NODES);
	assert_int_equal(redlock_quorum(part), 2);
	assert_string_equal(fixture_status(part, 0).address, servers.urls[set_of("job") * NODES]);
	assert_int_equal(redlock_guard_status(part, &guard), 0);
	assert_int_equal(redlock_set_credentials(client, NULL, NULL), 0);
	assert_int_equal(redlock_leapt_ms(client), 0);
	expect_ok(lock, redlock_release(lock));
}

TEST(a_keeper_renews_in_all_sets)
{
	own_client *client = open_spread(SETS, SETS);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	struct redlock_stats stats = {.size = sizeof stats};
	redlock_lock *locks[NAMES];
	options.renew_ms = 1;
	assert_int_equal(redlock_keeper_start(client), 0);
	assert_int_equal(redlock_keeper_start(client), REDLOCK_E_STATE);
	for (unsigned i = 0; i < NAMES; i++) {
		locks[i] = fixture_lock_with(client, name_of(i), &options);
		expect_ok(locks[i], redlock_acquire(locks[i]));
	}
	assert_soon(redlock_stats(client, &stats) == 0 && stats.renewals > 10UL * NAMES);
	assert_int_equal(redlock_keeper_stop(client), 0);
	for (unsigned i = 0; i < NAMES; i++) {
		expect_ok(locks[i], redlock_release(locks[i]));
		redlock_lock_free(locks[i]);
	}
}

/* A loss in any of the sets is told by the one notice descriptor. */
TEST(one_descriptor_for_notices)
{
	own_client *client = open_spread(SETS, SETS);
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.renew_ms = 1;
	assert_int_equal(redlock_keeper_start(client), 0);
	for (size_t i = 0, set = 0; set < SETS; i++) {
		if (set_of(name_of((unsigned)i)) != set)
			continue;
		own_lock *lock = fixture_lock_with(client, name_of((unsigned)i), &options);
		expect_ok(lock, redlock_acquire(lock));
		assert_true(fixture_no_notice(client));
		on_servers(set * NODES, (set + 1) * NODES, server_must(it, "OK", "FLUSHALL", NULL));
		struct redlock_event event = fixture_next_notice(client);
		assert_int_equal(event.kind, REDLOCK_EVENT_LOST);
		assert_ptr_equal(event.lock, lock);
		redlock_release(lock);
		set++;
	}
}

TEST(events_of_all_sets_come_in_one_turn)
{
	own_client *client = open_spread(SETS, SETS);
	redlock_lock *locks[NAMES];
	struct redlock_event events[NAMES] = {{.size = sizeof events[0]}};
	for (unsigned i = 0; i < NAMES; i++) {
		locks[i] = fixture_lock(client, name_of(i), WAIT_LONG_TTL_MS, 0);
		expect_ok(locks[i], redlock_start_acquire(locks[i]));
	}
	for (unsigned count = 0; count < NAMES;) {
		int got = redlock_turn(client, 7, events);
		assert_true(got >= 0 && got <= 7);
		for (int i = 0; i < got; i++)
			expect_ok(events[i].lock, events[i].result);
		count += (unsigned)got;
		struct pollfd fd = {.fd = redlock_fd(client), .events = POLLIN};
		if (count < NAMES && redlock_timeout_ns(client) > 0)
			assert_int_equal(poll(&fd, 1, WAIT_SOON_MS), 1);
	}
	for (unsigned i = 0; i < NAMES; i++)
		redlock_lock_free(locks[i]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
}

/* redlock_next() returns 0 only when no set has an event. */
TEST(no_event_of_any_set_is_left)
{
	own_client *client = open_spread(SETS, SETS);
	redlock_lock *locks[NAMES];
	struct redlock_stats stats = {.size = sizeof stats};
	struct redlock_event event = {.size = sizeof event};
	unsigned count = 0;
	for (unsigned i = 0; i < NAMES; i++) {
		locks[i] = fixture_lock(client, name_of(i), WAIT_LONG_TTL_MS, 0);
		expect_ok(locks[i], redlock_start_acquire(locks[i]));
	}
	assert_driven(client, redlock_stats(client, &stats) == 0 && stats.acquires[0] == NAMES);
	while (redlock_next(client, &event) == 1)
		count++;
	assert_int_equal(count, NAMES);
	for (unsigned i = 0; i < NAMES; i++)
		redlock_lock_free(locks[i]);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
}

/* A node that hangs is owed a release, whichever set it belongs to. */
TEST(a_drain_waits_for_each_set)
{
	own_client *client = open_spread(SETS, SETS);
	for (size_t i = 0, set = 0; set < SETS; i++) {
		const char *name = name_of((unsigned)i);
		if (set_of(name) != set)
			continue;
		own_lock *lock = fixture_held(client, name, WAIT_LONG_TTL_MS, 0);
		assert_driven(client, keys_in(set, name) == NODES);
		server_pause(&servers.server[set * NODES]);
		expect_ok(lock, redlock_release(lock));
		assert_true(redlock_drain(client, 0) > 0);
		server_resume(&servers.server[set * NODES]);
		expect_settled(client, ALL, name);
		set++;
	}
}

static void expect_refused_lock(redlock_client *client, int error, const char *want)
{
	char why[256] = "";
	assert_int_equal(error, REDLOCK_E_INVAL);
	redlock_client_last_error(client, why, sizeof why);
	if (strstr(why, want) == NULL)
		fail_msg("'%s' is not in '%s'", want, why);
}

TEST(several_names_are_in_one_set_by_their_tag)
{
	const char *const apart[] = {"alice", "bob"}, *const same[] = {"{bank}:alice", "{bank}:bob"};
	own_client *client = open_spread(SETS, SETS);
	redlock_lock *refused = NULL, *lock = NULL;
	expect_refused_lock(client, redlock_lock_new_many(client, apart, 2, NULL, &refused), "use a hash tag");
	expect_refused_lock(client, redlock_lock_new(client, "", NULL, &refused), "empty");
	expect_refused_lock(client, redlock_lock_new(client, NULL, NULL, &refused), "empty");
	expect_refused_lock(client, redlock_lock_new_many(client, NULL, 2, NULL, &refused), "NULL");
	expect_ok(NULL, redlock_lock_new_many(client, same, 2, NULL, &lock));
	expect_ok(lock, redlock_acquire(lock));
	own_lock *bob = fixture_lock(client, "{bank}:bob", WAIT_LONG_TTL_MS, 0);
	expect_result(bob, REDLOCK_E_BUSY, redlock_acquire(bob));
	expect_ok(lock, redlock_release(lock));
	expect_pair(bob);
	redlock_lock_free(lock);
}

TEST(options_that_sets_exclude)
{
	own_client *client = open_spread(SETS, SETS);
	struct redlock_lock_options fence = fixture_options(WAIT_LONG_TTL_MS);
	redlock_lock *lock = NULL;
	char why[256];
	fence.fence = 1;
	expect_refused_lock(client, redlock_lock_new(client, "job", &fence, &lock), "fencing tokens");
	struct redlock_options options = spread(SETS, SETS);
	options.error_text = why;
	options.error_text_size = sizeof why;
	options.lock_options = &fence;
	fixture_expect_open(&options, REDLOCK_E_INVAL);
	assert_non_null(strstr(why, "fencing tokens"));
	options = spread(SETS, 1);
	options.guard = REDLOCK_GUARD_REQUIRE;
	fixture_expect_open(&options, REDLOCK_E_INVAL);
	options = spread(SETS, SETS);
	options.urls = servers.urls;
	options.url_count = NODES;
	fixture_expect_open(&options, REDLOCK_E_INVAL);
	options = spread(SETS, SETS);
	((struct redlock_node_set *)options.sets)[1].urls = (const char *const[]){"redis://", NULL, NULL};
	options.error_text = why;
	options.error_text_size = sizeof why;
	fixture_expect_open(&options, REDLOCK_E_URL);
	assert_non_null(strstr(why, "node set b: "));
}

TEST(handles_outlive_the_client)
{
	redlock_client *client = open_spread(SETS, SETS);
	own_lock *lock = fixture_held(client, "job", WAIT_LONG_TTL_MS, 0);
	redlock_close(client);
	assert_null(redlock_lock_client(lock));
	assert_int_equal(redlock_acquire(lock), REDLOCK_E_STATE);
}

TEST(all_sets_release_their_handles)
{
	own_client *client = open_spread(SETS, SETS);
	redlock_lock *locks[NAMES];
	for (unsigned i = 0; i < NAMES; i++)
		locks[i] = fixture_held(client, name_of(i), WAIT_LONG_TTL_MS, 0);
	redlock_release_all(client);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < NAMES; i++) {
		assert_int_equal(redlock_acquire(locks[i]), REDLOCK_E_STATE);
		assert_int_equal(servers_with_key(&servers, servers.count, name_of(i)), 0);
		redlock_lock_free(locks[i]);
	}
}

/* ---- a set that is added ---- */

/* With a wait of 0 split votes would be retried for five node timeouts, so the handles wait a millisecond.
 * The end of the wait may cut the attempt short, on a slow machine, before a quorum has answered. */
static void expect_kept_out(redlock_lock *lock)
{
	expect_ok(lock, redlock_lock_set_wait(lock, 1));
	int result = redlock_acquire(lock);
	if (result != REDLOCK_E_BUSY)
		expect_result(lock, REDLOCK_E_NOQUORUM, result);
	expect_ok(lock, redlock_lock_set_wait(lock, WAIT_SOON_MS));
}

/* A lock of one client keeps the other client out, in both directions. */
static void expect_exclusion(redlock_client *one, redlock_client *other, const char *name)
{
	own_lock *mine = fixture_lock(one, name, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	own_lock *yours = fixture_lock(other, name, WAIT_LONG_TTL_MS, WAIT_SOON_MS);
	expect_ok(mine, redlock_acquire(mine));
	expect_kept_out(yours);
	expect_ok(mine, redlock_release(mine));
	assert_int_equal(redlock_drain(one, WAIT_SOON_MS), 0);
	expect_ok(yours, redlock_acquire(yours));
	expect_kept_out(mine);
	expect_ok(yours, redlock_release(yours));
	assert_int_equal(redlock_drain(other, WAIT_SOON_MS), 0);
}

TEST(neighbouring_steps_exclude_each_other)
{
	own_before;
	own_during;
	own_after;
	for (int moves = 0; moves <= 1; moves++) {
		const char *name = name_that(moves != 0);
		expect_exclusion(before, during, name);
		expect_exclusion(during, during, name);
		expect_exclusion(during, after, name);
		if (!moves)
			expect_exclusion(before, after, name);
	}
}

/* The control: without the step between them, two clients hold one name. */
TEST(without_the_joining_step_there_are_two_holders)
{
	own_before;
	own_after;
	own_lock *mine = fixture_held(before, name_that(true), WAIT_LONG_TTL_MS, 0);
	own_lock *yours = fixture_held(after, name_that(true), WAIT_LONG_TTL_MS, 0);
	assert_true(redlock_remaining_ms(mine) > 0 && redlock_remaining_ms(yours) > 0);
}

TEST(a_name_that_moves_is_on_both_sets)
{
	own_during;
	const char *name = name_that(true);
	own_lock *lock = fixture_held(during, name, WAIT_LONG_TTL_MS, 0);
	redlock_client *part = redlock_lock_client(lock);
	assert_int_equal(redlock_node_count(during), 2 * NODES + 2 * 2 * NODES);
	assert_int_equal(redlock_node_count(part), 2 * NODES);
	assert_int_equal(redlock_quorum(part), 5);
	assert_driven(during, keys_in(2, name) == NODES && servers_with_key(&servers, ALL, name) == 2 * NODES);
	expect_ok(lock, redlock_extend(lock, 2 * WAIT_LONG_TTL_MS));
	expect_ok(lock, redlock_release(lock));
	expect_settled(during, ALL, name);
	own_lock *stays = fixture_held(during, name_that(false), WAIT_LONG_TTL_MS, 0);
	assert_int_equal(redlock_node_count(redlock_lock_client(stays)), NODES);
	expect_ok(stays, redlock_release(stays));
}

/* One node of six may be missing while a set joins; the sets themselves still stand a loss each. */
TEST(a_missing_node_while_a_set_joins)
{
	own_during;
	own_lock *moves = fixture_lock(during, name_that(true), WAIT_LONG_TTL_MS, 0);
	own_lock *stays = fixture_lock(during, name_that(false), WAIT_LONG_TTL_MS, 0);
	server_kill(&servers.server[ALL - 1]);
	expect_pair(moves);
	on_servers(0, OLD, if ((it - servers.server) % NODES == 0) server_kill(it));
	expect_result(moves, REDLOCK_E_NOQUORUM, redlock_acquire(moves));
	expect_pair(stays);
}

/* ---- under load ---- */

struct user {
	redlock_client *client;
	const char *name;
	atomic_int *inside;
	atomic_int *overlaps;
	pthread_t thread;
};

enum { ROUNDS = 25 };

static void *take_turns(void *argument)
{
	struct user *user = argument;
	own_lock *lock = fixture_lock(user->client, user->name, WAIT_LONG_TTL_MS, REDLOCK_FOREVER);
	for (int i = 0; i < ROUNDS; i++) {
		expect_ok(lock, redlock_acquire(lock));
		if (atomic_fetch_add(user->inside, 1) > 0)
			atomic_fetch_add(user->overlaps, 1);
		sched_yield();
		atomic_fetch_sub(user->inside, 1);
		expect_ok(lock, redlock_release(lock));
	}
	return NULL;
}

/* How often two threads of each client were inside at once. */
static int overlaps_of(redlock_client *one, redlock_client *other)
{
	atomic_int inside = 0, overlaps = 0;
	char name[32];
	struct user users[4];
	snprintf(name, sizeof name, "%s", name_that(true));
	for (unsigned i = 0; i < 4; i++) {
		users[i] = (struct user){i % 2 == 0 ? one : other, name, &inside, &overlaps, 0};
		assert_int_equal(pthread_create(&users[i].thread, NULL, take_turns, &users[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(users[i].thread, NULL);
	return overlaps;
}

TEST(no_overlap_under_load)
{
	own_before;
	own_during;
	own_after;
	assert_int_equal(overlaps_of(before, during), 0);
	assert_int_equal(overlaps_of(during, after), 0);
}

SERVER_TESTS(ALL)
