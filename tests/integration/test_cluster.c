/* SPDX-License-Identifier: MIT */
/*
 * A Redis Cluster as one node, one name after the other: which server is asked, also when servers of the URL
 * are down or hang and while slots move, and what is refused. Under load: integration_cluster_load.
 */
#include "cluster_stage.h"

/* ---- one name after the other ---- */

TEST(each_name_is_asked_of_its_shard)
{
	for (int seed = 0; seed < SERVERS; seed++) {
		const char *urls[] = {seed_urls[seed]};
		own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
		for (int i = 0; i < 20; i++) {
			char name[32];
			snprintf(name, sizeof name, "job-%d", i);
			own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
			expect_ok(lock, redlock_acquire(lock));
			assert_true(has_key(owner_of(name), name));
			expect_ok(lock, redlock_extend(lock, 0));
			expect_ok(lock, redlock_release(lock));
			expect_free(name);
		}
	}
}

TEST(a_lock_that_is_held_is_refused)
{
	own_client *client = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_client *other = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *held = fixture_held(client, "held", WAIT_LONG_TTL_MS, 0);
	own_lock *refused = fixture_lock(other, "held", WAIT_LONG_TTL_MS, 0);
	expect_result(refused, REDLOCK_E_BUSY, redlock_acquire(refused));
	expect_ok(held, redlock_release(held));
	expect_pair(refused);
}

/* A server that is no member would grant by itself, beside the cluster. */
TEST(a_seed_that_is_no_member_never_votes)
{
	static const char key[] = "stranger";
	char mixed[128], alone[64], why[64];
	snprintf(alone, sizeof alone, "redis+cluster://127.0.0.1:%d/", plain.server[0].port);
	snprintf(mixed, sizeof mixed, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d/", plain.server[0].port,
	         servers.server[1].port);
	snprintf(why, sizeof why, "127.0.0.1:%d is not a member of a Redis Cluster", plain.server[0].port);
	const char *const alone_url[] = {alone}, *const mixed_url[] = {mixed};
	own_client *client = fixture_open(alone_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, key, WAIT_LONG_TTL_MS, 0);
	assert_int_not_equal(redlock_acquire(lock), 0);
	struct redlock_node_status status = {.size = sizeof status};
	expect_ok(NULL, redlock_node_status(client, 0, &status));
	assert_non_null(strstr(status.last_error, why));
	assert_int_equal(status.last_failure, REDLOCK_VOTE_SERVICE);
	own_client *other = fixture_open(mixed_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *held = fixture_lock(other, key, WAIT_LONG_TTL_MS, 0);
	assert_soon(redlock_acquire(held) == 0);
	assert_true(has_key(owner_of(key), key));
	expect_ok(held, redlock_release(held));
	assert_false(has_key(&plain.server[0], key));
}

/* Each new client, with no wait, takes and releases a lock; no key is left. */
static void expect_first_attempts(const char *mixed)
{
	const char *const urls[] = {mixed};
	for (int i = 0; i < 10; i++) {
		char name[32];
		snprintf(name, sizeof name, "first-%d", i);
		own_client *client = fixture_open(urls, 1, 3000);
		own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, 0);
		expect_ok(lock, redlock_acquire(lock));
		assert_true(has_key(owner_of(name), name));
		own_client *other = fixture_open(urls, 1, 3000);
		own_lock *refused = fixture_lock(other, name, WAIT_LONG_TTL_MS, 0);
		expect_result(refused, REDLOCK_E_BUSY, redlock_acquire(refused));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		expect_free(name);
	}
}

TEST(servers_that_are_down_or_hang_are_passed_over_within_the_attempt)
{
	char mixed[160];
	int down = plain.server[0].port, hung = plain.server[1].port;
	snprintf(mixed, sizeof mixed, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d/", down, servers.server[1].port);
	server_kill(&plain.server[0]);
	expect_first_attempts(mixed);
	snprintf(mixed, sizeof mixed, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d/", hung, servers.server[1].port);
	server_pause(&plain.server[1]);
	expect_first_attempts(mixed);
	snprintf(mixed, sizeof mixed, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/", hung, down,
	         servers.server[1].port);
	expect_first_attempts(mixed);
	server_resume(&plain.server[1]);
	server_restart(&plain.server[0]);
}

TEST(without_any_server_the_vote_says_why)
{
	char both[96];
	snprintf(both, sizeof both, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d/", plain.server[0].port,
	         plain.server[1].port);
	const char *const urls[] = {both};
	server_kill(&plain.server[0]);
	server_kill(&plain.server[1]);
	own_client *client = fixture_open(urls, 1, 3000);
	own_lock *lock = fixture_lock(client, "nobody", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	struct redlock_node_status status = {.size = sizeof status};
	expect_ok(NULL, redlock_node_status(client, 0, &status));
	assert_int_equal(status.last_failure, REDLOCK_VOTE_DOWN);
	server_restart(&plain.server[0]);
	server_restart(&plain.server[1]);
}

TEST(several_names_need_one_slot)
{
	const char *const apart[] = {"a", "b"}, *const together[] = {"{job}:a", "{job}:b"};
	redlock_lock *none = NULL;
	char why[256];
	own_client *client = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	assert_int_equal(redlock_lock_new_many(client, apart, 2, NULL, &none), REDLOCK_E_INVAL);
	assert_true(redlock_client_last_error(client, why, sizeof why) > 0);
	assert_non_null(strstr(why, "use a hash tag"));
	assert_int_equal(redlock_lock_new(client, "job}", NULL, &none), REDLOCK_E_INVAL);
	assert_true(redlock_client_last_error(client, why, sizeof why) > 0);
	assert_non_null(strstr(why, "a name with } needs a hash tag"));
	own_lock *lock = NULL;
	assert_int_equal(redlock_lock_new_many(client, together, 2, NULL, &lock), 0);
	expect_pair(lock);
	expect_free("{job}:a");
}

TEST(a_guard_is_refused)
{
	char why[256] = "";
	struct redlock_options options = fixture_client(one_url, 1);
	options.guard = REDLOCK_GUARD_REQUIRE;
	options.error_text = why;
	options.error_text_size = sizeof why;
	fixture_expect_open(&options, REDLOCK_E_INVAL);
	assert_non_null(strstr(why, "a guarded set cannot have a cluster as a node"));
}

/* Two URLs of one cluster are one server for each name. */
TEST(one_cluster_under_two_names_votes_once)
{
	const char *urls[] = {seed_urls[0], seed_urls[1], plain.urls[0]};
	own_client *client = fixture_open(urls, 3, NODE_TIMEOUT_MS);
	server_kill(&plain.server[0]);
	own_lock *lock = fixture_lock(client, "twice", WAIT_LONG_TTL_MS, 0);
	int got = redlock_acquire(lock);
	server_restart(&plain.server[0]);
	expect_result(lock, REDLOCK_E_NOQUORUM, got);
}

/* ---- slots that move ---- */

TEST(a_held_lock_follows_its_slot)
{
	own_client *client = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_held(client, "follows", WAIT_LONG_TTL_MS, 0);
	struct server *from = owner_of("follows"), *to = other_master(from);
	begin_move("follows", from, to);
	expect_ok(lock, redlock_extend(lock, 0)); /* the key is at the source still */
	move_keys("follows", from, to);
	expect_ok(lock, redlock_extend(lock, 0)); /* ASK */
	end_move("follows", from, to);
	expect_ok(lock, redlock_extend(lock, 0)); /* MOVED */
	assert_true(has_key(to, "follows"));
	move("follows");
	expect_ok(lock, redlock_release(lock));
	expect_free("follows");
}

/* With the rights that `redlock help acl` has, and no others. */
TEST(the_listed_rights_are_enough_while_a_slot_moves)
{
	char rights[512], as_user[160], *rest = rights;
	const char *const urls[] = {as_user};
	snprintf(as_user, sizeof as_user, "redis+cluster://tight:pw@127.0.0.1:%d/", servers.server[0].port);
	on_servers(0, SERVERS,
	           server_must(it, "OK", "ACL", "SETUSER", "tight", "reset", "on", ">pw", "~*", NULL));
	assert_true(redlock_acl_rights(1, rights, sizeof rights) > 0);
	for (char *right; (right = strtok_r(rest, " ", &rest)) != NULL;)
		on_servers(0, SERVERS, server_must(it, "OK", "ACL", "SETUSER", "tight", right, NULL));
	own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_held(client, "tightly", WAIT_LONG_TTL_MS, 0);
	struct server *from = owner_of("tightly"), *to = other_master(from);
	begin_move("tightly", from, to);
	move_keys("tightly", from, to);
	expect_ok(lock, redlock_extend(lock, 0)); /* ASK */
	end_move("tightly", from, to);
	expect_ok(lock, redlock_release(lock));
	expect_free("tightly");
}

TEST(a_new_lock_goes_where_its_slot_is_moving_to)
{
	own_client *client = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "moving", WAIT_LONG_TTL_MS, 0);
	struct server *from = owner_of("moving"), *to = other_master(from);
	begin_move("moving", from, to);
	expect_ok(lock, redlock_acquire(lock));
	assert_true(has_key(to, "moving"));
	own_client *other = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *refused = fixture_lock(other, "moving", WAIT_LONG_TTL_MS, 0);
	expect_result(refused, REDLOCK_E_BUSY, redlock_acquire(refused));
	expect_ok(lock, redlock_release(lock));
	expect_free("moving");
	end_move("moving", from, to);
	expect_pair(refused);
}

/* Else its unanswered requests would keep their handles from asking a replica that takes over meanwhile. */
TEST(a_server_that_hangs_is_left_soon)
{
	const char *urls[] = {seed_urls[owner_of("hangs") - servers.server]};
	own_client *client = fixture_open(urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "hangs", WAIT_LONG_TTL_MS, 0);
	struct server *owner = owner_of("hangs");
	expect_pair(lock);
	server_pause(owner);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_driven(client, strcmp(fixture_status(client, 0).last_error, "no answer for 2 seconds") == 0);
	server_resume(owner);
	assert_soon(is_whole());
	expect_pair(lock);
}

/* A later claim of the same handle must not overtake the release, which no server takes. */
TEST(a_release_that_is_owed_to_a_dead_server)
{
	own_client *client = fixture_open(one_url, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_held(client, "dead", WAIT_LONG_TTL_MS, 0);
	struct server *owner = owner_of("dead");
	server_kill(owner);
	assert_int_not_equal(redlock_release(lock), 0);
	for (unsigned i = 0; i < 30 && redlock_acquire(lock) != 0; i++, wait_ms(20))
		assert_int_not_equal(fixture_vote(lock, 0), REDLOCK_VOTE_BACKLOG); /* as if there were too many */
	server_restart(owner);
	assert_soon(is_whole());
}

TESTS(.start = start, .stop = stop)
