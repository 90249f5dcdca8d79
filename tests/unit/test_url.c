/* SPDX-License-Identifier: MIT */
/* Node URLs: what is understood, what is refused and how, and that no text repeats a password. */
#include "net/url.h"

#include <redlock/url.h>

#include "unit.h"

static const struct good {
	const char *url;
	const char *host;
	unsigned port; /* 0: a Unix socket */
	unsigned database;
	const char *user;
	const char *password;
	const char *address;
} good[] = {
    {"redis://localhost", "localhost", 6379, 0, NULL, NULL, "redis://localhost:6379"},
    {"redis://localhost/", "localhost", 6379, 0, NULL, NULL, "redis://localhost:6379"},
    {"REDIS://Host.Example:1", "Host.Example", 1, 0, NULL, NULL, "redis://Host.Example:1"},
    {"valkey://10.0.0.1:65535/15", "10.0.0.1", 65535, 15, NULL, NULL, "redis://10.0.0.1:65535/15"},
    {"redis://h:06379/007", "h", 6379, 7, NULL, NULL, "redis://h:6379/7"},
    {"redis://h/99999", "h", 6379, 99999, NULL, NULL, "redis://h:6379/99999"},
    {"rediss://u:p@h", "h", 6379, 0, "u", "p", "rediss://h:6379"},
    {"VALKEYS://h:7/2", "h", 7, 2, NULL, NULL, "rediss://h:7/2"},
    {"rediss://[::1]", "::1", 6379, 0, NULL, NULL, "rediss://[::1]:6379"},
    {"redis://[::1]", "::1", 6379, 0, NULL, NULL, "redis://[::1]:6379"},
    {"redis://[::1]:7000/3", "::1", 7000, 3, NULL, NULL, "redis://[::1]:7000/3"},
    {"redis://u:p@[2001:db8::1]:7000", "2001:db8::1", 7000, 0, "u", "p", "redis://[2001:db8::1]:7000"},
    {"redis://[fe80::1%eth0]:7000", "fe80::1%eth0", 7000, 0, NULL, NULL, "redis://[fe80::1%eth0]:7000"},
    {"redis://user:secret@h", "h", 6379, 0, "user", "secret", "redis://h:6379"},
    {"redis://:secret@h:7", "h", 7, 0, NULL, "secret", "redis://h:7"},
    {"redis://user@h", "h", 6379, 0, "user", NULL, "redis://h:6379"},
    {"redis://user:@h", "h", 6379, 0, "user", NULL, "redis://h:6379"},
    {"redis://@h", "h", 6379, 0, NULL, NULL, "redis://h:6379"},
    {"redis://:a@b@h", "h", 6379, 0, NULL, "a@b", "redis://h:6379"}, /* an @ that should be %40 */
    {"redis://:a:b@h", "h", 6379, 0, NULL, "a:b", "redis://h:6379"},
    {"redis://u:a:b@c:d@h:9/1", "h", 9, 1, "u", "a:b@c:d", "redis://h:9/1"},
    {"redis://:a?b#c@h", "h", 6379, 0, NULL, "a?b#c", "redis://h:6379"},
    {"redis://%75%73:%2F%40%3a%25%ff@h", "h", 6379, 0, "us", "/@:%\xff", "redis://h:6379"},
    {"unix:///run/redis.sock", "/run/redis.sock", 0, 0, NULL, NULL, "unix:///run/redis.sock"},
    {"unix:///a?db=3", "/a", 0, 3, NULL, NULL, "unix:///a?db=3"},
    {"unix:///a?db=0", "/a", 0, 0, NULL, NULL, "unix:///a"},
    {"unix:///with%20space%3F", "/with space?", 0, 0, NULL, NULL, "unix:///with space?"},
    {"unix://u:p%2Fq@/a@b", "/a@b", 0, 0, "u", "p/q", "unix:///a@b"},
    {"redis+sentinel://a/m", "a:26379", 0, 0, NULL, NULL, "redis+sentinel://a:26379/m"},
    {"VALKEY+sentinel://u:p@a,[::1]:7,b:8/m-1.x/3", "a:26379,[::1]:7,b:8", 0, 3, "u", "p",
     "redis+sentinel://a:26379,[::1]:7,b:8/m-1.x/3"},
    {"redis+cluster://a", "a:6379", 0, 0, NULL, NULL, "redis+cluster://a:6379"},
    {"valkeys+cluster://u:p@a:1,[::1],b/", "a:1,[::1]:6379,b:6379", 0, 0, "u", "p",
     "rediss+cluster://a:1,[::1]:6379,b:6379"},
    {"redis+cluster://a/0", "a:6379", 0, 0, NULL, NULL, "redis+cluster://a:6379"},
    {"rediss+sentinel://a:1/m?sentinel_plain=1&sentinel_user=u%2C&sentinel_password=%40p", "a:1", 0, 0, NULL,
     NULL, "rediss+sentinel://a:1/m"},
    {"unix://:p@q@/a", "/a", 0, 0, NULL, "p@q", "unix:///a"},
};

#define TEXT_50 "12345678901234567890123456789012345678901234567890"

#define BAD_MASTER                                                                                           \
	"the name of the Sentinels' master is missing or not valid: redis+sentinel://host1,host2:26379/NAME"
#define BAD_QUERY                                                                                            \
	"the only parameters of a URL are: ?replicas=N, ?db=N after a Unix path, ?sentinel_plain=N of "          \
	"+sentinel, ?sentinel_user=U and ?sentinel_password=P of +sentinel"
#define MANY_SENTINELS                                                                                       \
	"a URL has at most 7 Sentinels or servers of a cluster, and their list at most 200 bytes"
#define BAD_CLUSTER "after the servers of a cluster nothing may follow but /: it has database 0 alone"

static const struct bad {
	const char *url;
	const char *why;
} bad[] = {
    {"unix:///" TEXT_50 TEXT_50 "1234567", "the path of a Unix socket has at most 107 bytes"},
    {"", "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
         "redis+sentinel:// or redis+cluster://"},
    {"redis+cluster://a/1", BAD_CLUSTER},
    {"redis+cluster://a/0/", BAD_CLUSTER},
    {"redis+cluster://a:1,redis://b:2",
     "put / before the comma, where the servers of the cluster end and the next URL begins"},
    {"redis+cluster://", "the host is missing or not valid"},
    {"redis+cluster://a,,b/", "the host is missing or not valid"},
    {"redis+cluster://a,b,c,d,e,f,g,h/", MANY_SENTINELS},
    {"redis+cluster://a/?sentinel_plain=1", "only redis+sentinel:// has parameters sentinel_..."},
    {"redis+sentinel://a,b", BAD_MASTER},
    {"redis+sentinel://a,b/", BAD_MASTER},
    {"redis+sentinel://a/m n", BAD_MASTER},
    {"redis+sentinel://a,redis://b/m", BAD_MASTER},
    {"redis+sentinel://a,/m", "the host is missing or not valid"},
    {"redis+sentinel://a/m/x", "the database must be a number from 0 to 99999"},
    {"redis+sentinel://a,b,c,d,e,f,g,h/m", MANY_SENTINELS},
    {"redis+sentinel://" TEXT_50 "," TEXT_50 "," TEXT_50 "," TEXT_50 "/m", MANY_SENTINELS},
    {"redis+sentinel://a/m?sentinel_plain=2", "sentinel_plain must be 0 or 1"},
    {"redis+sentinel://a/m?sentinel_user=a&sentinel_user=b", "a parameter of the URL is given twice"},
    {"redis+sentinel://a/m?sentinel_password=%zz", "the user or password is not valid percent-encoding"},
    {"redis://a?sentinel_password=secret", "only redis+sentinel:// has parameters sentinel_..."},
    {"redis://a?sentinel_plain=1", "only redis+sentinel:// has parameters sentinel_..."},
    {"localhost:6379", "the scheme is missing: redis://localhost:6379"},
    {"127.0.0.1:7201", "the scheme is missing: redis://127.0.0.1:7201"},
    {"::1", "an IPv6 address needs brackets: redis://[::1]:6379"},
    {"fe80::1:7201", "an IPv6 address needs brackets: redis://[::1]:6379"},
    {"[::1]:7201", "the scheme is missing: redis://[::1]:7201"},
    {"localhost", "the scheme is missing: redis://localhost"},
    {"user:hunter2", "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
                     "redis+sentinel:// or redis+cluster://"},
    {"u:p@h:6379", "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
                   "redis+sentinel:// or redis+cluster://"},
    {"redis://a redis://b", "there is a blank in the URL; separate the URLs of several nodes with commas"},
    {"unix:///a\tunix:///b", "there is a blank in the URL; separate the URLs of several nodes with commas"},
    {" redis://a", "there is a blank before or after the URL"},
    {"redis://a:1\n", "there is a blank before or after the URL"},
    {"redis://a,redis://b",
     "there is more than one URL, separated by a comma: give each as a string of its own"},
    {"redis:/h", "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
                 "redis+sentinel:// or redis+cluster://"},
    {"http://h", "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
                 "redis+sentinel:// or redis+cluster://"},
    {"redisss://h", "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
                    "redis+sentinel:// or redis+cluster://"},
    {"rediss://", "the host is missing or not valid"},
    {"redis://", "the host is missing or not valid"},
    {"redis://:6379", "the host is missing or not valid"},
    {"redis://u:p@", "the host is missing or not valid"},
    {"redis:///0", "the host is missing or not valid"},
    {"redis://[::1", "the host is missing or not valid"},
    {"redis://[]", "the host is missing or not valid"},
    {"redis://[::1]x", "the host is missing or not valid"},
    {"redis://h h", "the host is missing or not valid"},
    {"redis://a\"b", "the host is missing or not valid"},
    {"redis://::1", "an IPv6 address needs brackets: redis://[::1]:6379"},
    {"redis://u:p@fe80::1:7000/2", "an IPv6 address needs brackets: redis://[::1]:6379"},
    {"redis://h:1:2", "the port must be a number from 1 to 65535"},
    {"redis://h:", "the port must be a number from 1 to 65535"},
    {"redis://h:0", "the port must be a number from 1 to 65535"},
    {"redis://h:65536", "the port must be a number from 1 to 65535"},
    {"redis://h:123456", "the port must be a number from 1 to 65535"},
    {"redis://h:-1", "the port must be a number from 1 to 65535"},
    {"redis://h:+1", "the port must be a number from 1 to 65535"},
    {"redis://h:1x", "the port must be a number from 1 to 65535"},
    {"redis://[::1]:", "the port must be a number from 1 to 65535"},
    {"redis://h/x", "the database must be a number from 0 to 99999"},
    {"redis://h/-1", "the database must be a number from 0 to 99999"},
    {"redis://h/100000", "the database must be a number from 0 to 99999"},
    {"redis://h/0/", "the database must be a number from 0 to 99999"},
    {"redis://:a/b@h", "a / in the user or password must be written %2F"},
    {"redis://u@x:a/b@h/1", "a / in the user or password must be written %2F"},
    {"unix://u:a/b@/run/redis.sock", "a / in the user or password must be written %2F"},
    {"redis://h?db=1", "only unix:// has ?db=N; with a host, write redis://host:6379/N"},
    {"redis://h#x", BAD_QUERY},
    {"redis://h/1?x=y", BAD_QUERY},
    {"redis://%zz@h", "the user or password is not valid percent-encoding"},
    {"redis://:a%4@h", "the user or password is not valid percent-encoding"},
    {"redis://:a%@h", "the user or password is not valid percent-encoding"},
    {"redis://:a%00b@h", "the user or password is not valid percent-encoding"}, /* would end there */
    {"unix://", "the path of a Unix socket must begin with / (unix:///run/redis.sock)"},
    {"unix:///", "the path of a Unix socket must begin with / (unix:///run/redis.sock)"},
    {"unix://run/redis.sock", "the path of a Unix socket must begin with / (unix:///run/redis.sock)"},
    {"unix:///a%0", "the path of a Unix socket is not valid percent-encoding"},
    {"unix:///a%00b", "the path of a Unix socket is not valid percent-encoding"},
    {"unix:///a?", BAD_QUERY},
    {"unix:///a?x=1", BAD_QUERY},
    {"unix:///a?db=", "the database must be a number from 0 to 99999"},
    {"unix:///a?db=1x", "the database must be a number from 0 to 99999"},
    {"unix:///a?db=1&x=2", BAD_QUERY},
    {"unix:///a?db=1&", BAD_QUERY},
    {"unix:///a?x=2&db=1", BAD_QUERY},
    {"unix:///a?db=1&db=1", "a parameter of the URL is given twice"},
    {"unix:///a?db=0&db=1", "a parameter of the URL is given twice"},
    {"unix:///a?dbx=1", BAD_QUERY},
};

static void assert_text(const char *got, const char *want)
{
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

TEST(good_urls)
{
	for (unsigned i = 0; i < COUNT(good); i++) {
		struct rl_endpoint e;
		char why[256] = "untouched";
		if (rl_url_parse(good[i].url, &e, why, sizeof why) != 0)
			fail_msg("%s: %s", good[i].url, why);
		assert_string_equal(e.host, good[i].host);
		assert_int_equal(e.is_unix, good[i].host[0] == '/');
		if (!e.is_unix)
			assert_int_equal(e.port, good[i].port);
		assert_int_equal(e.database, good[i].database);
		assert_text(e.user, good[i].user);
		assert_text(e.password, good[i].password);
		assert_string_equal(e.address, good[i].address);
		assert_string_equal(why, "untouched");
		rl_url_free(&e);
		assert_null(e.password);
		rl_url_free(&e); /* empty: allowed */
	}
}

/* The address is a URL too, and means the same. */
TEST(addresses_are_urls)
{
	for (unsigned i = 0; i < COUNT(good); i++) {
		struct rl_endpoint e;
		struct rl_endpoint again;
		char why[256];
		if (strchr(good[i].address, ' ') != NULL)
			continue; /* shown decoded, for people */
		assert_int_equal(rl_url_parse(good[i].url, &e, why, sizeof why), 0);
		assert_int_equal(rl_url_parse(e.address, &again, why, sizeof why), 0);
		assert_true(rl_url_same_address(&e, &again));
		assert_int_equal(e.database, again.database);
		assert_string_equal(again.address, e.address);
		rl_url_free(&e);
		rl_url_free(&again);
	}
}

TEST(bad_urls)
{
	for (unsigned i = 0; i < COUNT(bad); i++) {
		struct rl_endpoint e;
		static const struct rl_endpoint nothing;
		char why[256] = "";
		if (rl_url_parse(bad[i].url, &e, why, sizeof why) != REDLOCK_E_URL)
			fail_msg("taken: %s", bad[i].url);
		if (strcmp(why, bad[i].why) != 0)
			fail_msg("%s: %s", bad[i].url, why);
		assert_memory_equal(&e, &nothing, sizeof e);
	}
}

TEST(no_text_repeats_the_password)
{
	static const char *const rests[] = {"h",   "",   "h:x",  "h/x", "[::1", "h?x", "h h",
	                                    "/a%", "/a", "/a?x", "@",   "h:",   "/",   "h/1/2"};
	static const char *const schemes[] = {"redis://", "rediss://", "unix://", "foo://", ""};
	for (unsigned s = 0; s < COUNT(schemes); s++)
		for (unsigned r = 0; r < COUNT(rests); r++)
			for (unsigned broken = 0; broken < 2; broken++) {
				char url[128];
				char why[256] = "";
				struct rl_endpoint e;
				snprintf(url, sizeof url, "%suser:hunter2%s@%s", schemes[s], broken ? "%" : "", rests[r]);
				int error = rl_url_parse(url, &e, why, sizeof why);
				assert_null(strstr(why, "hunter2"));
				if (error == 0)
					assert_null(strstr(e.address, "hunter2"));
				rl_url_free(&e);
			}
}

TEST(long_and_small)
{
	char url[600] = "redis://";
	struct rl_endpoint e;
	char why[8] = "";
	memset(url + 8, 'h', 253);
	url[8 + 253] = '\0';
	assert_int_equal(rl_url_parse(url, &e, why, sizeof why), 0); /* the longest host name */
	rl_url_free(&e);
	url[8 + 253] = 'h';
	url[8 + 254] = '\0';
	assert_int_equal(rl_url_parse(url, &e, why, sizeof why), REDLOCK_E_URL);
	assert_string_equal(why, "the hos"); /* cut, with its NUL */
	assert_int_equal(rl_url_parse("x", &e, NULL, 0), REDLOCK_E_URL);
}

/* The public face says the same, and nothing of the secrets. */
TEST(fields_for_a_caller)
{
	for (unsigned i = 0; i < COUNT(good); i++) {
		struct redlock_url u = {.size = sizeof u};
		bool is_unix = good[i].host[0] == '/';
		assert_int_equal(redlock_url_parse(good[i].url, NULL, 0, &u), 0);
		assert_int_equal(u.size, sizeof u);
		assert_string_equal(u.host, is_unix ? "" : good[i].host);
		assert_string_equal(u.path, is_unix ? good[i].host : "");
		assert_int_equal(u.port, good[i].port);
		assert_int_equal(u.database, good[i].database);
		assert_int_equal(u.has_user, good[i].user != NULL);
		assert_int_equal(u.has_password, good[i].password != NULL);
		assert_string_equal(u.address, good[i].address);
		assert_memory_equal(u.address, u.scheme, strlen(u.scheme));
		assert_int_equal(u.tls, strncmp(u.scheme, "rediss", 6) == 0);
		assert_int_equal(u.master[0] != '\0', strstr(u.scheme, "+sentinel") != NULL);
		assert_true(is_unix == (strcmp(u.scheme, "unix") == 0));
	}
	for (unsigned i = 0; i < COUNT(bad); i++) {
		struct redlock_url u = {.size = sizeof u, .port = 1};
		char why[256] = "";
		assert_int_equal(redlock_url_parse(bad[i].url, why, sizeof why, &u), REDLOCK_E_URL);
		assert_string_equal(why, bad[i].why);
		assert_int_equal(redlock_url_parse(bad[i].url, NULL, 9, &u), REDLOCK_E_URL);
		assert_int_equal(u.port, 1); /* untouched */
	}
	struct redlock_url older = {.size = offsetof(struct redlock_url, port), .port = 1};
	assert_int_equal(redlock_url_parse("redis://h:7", NULL, 0, &older), 0);
	assert_string_equal(older.host, "h");
	assert_int_equal(older.port, 1);
	older.size = sizeof older.size - 1;
	assert_int_equal(redlock_url_parse("redis://h:7", NULL, 0, &older), REDLOCK_E_INVAL);
}

static bool same(const char *a, const char *b)
{
	struct rl_endpoint first;
	struct rl_endpoint second;
	char why[256];
	assert_int_equal(rl_url_parse(a, &first, why, sizeof why), 0);
	assert_int_equal(rl_url_parse(b, &second, why, sizeof why), 0);
	bool result = rl_url_same_address(&first, &second);
	assert_int_equal(rl_url_same_address(&second, &first), result);
	rl_url_free(&first);
	rl_url_free(&second);
	return result;
}

TEST(same_server)
{
	assert_true(same("redis://h", "redis://h:6379"));
	assert_true(same("redis://h", "valkey://H/5")); /* two databases of one server are one server */
	assert_true(same("redis://u:p@h", "redis://other@h"));
	assert_false(same("redis://h", "redis://h:6380"));
	assert_false(same("redis://h", "redis://i"));
	assert_true(same("unix:///a", "unix:///a?db=1"));
	assert_false(same("unix:///a", "unix:///A"));
	assert_false(same("unix:///a", "redis://a"));
}

TESTS()
