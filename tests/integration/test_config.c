/* SPDX-License-Identifier: MIT */
/* How nodes are named: users, passwords, databases, and URLs that cannot be used. */
#include <stdio.h>

#include "fixture.h"

static char text[512]; /* error_text of the last open */

static struct redlock_options options_for(const char *const *urls, unsigned count)
{
	struct redlock_options options = fixture_client(urls, count);
	options.error_text = text;
	options.error_text_size = sizeof text;
	text[0] = '\0';
	return options;
}

/* One round on one node. Returns the result of the acquire and keeps its vote. */
static int try_once(const struct redlock_options *options, enum redlock_vote_code *ret_vote)
{
	redlock_client *client = NULL;
	expect_ok(NULL, redlock_open(options, &client));
	redlock_lock *lock = fixture_lock(client, "job", WAIT_LONG_TTL_MS, 0);
	int result = redlock_acquire(lock);
	*ret_vote = fixture_vote(lock, 0);
	struct redlock_node_status status = fixture_status(client, 0);
	assert_null(strstr(status.last_error, "s3cret"));
	assert_null(strstr(status.address, "s3cret"));
	if (result == 0)
		expect_ok(lock, redlock_release(lock));
	else
		assert_int_equal(status.last_failure, *ret_vote);
	redlock_lock_free(lock);
	redlock_close(client);
	return result;
}

static void expect_vote(const char *url, const char *user, const char *password, int want_result,
                        enum redlock_vote_code want_vote)
{
	enum redlock_vote_code vote;
	struct redlock_options options = options_for(&url, 1);
	options.user = user;
	options.password = password;
	int result = try_once(&options, &vote);
	if (result != want_result || vote != want_vote)
		fail_msg("%s: %s, vote %s", url, redlock_error_name(result), redlock_vote_name(vote));
}

/* redis://USERINFO@127.0.0.1:PORT SUFFIX of the first server. */
static const char *tcp(const char *userinfo, const char *suffix)
{
	static char url[256];
	snprintf(url, sizeof url, "redis://%s127.0.0.1:%d%s", userinfo, servers.server[0].port, suffix);
	return url;
}

static const char *local(const char *userinfo, const char *suffix)
{
	static char url[256];
	snprintf(url, sizeof url, "unix://%s%s%s", userinfo, servers.server[0].socket, suffix);
	return url;
}

TEST(passwords)
{
	server_must(&servers.server[0], "OK", "CONFIG", "SET", "requirepass", "s3cret @:/?#%", NULL);
	strcpy(servers.server[0].password, "s3cret @:/?#%");
	const int no = REDLOCK_E_NOQUORUM;
	expect_vote(tcp("", ""), NULL, NULL, no, REDLOCK_VOTE_AUTH);
	expect_vote(local("", ""), NULL, NULL, no, REDLOCK_VOTE_AUTH);
	expect_vote(tcp("", ""), NULL, "wrong s3cret", no, REDLOCK_VOTE_AUTH);
	expect_vote(tcp(":wrongs3cret@", ""), NULL, NULL, no, REDLOCK_VOTE_AUTH);
	expect_vote(tcp("", ""), NULL, "s3cret @:/?#%", 0, REDLOCK_VOTE_YES);
	expect_vote(tcp(":s3cret%20%40%3A%2F%3F%23%25@", ""), NULL, NULL, 0, REDLOCK_VOTE_YES);
	expect_vote(local(":s3cret%20%40%3a%2f%3f%23%25@", ""), NULL, NULL, 0, REDLOCK_VOTE_YES);
	/* the URL's own password comes first */
	expect_vote(tcp(":s3cret%20%40%3A%2F%3F%23%25@", ""), NULL, "wrong", 0, REDLOCK_VOTE_YES);
	server_must(&servers.server[0], "OK", "CONFIG", "SET", "requirepass", "", NULL);
	servers.server[0].password[0] = '\0';
}

TEST(users)
{
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "alice", "on", ">s3cret", "~*", "&*", "+@all",
	            NULL);
	const int no = REDLOCK_E_NOQUORUM;
	expect_vote(tcp("alice:s3cret@", ""), NULL, NULL, 0, REDLOCK_VOTE_YES);
	expect_vote(local("alice:s3cret@", ""), NULL, NULL, 0, REDLOCK_VOTE_YES);
	expect_vote(tcp("", ""), "alice", "s3cret", 0, REDLOCK_VOTE_YES);
	expect_vote(tcp("alice:wrong-s3cret@", ""), NULL, NULL, no, REDLOCK_VOTE_AUTH);
	expect_vote(tcp("bob:s3cret@", ""), NULL, NULL, no, REDLOCK_VOTE_AUTH);
	server_must(&servers.server[0], "1", "ACL", "DELUSER", "alice", NULL);
}

static const char *key_in_database(const char *database)
{
	static struct raw_reply reply;
	struct raw raw;
	struct raw_arg select[] = {{"SELECT", 6}, {database, strlen(database)}};
	struct raw_arg exists[] = {{"EXISTS", 6}, {"job", 3}};
	assert_int_equal(raw_open(&raw, servers.server[0].socket, WAIT_SOON_MS), 0);
	assert_int_equal(raw_send(&raw, select, 2), 0);
	assert_int_equal(raw_receive(&raw, &reply), 0);
	assert_int_equal(raw_send(&raw, exists, 2), 0);
	assert_int_equal(raw_receive(&raw, &reply), 0);
	raw_close(&raw);
	return reply.text;
}

TEST(databases)
{
	const char *const suffixes[][2] = {{"/5", "?db=5"}, {"/15", "?db=15"}, {"/0", "?db=0"}, {"/", ""}};
	const char *const databases[] = {"5", "15", "0", "0"};
	for (unsigned i = 0; i < 8; i++) {
		const char *url = i % 2 == 0 ? tcp("", suffixes[i / 2][0]) : local("", suffixes[i / 2][1]);
		own_client *client = fixture_open(&url, 1, FIXTURE_NODE_TIMEOUT_MS);
		own_lock *lock = fixture_held(client, "job", WAIT_LONG_TTL_MS, 0);
		assert_string_equal(key_in_database(databases[i / 2]), "1");
		assert_string_equal(key_in_database("1"), "0");
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		assert_string_equal(key_in_database(databases[i / 2]), "0");
	}
}

/* A database that does not exist is no vote; above all the key is not put into another one. */
TEST(database_out_of_range)
{
	expect_vote(tcp("", "/99"), NULL, NULL, REDLOCK_E_NOQUORUM, REDLOCK_VOTE_DATABASE);
	expect_vote(local("", "?db=16"), NULL, NULL, REDLOCK_E_NOQUORUM, REDLOCK_VOTE_DATABASE);
	struct raw_reply reply;
	assert_null(strstr(server_ask(&servers.server[0], &reply, "INFO", "keyspace", NULL), "keys="));
	/* Nor does a wrong password let the operations after it through. */
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "eve", "on", ">other", "~*", "&*", "+@all", NULL);
	expect_vote(tcp("eve:s3cret@", ""), NULL, NULL, REDLOCK_E_NOQUORUM, REDLOCK_VOTE_AUTH);
	assert_null(strstr(server_ask(&servers.server[0], &reply, "INFO", "keyspace", NULL), "keys="));
}

/* Which URLs are refused, and why: unit_url. */
TEST(no_url)
{
	const char *none = NULL;
	struct redlock_options options = options_for(&none, 1);
	redlock_client *client = NULL;
	int result = redlock_open(&options, &client);
	assert_true(result == REDLOCK_E_URL || result == REDLOCK_E_INVAL);
}

TEST(refusals_name_the_node_and_no_secret)
{
	const char *const urls[] = {"redis://127.0.0.1:7001", "redis://me:s3cret@127.0.0.1:x",
	                            "redis://127.0.0.1:7003"};
	const char *const tls[] = {"rediss://:s3cret@127.0.0.1:7001"};
	struct redlock_options options = options_for(urls, 3);
	fixture_expect_open(&options, REDLOCK_E_URL);
	assert_non_null(strstr(text, "port"));
	assert_true(strstr(text, "2") != NULL || strstr(text, "127.0.0.1:x") != NULL);
	assert_null(strstr(text, "s3cret"));
	options = options_for(tls, 1);
	options.tls_ca_file = "/nowhere/ca.pem";
	fixture_expect_open(&options, REDLOCK_E_TLS);
	assert_null(strstr(text, "s3cret"));
	options = options_for(urls, 3);
	char tiny[8];
	options.error_text = tiny;
	options.error_text_size = sizeof tiny;
	fixture_expect_open(&options, REDLOCK_E_URL);
	assert_true(strlen(tiny) < sizeof tiny);
	options.error_text = NULL;
	fixture_expect_open(&options, REDLOCK_E_URL);
}

/* For programs, which need not read the sentence. */
TEST(the_reason_for_a_failed_open)
{
	static const char *const wrong[] = {"redis://127.0.0.1:7001", "unix:///b", "redis://127.0.0.1:x"};
	static const char *const twice[] = {"redis://127.0.0.1:7001", "redis://127.0.0.1:7001/1"};
	static const char *const right[] = {"unix:///a", "unix:///b", "unix:///c"};
	static const struct {
		const char *const *urls;
		unsigned count;
		unsigned quorum;
		const char *owner;
		int error;
		int node;
		const char *option;
	} cases[] = {
	    {wrong, 3, 0, NULL, REDLOCK_E_URL, 2, "urls"},
	    {twice, 2, 0, NULL, REDLOCK_E_DUPLICATE, 1, "urls"},
	    {right, 3, 1, NULL, REDLOCK_E_INVAL, -1, "quorum"},
	    {right, 3, 0, "a b", REDLOCK_E_INVAL, -1, "owner"},
	    {right, 0, 0, NULL, REDLOCK_E_INVAL, -1, "urls"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *option = "none";
		int node = 99;
		struct redlock_options options = options_for(cases[i].urls, cases[i].count);
		options.quorum = cases[i].quorum;
		options.owner = cases[i].owner;
		fixture_expect_open(&options, cases[i].error); /* with neither of them */
		options.error_node = &node;
		options.error_option = &option;
		fixture_expect_open(&options, cases[i].error);
		assert_int_equal(node, cases[i].node);
		assert_string_equal(option, cases[i].option);
	}
	const char *option = "none";
	int node = 99;
	own_client *client = NULL;
	struct redlock_options options = options_for(servers.urls, 2);
	options.error_node = &node;
	options.error_option = &option;
	expect_ok(NULL, redlock_open(&options, &client));
	assert_int_equal(node, -1);
	assert_null(option);
}

TEST(terms)
{
	struct redlock_options options = options_for(servers.urls, 2);
	options.node_timeout_ms = 0;
	options.drift_ms = 10;
	redlock_client *client = NULL;
	expect_ok(NULL, redlock_open(&options, &client));
	struct redlock_lock_options lock_options;
	redlock_lock_options_init(&lock_options);
	lock_options.ttl_ms = 300;
	struct redlock_terms before = {.size = sizeof before};
	struct redlock_terms of_client = before;
	struct redlock_terms of_lock = before;
	own_lock *lock = NULL;
	expect_ok(NULL, redlock_terms(&options, &lock_options, &before));
	expect_ok(NULL, redlock_client_terms(client, &lock_options, &of_client));
	expect_ok(NULL, redlock_lock_new(client, "job", &lock_options, &lock));
	expect_ok(NULL, redlock_lock_terms(lock, &of_lock));
	assert_int_equal(of_lock.node_timeout_ms, 100);
	assert_int_equal(of_lock.drift_ms, 13);
	assert_memory_equal(&before, &of_lock, sizeof of_lock);
	assert_memory_equal(&of_client, &of_lock, sizeof of_lock);
	expect_ok(lock, redlock_acquire(lock));
	assert_true(redlock_remaining_ms(lock) <= of_lock.validity_ms);
	expect_ok(NULL, redlock_client_terms(client, NULL, &of_client));
	assert_int_equal(of_client.ttl_ms, 30000);
	redlock_close(client);
	assert_int_equal(redlock_lock_terms(lock, &of_lock), REDLOCK_E_STATE);
}

/* ---- options by name, and from the configuration ---- */

static const char *write_config(const char *before, const char *url, const char *after)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/redlock.conf", servers.dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%surl = %s\n%s", before, url, after);
	fclose(file);
	return path;
}

/* Handles without options of their own have the times of the file. */
TEST(a_client_from_the_configuration)
{
	struct redlock_options options = options_for(NULL, 0);
	const char *path = write_config("ttl = 41s\nkill-after = 1s\n[cluster one]\n", servers.urls[0],
	                                "wait = 3s\nrenew = 9s\n");
	assert_int_equal(redlock_options_load(&options, NULL, path), REDLOCK_E_CONFIG);
	assert_string_equal(text,
	                    "no nodes: the configuration has [cluster one]; choose one: REDLOCK_CLUSTER=one");
	assert_int_equal(redlock_options_load(&options, "one", path), 0);
	redlock_client *client = fixture_open_with(&options);
	redlock_options_clear(&options); /* the client has copies */
	redlock_lock *lock = NULL;
	expect_ok(NULL, redlock_lock_new(client, "job", NULL, &lock));
	struct redlock_terms terms = {.size = sizeof terms};
	expect_ok(lock, redlock_lock_terms(lock, &terms));
	assert_int_equal(terms.ttl_ms, 41000);
	assert_int_equal(terms.renew_ms, 9000);
	assert_int_equal(terms.noquorum_wait_ms, 3000);
	expect_result(lock, REDLOCK_E_UNRENEWED, redlock_acquire(lock));
	expect_ok(lock, redlock_keeper_start(client));
	expect_ok(lock, redlock_acquire(lock));
	expect_ok(lock, redlock_release(lock));
	redlock_lock_free(lock);
	redlock_close(client);
}

TEST(a_wrong_line_is_named)
{
	static const struct {
		const char *after, *why;
	} rows[] = {
	    {"guard = on\n", ":2: guard: on: give off, auto or require"},
	    {"url = redis://h, local\n",
	     ":2: url: local is for the command: give the URLs, which `redlock cluster status` prints"},
	};
	char want[256];
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct redlock_options options = options_for(NULL, 0);
		const char *path = write_config("", servers.urls[0], rows[i].after);
		assert_int_equal(redlock_options_load(&options, NULL, path), REDLOCK_E_CONFIG);
		snprintf(want, sizeof want, "%s%s", path, rows[i].why);
		assert_string_equal(text, want);
		redlock_options_clear(&options);
	}
	struct redlock_options options = options_for(NULL, 0);
	assert_int_equal(setenv("REDLOCK_URLS", "redis://h,redis://i:x", 1), 0);
	assert_int_equal(redlock_options_load(&options, NULL, "/dev/null"), REDLOCK_E_CONFIG);
	assert_int_equal(unsetenv("REDLOCK_URLS"), 0);
	assert_ptr_equal(strstr(text, "REDLOCK_URLS: "), text);
	assert_non_null(strstr(text, "port"));
	redlock_options_clear(&options);
}

TEST(options_by_name)
{
	static const struct {
		const char *name, *value, *why; /* why: NULL, it is taken */
	} rows[] = {
	    {"ttl", "30s", NULL},
	    {"wait", "forever", NULL},
	    {"quorum", "2", NULL},
	    {"renew", "0", NULL},
	    {"max-hold", "0", NULL},
	    {"max-extends", "0", NULL},
	    {"danger", "0", NULL},
	    {"slots", "0", NULL},
	    {"slot", "0", NULL},
	    {"stop-fd", "3", NULL},
	    {"interruptible", "true", NULL},
	    {"reentrant", "false", NULL},
	    {"fence", "1", NULL},
	    {"insecure", "2", "insecure: 2: give no, yes, false, true, 0 or 1"},
	    {"guarded-set", "0123456789abcdef", NULL},
	    {"url", "redis://h, redis://i", NULL},
	    {"url", "redis://h,", "url: an empty URL in the list; every node must be named"},
	    {"ttl", "9ms", "ttl: 9ms: out of range: 10ms to 30d"},
	    {"quorum", "32", "quorum: 32: out of range: 1 to 31"},
	    {"quorum", "18446744073709551618", "quorum: 18446744073709551618: out of range: 1 to 31"},
	    {"insecure", "maybe", "insecure: maybe: give no, yes, false, true, 0 or 1"},
	    {"tll", "1s", "no option of a client is called 'tll'; redlock_config(3) lists them"},
	    {"kill-after", "1s", "no option of a client is called 'kill-after'; redlock_config(3) lists them"},
	    {"password-file", "/none", "password-file: /none: No such file or directory"},
	};
	struct redlock_options options = options_for(NULL, 0);
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		text[0] = '\0';
		int error = redlock_options_set(&options, rows[i].name, rows[i].value);
		assert_int_equal(error == 0, rows[i].why == NULL);
		assert_string_equal(text, rows[i].why != NULL ? rows[i].why : "");
	}
	assert_int_equal(options.url_count, 2);
	assert_string_equal(options.urls[1], "redis://i");
	assert_int_equal(options.quorum, 2);
	assert_int_equal(options.interruptible, 1);
	assert_int_equal(options.lock_options->reentrant, 0);
	assert_int_equal(options.lock_options->fence, 1);
	assert_int_equal(options.lock_options->ttl_ms, 30000);
	assert_true(options.lock_options->wait_ms == REDLOCK_FOREVER);
	redlock_options_clear(&options);
	assert_int_equal(options.url_count, 0);
	redlock_options_set_error_text(&options, text, sizeof text); /* as a program that has no header */
	assert_int_equal(redlock_options_set(&options, "tll", "1s"), REDLOCK_E_INVAL);
	assert_string_equal(text, "no option of a client is called 'tll'; redlock_config(3) lists them");
	struct redlock_lock_options lock = fixture_options(1000);
	assert_int_equal(redlock_lock_options_set(&lock, "renew", "0", text, sizeof text), 0);
	assert_int_equal(redlock_lock_options_set(&lock, "mode", "shared", text, sizeof text), 0);
	assert_int_equal(lock.mode, REDLOCK_SHARED);
	assert_int_equal(redlock_lock_options_set(&lock, "url", "redis://h", text, sizeof text), REDLOCK_E_INVAL);
	assert_string_equal(text, "no option of a lock is called 'url'; redlock_config(3) lists them");
}

TEST(an_option_says_whether_it_is_a_duration)
{
	assert_int_equal(redlock_option_is_duration("ttl"), 1);
	assert_int_equal(redlock_option_is_duration("sticky"), 1);
	assert_int_equal(redlock_option_is_duration("node-timeout"), 1);
	assert_int_equal(redlock_option_is_duration("slots"), 0);
	assert_int_equal(redlock_option_is_duration("url"), 0);
	assert_int_equal(redlock_option_is_duration("no-such-option"), 0);
	assert_int_equal(redlock_option_is_duration(NULL), 0);
}

TEST(urls_are_added_one_by_one)
{
	const char *const own[] = {"redis://a"};
	struct redlock_options options = options_for(own, 1);
	redlock_options_set_error_text(&options, text, sizeof text);
	assert_int_equal(redlock_options_add_url(&options, "redis+sentinel://s,t,u/main"), 0);
	assert_int_equal(redlock_options_add_url(&options, "redis://b"), 0);
	assert_int_equal(options.url_count, 3);
	assert_string_equal(options.urls[0], "redis://a");
	assert_string_equal(options.urls[1], "redis+sentinel://s,t,u/main");
	assert_string_equal(options.urls[2], "redis://b");
	assert_int_equal(redlock_options_add_url(&options, ""), REDLOCK_E_INVAL);
	assert_string_equal(text, "url: an empty URL in the list; every node must be named");
	while (options.url_count < REDLOCK_MAX_NODES)
		assert_int_equal(redlock_options_add_url(&options, "redis://c"), 0);
	assert_int_equal(redlock_options_add_url(&options, "redis://c"), REDLOCK_E_INVAL);
	assert_string_equal(text, "url: more than 31 nodes");
	assert_int_equal(options.url_count, REDLOCK_MAX_NODES);
	assert_int_equal(redlock_options_set(&options, "url", "redis://d"), 0);
	assert_int_equal(redlock_options_add_url(&options, "redis://e"), 0);
	assert_int_equal(options.url_count, 2);
	assert_string_equal(options.urls[1], "redis://e");
	redlock_options_clear(&options);
	assert_int_equal(options.url_count, 0);
}

/* ---- refusals of handles ---- */

#define LOCK .size = sizeof(struct redlock_lock_options), .ttl_ms = 1000

/* Each mistake has a sentence. Where the options of a client have it as their default, no client is opened.
 */
TEST(a_handle_that_is_refused_says_why)
{
	static char long_name[REDLOCK_MAX_NAME + 1];
	memset(long_name, 'x', sizeof long_name - 1);
#define TIMES(renew) " (ttl 1000 ms, node timeout 200 ms, drift 12 ms, renew " renew " ms)"
	const struct {
		const char *why;
		struct redlock_lock_options o;
		bool is_default;
		const char *name, *other;
	} rows[] = {
	    {"the name is empty", {LOCK}, false, "", NULL},
	    {"the name is empty", {LOCK}, false, NULL, NULL},
	    {"the options have no size, or one that this library does not know: call "
	     "redlock_lock_options_init() first",
	     {.ttl_ms = 1000},
	     false,
	     "n",
	     NULL},
	    {"the name is too long: with the prefix, and all names together, at most 65536 bytes",
	     {LOCK},
	     false,
	     long_name,
	     "n"},
	    {"the name is reserved: redlock keeps such a key beside a lock, as NAME:redlock:queue",
	     {LOCK},
	     false,
	     "n:redlock:queue",
	     NULL},
	    {"two names are the same: give each name once", {LOCK}, false, "n", "n"},
	    {"ttl must be from 10 ms to 30 days", {.size = sizeof(struct redlock_lock_options)}, true, "n", NULL},
	    {"node timeout + drift must be less than ttl"
	     " (ttl 200 ms, node timeout 200 ms, drift 4 ms, renew 0 ms)",
	     {.size = sizeof(struct redlock_lock_options), .ttl_ms = 200},
	     true,
	     "n",
	     NULL},
	    {"renew + node timeout + drift must be less than ttl" TIMES("900"),
	     {LOCK, .renew_ms = 900},
	     true,
	     "n",
	     NULL},
	    {"min-validity + drift must be less than ttl" TIMES("0"),
	     {LOCK, .min_validity_ms = 990},
	     true,
	     "n",
	     NULL},
	    {"danger must be less than ttl" TIMES("0"), {LOCK, .danger_ms = 1000}, true, "n", NULL},
	    {"retry-min must not be more than retry-max, and retry-max not more than 30 days",
	     {LOCK, .retry_min_ms = 2, .retry_max_ms = 1},
	     true,
	     "n",
	     NULL},
	    {"max-hold must not be less than ttl: give a shorter ttl" TIMES("0"),
	     {LOCK, .max_hold_ms = 5},
	     true,
	     "n",
	     NULL},
	    {"a token has 1 to 512 bytes; without a token its length must be 0",
	     {LOCK, .token_len = 5},
	     false,
	     "n",
	     NULL},
	    {"renew + node timeout + drift must be less than ttl" TIMES("18446744073709551615"),
	     {LOCK, .renew_ms = UINT64_MAX},
	     true,
	     "n",
	     NULL},
	    {"fence must be 0 or 1", {LOCK, .fence = -1}, true, "n", NULL},
	    {"reentrant must be 0 or 1", {LOCK, .reentrant = 2}, true, "n", NULL},
	    {"compat must be REDLOCK_COMPAT_OFF, _SETNX or _SETNX_SAFE", {LOCK, .compat = 9}, true, "n", NULL},
	    {"mode must be REDLOCK_EXCLUSIVE or REDLOCK_SHARED", {LOCK, .mode = -1}, true, "n", NULL},
	    {"slots must be from 0 to 64", {LOCK, .slots = 65}, true, "n", NULL},
	    {"slot is for a token, and must be less than slots", {LOCK, .slot = 3}, true, "n", NULL},
	    {"mode shared and slots exclude each other: each slot is exclusive",
	     {LOCK, .slots = 2, .mode = REDLOCK_SHARED},
	     true,
	     "n",
	     NULL},
	    {"slots and fence exclude each other: each slot would have numbers of its own",
	     {LOCK, .slots = 2, .fence = 1},
	     true,
	     "n",
	     NULL},
	    {"mode shared and several names exclude each other: several names are exclusive",
	     {LOCK, .mode = REDLOCK_SHARED},
	     false,
	     "n",
	     "m"},
	};
	struct redlock_options options = options_for(servers.urls, 2);
	options.node_timeout_ms = 200;
	own_client *client = fixture_open_with(&options);
	char why[256];
	assert_int_equal(redlock_client_last_error(client, why, sizeof why), 0);
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *const names[] = {rows[i].name, rows[i].other};
		redlock_lock *lock = NULL;
		redlock_client *none = NULL;
		int got = rows[i].other == NULL ? redlock_lock_new(client, rows[i].name, &rows[i].o, &lock)
		                                : redlock_lock_new_many(client, names, 2, &rows[i].o, &lock);
		assert_int_equal(got, REDLOCK_E_INVAL);
		assert_int_equal(redlock_client_last_error(client, why, sizeof why), strlen(rows[i].why));
		assert_string_equal(why, rows[i].why);
		options.lock_options = &rows[i].o;
		got = rows[i].is_default ? redlock_open(&options, &none) : REDLOCK_E_INVAL;
		assert_int_equal(got, REDLOCK_E_INVAL);
		if (!rows[i].is_default)
			continue;
		snprintf(why, sizeof why, "the default lock options: %s", rows[i].why);
		assert_string_equal(text, why);
	}
	redlock_lock *unnamed = NULL;
	expect_result(NULL, REDLOCK_E_INVAL, redlock_lock_new_many(client, NULL, 2, NULL, &unnamed));
	redlock_client_last_error(client, why, sizeof why);
	assert_string_equal(why, "there are no names: the pointer to them is NULL");
	redlock_client *none = NULL;
	options.lock_options = NULL;
	options.interruptible = 5;
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open(&options, &none));
	assert_string_equal(text, "interruptible must be 0 or 1");
	options.interruptible = 0;
	options.tls_insecure = -1;
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open(&options, &none));
	assert_string_equal(text, "tls_insecure must be 0 or 1");
	options.tls_insecure = 0;
	options.set_count = 2;
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open(&options, &none));
	assert_string_equal(text, "1 to 16 node sets are needed");
	options.set_count = 0;
	options.urls = NULL;
	expect_result(NULL, REDLOCK_E_INVAL, redlock_open(&options, &none));
	assert_string_equal(text, "urls is NULL, and url_count is 2");
	own_lock *lock = fixture_held(client, "n", 1000, 0);
	expect_result(NULL, REDLOCK_E_INVAL, redlock_extend(lock, 1));
	assert_true(redlock_last_error(lock, why, sizeof why) > 0);
	assert_string_equal(
	    why, "an extend is for 10 ms to 30 days, and longer than node timeout + drift (node timeout 200 ms)");
}

/* Lock options of the caller, of any size that its header may have had, are those that an option by name, or
 * the configuration, changes. */
TEST(lock_options_of_the_caller_stay)
{
	union {
		struct redlock_lock_options known;
		unsigned char bytes[sizeof(struct redlock_lock_options) + 64];
	} mine;
	const size_t older = offsetof(struct redlock_lock_options, fence);
	const size_t sizes[] = {sizeof mine.known, older, sizeof mine};
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct redlock_options options = options_for(NULL, 0);
		redlock_lock_options_init_sized(&mine.known, sizes[i]);
		mine.known.renew_ms = 5000;
		if (sizes[i] > older)
			mine.known.fence = 1;
		options.lock_options = &mine.known;
		assert_int_equal(redlock_options_set(&options, "prefix", "app:"), 0);
		assert_ptr_equal(options.lock_options, &mine.known); /* no lock option was set */
		assert_int_equal(redlock_options_set(&options, "wait", "1s"), 0);
		mine.known.renew_ms = 1; /* a copy does not follow */
		assert_int_equal(redlock_options_load(&options, NULL, write_config("ttl = 41s\n", "redis://h", "")),
		                 0);
		assert_int_equal(options.lock_options->renew_ms, 5000);
		assert_int_equal(options.lock_options->fence, sizes[i] > older);
		assert_int_equal(options.lock_options->wait_ms, 1000);
		assert_int_equal(options.lock_options->ttl_ms, 41000);
		redlock_options_clear(&options);
	}
	struct redlock_options options = options_for(NULL, 0);
	redlock_lock_options_init_sized(&mine.known, sizeof mine);
	mine.bytes[sizeof mine - 1] = 1;
	options.lock_options = &mine.known;
	assert_int_equal(redlock_options_set(&options, "wait", "1s"), REDLOCK_E_INVAL);
	assert_string_equal(text, "the lock options have one that this library does not know");
	assert_ptr_equal(options.lock_options, &mine.known);
	redlock_options_clear(&options);
}

SERVER_TESTS(2)
