/* SPDX-License-Identifier: MIT */
/* Shared locks on real servers: who excludes whom, what is told, upgrades, what is refused. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "readers.h"

static void flush_scripts(void)
{
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "SCRIPT", "FLUSH", NULL));
}

/* ---- one with the others ---- */

/* Any number of these, or one that is not; each with its own token. The servers forget the scripts between.
 */
TEST(many_share_it_or_one_has_it)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0), *w = writer(client, 0);
	for (int turn = 0; turn < 3; turn++) {
		expect_ok(a, redlock_acquire(a));
		expect_ok(b, redlock_acquire(b));
		assert_string_not_equal(fixture_token(a).text, fixture_token(b).text);
		assert_driven(client, nodes_with("2") == NODES);
		expect_result(w, REDLOCK_E_BUSY, redlock_acquire(w));
		expect_ok(a, redlock_extend(a, 0));
		flush_scripts();
		expect_ok(a, redlock_query(a));
		expect_ok(a, redlock_release(a));
		expect_result(a, REDLOCK_E_GONE, redlock_query(a));
		expect_result(w, REDLOCK_E_BUSY, redlock_acquire(w));
		flush_scripts();
		expect_ok(b, redlock_extend(b, 0));
		expect_ok(b, redlock_release(b));
		expect_settled(client, NODES, "job");
		expect_ok(w, redlock_acquire(w));
		expect_result(a, REDLOCK_E_BUSY, redlock_acquire(a));
		expect_ok(w, redlock_release(w));
		expect_settled(client, NODES, "job");
	}
}

/* The key ends with the last of them, also when that one leaves before. */
TEST(the_key_ends_with_the_last_of_them)
{
	own_client *client = open_client();
	own_lock *brief = shared_with(client, "job", 2000, 0), *lasting = reader(client, 0);
	expect_ok(brief, redlock_acquire(brief));
	assert_driven(client, nodes_with("1") == NODES);
	for (unsigned i = 0; i < NODES; i++)
		assert_in_range(server_pttl(&servers.server[i], "job"), 1, 2000);
	expect_ok(lasting, redlock_acquire(lasting));
	assert_driven(client, nodes_with("2") == NODES);
	for (unsigned i = 0; i < NODES; i++)
		assert_in_range(server_pttl(&servers.server[i], "job"), 3000, WAIT_LONG_TTL_MS);
	expect_ok(lasting, redlock_release(lasting));
	assert_driven(client, nodes_with("1") == NODES);
	for (unsigned i = 0; i < NODES; i++)
		assert_in_range(server_pttl(&servers.server[i], "job"), 1, 2000);
	assert_driven(client, servers_with_key(&servers, NODES, "job") == 0);
	expect_result(brief, REDLOCK_E_LOST, redlock_extend(brief, 0));
	expect_result(brief, REDLOCK_E_GONE, redlock_release(brief));
}

/* A reader that has ended is taken out by the next client, and holds nobody up. */
TEST(a_reader_that_has_ended_is_gone)
{
	own_client *client = open_client();
	own_lock *dead = shared_with(client, "job", 300, 0), *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(dead, redlock_acquire(dead));
	assert_driven(client, nodes_with("2") == NODES);
	assert_driven(client, redlock_deadline_ns(dead) == 0);
	wait_ms(50); /* what the allowance for drift was */
	expect_result(dead, REDLOCK_E_LOST, redlock_extend(dead, 0));
	expect_ok(a, redlock_upgrade(a));
	expect_ok(a, redlock_release(a));
	expect_result(dead, REDLOCK_E_GONE, redlock_release(dead));
}

/* Plain SET in another language, and keys that are no locks, among them sets of others with and without an
 * expiry. Nothing of them is touched. */
TEST(everybody_is_excluded)
{
	struct raw_reply reply;
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	static const char *const others[][5] = {
	    {"SET", "job", "x"}, {"HSET", "job", "f", "v"}, {"ZADD", "job", "7", "m"}, {"RPUSH", "job", "e"}};
	for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
		for (int expires = 0; expires < 2; expires++) {
			const char *const *o = others[i];
			on_servers(0, NODES, server_ask(it, &reply, o[0], o[1], o[2], o[3], NULL));
			if (expires)
				on_servers(0, NODES, server_must(it, "1", "PEXPIRE", "job", "60000", NULL));
			expect_result(a, REDLOCK_E_BUSY, redlock_acquire(a));
			expect_settled(client, 0, "job");
			if (i == 2)
				assert_int_equal(nodes_with("1"), NODES);
			on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
		}
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	on_servers(0, NODES, server_must(it, "(nil)", "SET", "job", "x", "NX", "PX", "9000", NULL));
	expect_ok(a, redlock_release(a));
	expect_settled(client, NODES, "job");
}

/* ---- upgrade and downgrade ---- */

TEST(one_upgrades_and_goes_back)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0), *w = writer(client, 0);
	expect_result(a, REDLOCK_E_STATE, redlock_upgrade(a));
	expect_ok(w, redlock_acquire(w));
	expect_result(w, REDLOCK_E_STATE, redlock_upgrade(w));
	expect_ok(w, redlock_release(w));
	expect_settled(client, NODES, "job");
	expect_ok(a, redlock_acquire(a));
	expect_ok(a, redlock_upgrade(a));
	struct fixture_token token = fixture_token(a);
	assert_driven(client, servers_with_value(&servers, NODES, "job", token.text) == NODES);
	expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
	expect_ok(a, redlock_upgrade(a)); /* it is already */
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(a, redlock_query(a));
	expect_ok(a, redlock_downgrade(a));
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(b, redlock_acquire(b));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(a, redlock_query(a));
	/* Two of them: none gets it, and both go on. */
	expect_result(a, REDLOCK_E_BUSY, redlock_upgrade(a));
	expect_result(b, REDLOCK_E_BUSY, redlock_upgrade(b));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(b, redlock_release(b));
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(a, redlock_upgrade(a));
	expect_ok(a, redlock_release(a)); /* in either form */
	expect_settled(client, NODES, "job");
	expect_pair(w);
}

/* An upgrade that reaches only some is taken back at once. */
TEST(a_partial_upgrade_is_undone)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	on_servers(0, QUORUM, server_must(it, "1", "ZADD", "job", "99999999999999", "other", NULL));
	on_servers(0, QUORUM, server_must(it, "1", "PEXPIREAT", "job", "99999999999999", NULL));
	expect_result(a, REDLOCK_E_BUSY, redlock_upgrade(a));
	assert_driven(client, nodes_with("2") == QUORUM && nodes_with("1") == NODES - QUORUM);
	expect_ok(b, redlock_acquire(b));
	/* The next extend turns back an upgraded key that nobody has turned back. */
	expect_ok(b, redlock_release(b));
	struct fixture_token token = fixture_token(a);
	on_servers(QUORUM, NODES, server_must(it, "OK", "SET", "job", token.text, "PX", "60000", NULL));
	expect_ok(a, redlock_extend(a, 0));
	assert_driven(client, nodes_with("1") == NODES - QUORUM);
	/* Also by its release. */
	on_servers(QUORUM, NODES, server_must(it, "OK", "SET", "job", token.text, "PX", "60000", NULL));
	expect_ok(a, redlock_release(a));
	assert_driven(client, servers_with_key(&servers, NODES, "job") == QUORUM);
}

/* Nodes that no longer have its token, whether or not another client has taken the key, end the lock. */
TEST(an_upgrade_of_a_lock_that_the_servers_lost)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	for (unsigned deleted = QUORUM - 1; deleted <= NODES; deleted++)
		for (int taken = 0; taken < 2; taken++) {
			struct raw_reply reply;
			expect_ok(a, redlock_acquire(a));
			assert_driven(client, nodes_with("1") == NODES);
			on_servers(0, deleted, server_must(it, "1", "DEL", "job", NULL));
			if (taken)
				on_servers(0, deleted, server_must(it, "OK", "SET", "job", "other", "PX", "60000", NULL));
			bool lost = deleted >= QUORUM;
			expect_result(a, lost ? REDLOCK_E_LOST : REDLOCK_OK, redlock_upgrade(a));
			assert_int_equal(redlock_remaining_ms(a) == 0, lost);
			expect_result(a, lost ? REDLOCK_E_GONE : REDLOCK_OK, redlock_release(a));
			on_servers(0, NODES, server_ask(it, &reply, "DEL", "job", NULL));
			expect_settled(client, 0, "job");
		}
}

/* As long as the others share it, too few nodes have lost it. */
TEST(an_upgrade_among_readers_of_whom_a_node_has_lost_one)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(b, redlock_acquire(b));
	assert_driven(client, nodes_with("2") == NODES);
	on_servers(0, QUORUM - 1, server_must(it, "1", "ZREM", "job", fixture_token(a).text, NULL));
	expect_result(a, REDLOCK_E_BUSY, redlock_upgrade(a));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(b, redlock_release(b));
	expect_ok(a, redlock_upgrade(a));
}

/* An exclusive lock that others have taken is lost, and not busy. */
TEST(a_second_upgrade_of_a_lock_that_the_servers_lost)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(a, redlock_upgrade(a));
	expect_on_all(client);
	on_servers(0, QUORUM, server_must(it, "1", "DEL", "job", NULL));
	expect_result(a, REDLOCK_E_LOST, redlock_upgrade(a));
	assert_int_equal(redlock_remaining_ms(a), 0);
}

static void let_write(const char *replicas)
{
	on_servers(0, NODES, server_must(it, "OK", "CONFIG", "SET", "min-replicas-to-write", replicas, NULL));
}

/* A server that may not write keeps the key, in either form, and is asked again. A key that it never had is
 * gone. */
TEST(a_release_where_nothing_may_be_written)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	for (int upgraded = 0; upgraded < 2; upgraded++) {
		expect_ok(a, redlock_acquire(a));
		if (upgraded)
			expect_ok(a, redlock_upgrade(a));
		struct fixture_token token = fixture_token(a);
		own_lock *same = reader_with(client, token.text), *none = reader_with(client, "none");
		let_write("1");
		expect_result(none, REDLOCK_E_GONE, redlock_release(none));
		int result = redlock_release(same);
		let_write("0");
		expect_result(same, REDLOCK_E_NOQUORUM, result);
		redlock_release(a);
		expect_settled(client, NODES, "job");
	}
}

/* Without a quorum it stays what it was. */
TEST(an_upgrade_without_a_quorum)
{
	own_client *client = fixture_open(servers.urls, NODES, 300);
	own_lock *a = reader(client, 0), *b = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	for (unsigned i = 0; i < QUORUM; i++)
		server_pause(&servers.server[i]);
	expect_result(a, REDLOCK_E_NOQUORUM, redlock_upgrade(a));
	assert_true(redlock_remaining_ms(a) > 0);
	for (unsigned i = 0; i < QUORUM; i++)
		server_resume(&servers.server[i]);
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(b, redlock_acquire(b));
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_release(b));
	expect_settled(client, NODES, "job");
}

/* By many threads, each with a client: there is never one beside one that is alone, and none waits. */
enum { RIVALS = 4, TRIES = 40 };
static atomic_int alone, together;

/* A rival that fails does not count any more, else all others would see two. NULL: all is well. */
static const char *compete(redlock_lock *a)
{
	const char *problem = NULL;
	if (redlock_acquire(a) != 0)
		return "an acquire failed";
	atomic_fetch_add(&together, 1);
	int result = redlock_upgrade(a);
	if (result != 0 && result != REDLOCK_E_BUSY)
		problem = "an upgrade failed";
	if (result == 0 && (atomic_fetch_add(&alone, 1) != 0 || atomic_load(&together) != 1))
		problem = "two at once";
	if (result == 0)
		atomic_fetch_sub(&alone, 1);
	if (result == 0 && redlock_downgrade(a) != 0)
		problem = problem != NULL ? problem : "a downgrade failed";
	atomic_fetch_sub(&together, 1);
	if (redlock_release(a) != 0)
		problem = problem != NULL ? problem : "a release failed";
	return problem;
}

static void *rival(void *unused)
{
	(void)unused;
	const char *problem = NULL;
	own_client *client = fixture_open(servers.urls, NODES, WAIT_SOON_MS / 4);
	own_lock *a = reader(client, REDLOCK_FOREVER);
	for (int i = 0; i < TRIES && problem == NULL; i++)
		problem = compete(a);
	return (void *)(uintptr_t)problem;
}

TEST(rivals_upgrade_one_at_a_time)
{
	pthread_t threads[RIVALS];
	for (int i = 0; i < RIVALS; i++)
		pthread_create(&threads[i], NULL, rival, NULL);
	const char *first = NULL;
	for (int i = 0; i < RIVALS; i++) {
		void *problem;
		pthread_join(threads[i], &problem);
		first = first != NULL ? first : problem;
	}
	if (first != NULL)
		fail_msg("%s", first);
}

/* ---- what is not possible ---- */

TEST(refused_options)
{
	own_client *client = open_client();
	redlock_lock *lock = NULL;
	struct redlock_lock_options plain = fixture_options(WAIT_LONG_TTL_MS), o;
	plain.mode = REDLOCK_SHARED;
	o = plain, o.mode = 2;
	assert_int_equal(redlock_lock_new(client, "job", &o, &lock), REDLOCK_E_INVAL);
	o = plain, o.compat = REDLOCK_COMPAT_SETNX;
	assert_int_equal(redlock_lock_new(client, "job", &o, &lock), REDLOCK_E_INVAL);
	o = plain, o.compat = REDLOCK_COMPAT_SETNX_SAFE;
	assert_int_equal(redlock_lock_new(client, "job", &o, &lock), REDLOCK_E_INVAL);
	const char *const names[] = {"a", "b"};
	assert_int_equal(redlock_lock_new_many(client, names, 2, &plain, &lock), REDLOCK_E_INVAL);
}

/* Without scripts there is no other way: the missing right is the vote. Without the queue's keys there is. */
TEST(users_without_rights)
{
	struct raw_reply reply;
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.user = "some";
	options.password = "x";
	on_servers(0, NODES,
	           server_ask(it, &reply, "ACL", "SETUSER", "some", "on", ">x", "+@all", "-eval", "-evalsha",
	                      "~*", "&*", NULL));
	own_client *without = fixture_open_with(&options);
	own_lock *refused = reader(without, 0);
	expect_result(refused, REDLOCK_E_NOQUORUM, redlock_acquire(refused));
	assert_true(fixture_votes_of_kind(refused, NODES, REDLOCK_KIND_FATAL) >= QUORUM);
	on_servers(0, NODES,
	           server_ask(it, &reply, "ACL", "SETUSER", "some", "reset", "on", ">x", "+@all", "~job", NULL));
	own_client *some = fixture_open_with(&options);
	own_lock *valued = reader_with(some, "mine");
	expect_ok(valued, redlock_acquire(valued));
	own_lock *a = reader(some, 0), *b = reader(some, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(valued, redlock_release(valued));
	expect_ok(b, redlock_acquire(b));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_upgrade(b));
	expect_ok(b, redlock_downgrade(b));
	expect_ok(b, redlock_release(b));
	expect_settled(some, NODES, "job");
}

/* The token of another process, or of the caller, will do. */
TEST(a_token_suffices)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	struct fixture_token token = fixture_token(a);
	own_lock *same = reader_with(client, token.text);
	expect_ok(same, redlock_query(same));
	expect_result(same, REDLOCK_E_BUSY, redlock_acquire(same)); /* it is in use */
	expect_ok(same, redlock_extend(same, 0));
	expect_result(same, REDLOCK_E_STATE, redlock_upgrade(same));
	expect_ok(same, redlock_release(same));
	expect_result(a, REDLOCK_E_LOST, redlock_extend(a, 0));
	expect_settled(client, NODES, "job");
}

/* A client that has the token alone does not make an exclusive lock of anybody a shared one. */
TEST(a_token_opens_no_exclusive_lock)
{
	own_client *client = open_client(), *other = open_client();
	own_lock *a = reader(client, 0), *w = writer(client, 0), *b = reader(other, 0);
	for (int upgraded = 0; upgraded < 2; upgraded++) {
		redlock_lock *held = upgraded ? a : w;
		expect_ok(held, redlock_acquire(held));
		if (upgraded)
			expect_ok(held, redlock_upgrade(held));
		struct fixture_token token = fixture_token(held);
		own_lock *same = reader_with(other, token.text);
		expect_result(same, REDLOCK_E_GONE, redlock_extend(same, 0));
		expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
		expect_ok(held, redlock_extend(held, 0));
		expect_ok(held, redlock_release(held));
		expect_settled(client, NODES, "job");
	}
}

SERVER_TESTS(NODES)
