/* SPDX-License-Identifier: MIT */
/* Names of any bytes, and limits of the options: just inside works, just outside is refused. (Those of a
 * handle: unit_options.) */
#include <stdio.h>

#include "fixture.h"

static redlock_client *open_with(const char *prefix)
{
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.prefix = prefix;
	return fixture_open_with(&options);
}

static bool has_bytes(const struct server *server, const void *name, size_t length)
{
	struct raw_reply reply;
	struct raw_arg args[] = {{"EXISTS", 6}, {name, length}};
	server_call(server, args, 2, &reply);
	return reply.type == ':' && reply.integer == 1;
}

static unsigned count_bytes(const void *name, size_t length)
{
	unsigned found = 0;
	for (unsigned i = 0; i < 3; i++)
		found += has_bytes(&servers.server[i], name, length);
	return found;
}

/* The key on the nodes is the name, byte for byte. */
static void lock_bytes(redlock_client *client, const void *name, size_t name_len, const void *key,
                       size_t key_len)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	own_lock *lock = NULL;
	expect_ok(NULL, redlock_lock_new_bytes(client, name, name_len, &options, &lock));
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, count_bytes(key, key_len) == 3);
	expect_ok(lock, redlock_extend(lock, 0));
	expect_ok(lock, redlock_query(lock));
	expect_ok(lock, redlock_release(lock));
	assert_driven(client, count_bytes(key, key_len) == 0);
}

TEST(any_bytes)
{
	static const struct {
		const char *bytes;
		size_t length;
	} names[] = {
	    {"a b  c", 6},
	    {"nul\0inside", 10},
	    {"\0", 1},
	    {"\r\n$3\r\nfoo\r\n", 12},
	    {"*1\r\n$8\r\nFLUSHALL\r\n", 18},
	    {"Gr\xc3\xbc\xc3\x9f"
	     "e \xe2\x98\x83",
	     12},
	    {"\xff\xfe\x80 not utf-8", 13},
	    {"%s%n%d", 6},
	};
	own_client *client = open_with(NULL);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		lock_bytes(client, names[i].bytes, names[i].length, names[i].bytes, names[i].length);
	char all[256];
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	lock_bytes(client, all, sizeof all, all, sizeof all);
}

TEST(length_limits)
{
	char *name = malloc(REDLOCK_MAX_NAME + 1);
	redlock_lock *lock = NULL;
	own_client *client = open_with(NULL);
	assert_non_null(name);
	memset(name, 'n', REDLOCK_MAX_NAME + 1);
	lock_bytes(client, name, REDLOCK_MAX_NAME, name, REDLOCK_MAX_NAME);
	lock_bytes(client, name, 1, name, 1);
	expect_result(NULL, REDLOCK_E_INVAL,
	              redlock_lock_new_bytes(client, name, REDLOCK_MAX_NAME + 1, NULL, &lock));
	expect_result(NULL, REDLOCK_E_INVAL, redlock_lock_new_bytes(client, name, 0, NULL, &lock));
	assert_null(lock);
	free(name);
}

TEST(prefix_counts)
{
	char *key = malloc(REDLOCK_MAX_NAME + 1);
	redlock_lock *lock = NULL;
	own_client *client = open_with("app:");
	assert_non_null(key);
	memset(key, 'n', REDLOCK_MAX_NAME + 1);
	memcpy(key, "app:", 4);
	lock_bytes(client, "job", 3, "app:job", 7);
	lock_bytes(client, key + 4, REDLOCK_MAX_NAME - 4, key, REDLOCK_MAX_NAME);
	expect_result(NULL, REDLOCK_E_INVAL,
	              redlock_lock_new_bytes(client, key + 4, REDLOCK_MAX_NAME - 3, NULL, &lock));
	free(key);
}

TEST(longest_ttl_on_the_nodes)
{
	own_client *client = open_with(NULL);
	own_lock *lock = fixture_lock(client, "month", REDLOCK_MAX_TTL_MS, 0);
	const long long day_ms = 86400000;
	expect_ok(lock, redlock_acquire(lock));
	assert_in_range(server_pttl(&servers.server[0], "month"), 29 * day_ms, 30 * day_ms);
	assert_true(redlock_remaining_ms(lock) > 29ull * 86400000);
	expect_result(lock, REDLOCK_E_INVAL, redlock_extend(lock, REDLOCK_MAX_TTL_MS + 1));
	expect_result(lock, REDLOCK_E_INVAL, redlock_extend(lock, REDLOCK_MIN_TTL_MS - 1));
	expect_ok(lock, redlock_release(lock));
}

/* Whether 10 ms are enough depends on the machine; that nothing stays does not. */
TEST(shortest_ttl_on_the_nodes)
{
	own_client *client = fixture_open(servers.urls, 3, 0);
	own_lock *lock = fixture_lock(client, "short", REDLOCK_MIN_TTL_MS, 0);
	for (int i = 0; i < 20; i++) {
		int result = redlock_acquire(lock);
		assert_true(result == 0 || result == REDLOCK_E_BUSY || result == REDLOCK_E_NOQUORUM);
		assert_true(redlock_remaining_ms(lock) < REDLOCK_MIN_TTL_MS);
		assert_soon(redlock_remaining_ms(lock) == 0);
		if (result == 0)
			redlock_release(lock);
		assert_driven(client, servers_with_key(&servers, 3, "short") == 0);
	}
}

/* The sizes of both structs are checked. Their errors are unit_options'. */
TEST(sizes_of_option_structs)
{
	struct redlock_options options = fixture_client(servers.urls, 3);
	struct redlock_lock_options lock_options = fixture_options(WAIT_LONG_TTL_MS);
	own_client *client = fixture_open_with(&options);
	redlock_lock *lock = NULL;
	options.size = lock_options.size = 0;
	fixture_expect_open(&options, REDLOCK_E_INVAL);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_lock_new(client, "x", &lock_options, &lock));
}

static void expect_options(unsigned quorum, const char *owner, size_t url_count, int want)
{
	const char *urls[REDLOCK_MAX_NODES + 1];
	char text[REDLOCK_MAX_NODES + 1][32];
	for (size_t i = 0; i <= REDLOCK_MAX_NODES; i++) {
		snprintf(text[i], sizeof text[i], "unix:///nowhere/%zu", i);
		urls[i] = text[i];
	}
	struct redlock_options options = fixture_client(urls, url_count);
	options.quorum = quorum;
	options.owner = owner;
	fixture_expect_open(&options, want);
}

TEST(client_options)
{
	char owner[REDLOCK_MAX_OWNER + 2];
	memset(owner, 'o', sizeof owner);
	owner[REDLOCK_MAX_OWNER + 1] = '\0';
	for (unsigned quorum = 0; quorum <= 6; quorum++)
		expect_options(quorum, NULL, 5, quorum == 0 || (quorum >= 3 && quorum <= 5) ? 0 : REDLOCK_E_INVAL);
	expect_options(2, NULL, 4, REDLOCK_E_INVAL); /* half is no majority */
	expect_options(0, NULL, REDLOCK_MAX_NODES, 0);
	expect_options(0, NULL, REDLOCK_MAX_NODES + 1, REDLOCK_E_INVAL);
	expect_options(0, NULL, 0, REDLOCK_E_INVAL);
	expect_options(0, "A-z0.9_:@/+-", 3, 0);
	expect_options(0, owner, 3, REDLOCK_E_INVAL);
	expect_options(0, owner + 1, 3, 0);
	expect_options(0, "two words", 3, REDLOCK_E_INVAL); /* more of them: unit_options */
}

SERVER_TESTS(3)
